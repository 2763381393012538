"""Reads the key and the checkpoints that an auditor kept outside the site."""

from __future__ import annotations

import json
from pathlib import Path

from sovctl.support.atomic_files import read_error_reason
from sovctl.support.errors import InputError

from ..ledger.checkpoint import Checkpoint, parse_checkpoint
from ..verify_key import VerifyKey, parse_vkey

Key = tuple[str, VerifyKey]
"""Name and public key of a ledger."""


def read_key(path: Path) -> Key:
    """Read name and public key from a .vkey file.

    Raises:
        InputError: unreadable, or not a verifier key.
    """
    try:
        return parse_vkey(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"unreadable public key (.vkey): {read_error_reason(error)}", where=str(path)) from error
    except InputError as error:
        raise InputError(error.message, where=str(path), hint=error.hint) from error


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a kept checkpoint: a text file, a report (folder or report.json), or a .tlog-proof.

    Raises:
        InputError: no checkpoint in the file.
    """
    path = path / "report.json" if path.is_dir() else path
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"unreadable checkpoint: {read_error_reason(error)}", where=str(path)) from error
    if path.suffix == ".json":
        try:
            text = str(json.loads(text)["ledger"]["checkpoint"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError("no report with a checkpoint", where=str(path)) from None
    elif text.startswith("c2sp.org/tlog-proof"):
        text = text.partition("\n\n")[2]
    return parse_checkpoint(text, where=str(path))
