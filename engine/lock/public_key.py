"""Public key of an inventory, in a .vkey file."""

from __future__ import annotations

from pathlib import Path

from sovctl.compliance.signing import VerifyKey, parse_vkey
from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError


def read_public_key(path: Path) -> VerifyKey:
    """Return the key of a .vkey file.

    Raises:
        InputError: absent, or not a verifier key.
    """
    try:
        return parse_vkey(read_bounded(path, 4096).decode())[1]
    except (OSError, UnicodeDecodeError):
        raise InputError("cannot read the public key", where=str(path), hint="use the .vkey file of the site") from None
