"""Reads the keys and the checkpoints that an auditor kept outside the site."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import read_error_reason
from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

from ..ledger.checkpoint import Checkpoint, parse_checkpoint
from ..tlog.policy import parse_policy
from ..verify_key import COSIGNATURE, ED25519, VerifyKey, parse_vkey
from .clock import parsed_time
from .files import MAX_DOCUMENT_BYTES, MAX_TEXT_BYTES, parse_object
from .signatures import Signers
from .witnesses import Witnesses

Key = tuple[str, VerifyKey]
"""Name and public key of a ledger."""


def read_key(path: Path, *, kind: int = ED25519) -> Key:
    """Read name and public key from a .vkey file.

    Raises:
        InputError: unreadable, or not a verifier key.
    """
    try:
        return parse_vkey(_text(path, "public key (.vkey)"), kind=kind)
    except InputError as error:
        raise InputError(error.message, where=str(path), hint=error.hint) from error


def read_witnesses(paths: list[Path], required: int | None) -> Witnesses:
    """Read the public keys of witnesses.

    Args:
        required: number of cosignatures that a checkpoint needs; None: one of each witness.

    Raises:
        InputError: an invalid key, a key twice, or a number that the keys cannot reach.
    """
    keys = tuple(read_key(path, kind=COSIGNATURE) for path in paths)
    if len({key.raw for _, key in keys}) < len(keys):
        raise InputError("the same witness key is given twice")
    if required is not None and not 1 <= required <= len(keys):
        raise InputError(f"expected a number of cosignatures from 1 to {len(keys)} witness keys, got {required}")
    return Witnesses(keys, len(keys) if required is None else required)


def read_policy(path: Path) -> Witnesses:
    """Read a witness policy (C2SP tlog-policy) with at least one witness in its quorum.

    Raises:
        InputError: unreadable, invalid, or without witnesses.
    """
    policy = parse_policy(_text(path, "witness policy"), where=str(path))
    if policy.is_met(()):
        raise InputError("expected a quorum with witnesses, got one without", where=str(path))
    return Witnesses(tuple(policy.witnesses.values()), policy=policy)


def read_record(path: Path) -> dict[str, Any]:
    """Read a record in JSON.

    Raises:
        InputError: unreadable, or not a JSON object.
    """
    try:
        return parse_object(_text(path, "record"))
    except ValueError as error:
        raise InputError(f"expected a record in JSON, got: {error}", where=str(path)) from None


def read_time(text: str) -> datetime:
    """Return the time of `--as-of`: RFC 3339, UTC without an offset, or `now`.

    Raises:
        InputError: another format.
    """
    time = datetime.now(UTC) if text == "now" else parsed_time(text)
    if time is None:
        raise InputError(f"expected a time such as 2026-11-28T10:00:00Z or now, got {text[:40]!r}", where="--as-of")
    return time


def read_signers(paths: list[Path], required: int | None) -> Signers:
    """Read the public keys of the persons that sign reports.

    Args:
        required: number of keys that must have signed; None: all.

    Raises:
        InputError: an invalid key, a key twice, or a number that the keys cannot reach.
    """
    keys = tuple(read_key(path) for path in paths)
    if len({key.raw for _, key in keys}) < len(keys):
        raise InputError("the same signer key is given twice")
    if required is not None and not 1 <= required <= len(keys):
        raise InputError(f"expected a number of signatures from 1 to {len(keys)} signer keys, got {required}")
    return Signers(keys, len(keys) if required is None else required)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a kept checkpoint: a text file, a report (folder or report.json), or a .tlog-proof.

    Raises:
        InputError: no checkpoint in the file.
    """
    path = path / "report.json" if path.is_dir() else path
    text = _text(path, "checkpoint")
    if path.suffix == ".json":
        try:
            text = str(parse_object(text)["ledger"]["checkpoint"])
        except (ValueError, KeyError, TypeError):
            raise InputError("no report with a checkpoint", where=str(path)) from None
    elif text.startswith("c2sp.org/tlog-proof"):
        text = text.partition("\n\n")[2]
    return parse_checkpoint(text, where=str(path))


def _text(path: Path, what: str) -> str:
    limit = MAX_DOCUMENT_BYTES if path.suffix == ".json" else MAX_TEXT_BYTES
    try:
        return read_bounded(path, limit).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"unreadable {what}: {read_error_reason(error)}", where=str(path)) from error
