"""Reads keys and tokens from files. Error messages contain the path only."""

from __future__ import annotations

import stat
from pathlib import Path

from .errors import InputError

KEY_BYTES = 32  # AES-256, HMAC-SHA-256


def read_key(path: Path) -> bytes:
    """Read a key of `KEY_BYTES` bytes in hex.

    Raises:
        InputError: absent, readable by group or others, or not a key.
    """
    return parse_key(read_secret(path), where=str(path))


def parse_key(text: str, *, where: str) -> bytes:
    """Parse a key of `KEY_BYTES` bytes in hex.

    Args:
        where: source of the text, for the error message.

    Raises:
        InputError: not a key.
    """
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise InputError(
            f"expected {2 * KEY_BYTES} hex digits",
            where=where,
            hint=f"create one with `openssl rand -hex {KEY_BYTES}`",
        )
    return key


def read_api_key(path: Path) -> str:
    """Read an API key that is sent in a header.

    Raises:
        InputError: see `read_secret`; or not one line of printable ASCII.
    """
    key = read_secret(path)
    if not (key.isascii() and key.isprintable()):
        raise InputError("expected one line of printable ASCII", where=str(path))
    return key


def read_secret(path: Path) -> str:
    """Read a file of mode 0600, and strip surrounding white space.

    Raises:
        InputError: absent, empty, or readable by group or others.
    """
    try:
        text = path.read_text(encoding="utf-8").strip()
        mode = stat.S_IMODE(path.stat().st_mode)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"unreadable secret: {reason}", where=str(path)) from error
    if mode & 0o077:
        raise InputError(
            f"secret file is readable by others (mode {mode:04o})",
            where=str(path),
            hint=f"run `chmod 600 {path}`, and replace the secret",
        )
    if not text:
        raise InputError("the secret file is empty", where=str(path))
    return text
