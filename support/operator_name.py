"""Name of the account that runs a command, for records of persons' actions."""

from __future__ import annotations

import getpass
import os


def operator_name() -> str:
    """Return the account; under sudo the account that called it, and `uid-<number>` if the account has no name."""
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"
