"""Reads what must not be printed: keys and tokens from files. Errors name the file, never its content."""

from __future__ import annotations

import stat
from pathlib import Path

from .errors import InputError

KEY_BYTES = 32  # AES-256, HMAC-SHA-256


def read_key(path: Path) -> bytes:
    """A key of `KEY_BYTES` bytes, written as hex.

    Raises:
        InputError: absent, readable by group or others, or not such a key.
    """
    return parse_key(read_secret(path), where=str(path))


def parse_key(text: str, *, where: str) -> bytes:
    """A key of `KEY_BYTES` bytes from its hex digits.

    Args:
        where: whence the text comes, for the error.

    Raises:
        InputError: not such a key.
    """
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise InputError(
            f"expected {2 * KEY_BYTES} hex digits, got something else",
            where=where,
            hint=f"openssl rand -hex {KEY_BYTES} makes one",
        )
    return key


def read_api_key(path: Path) -> str:
    """What an upstream is shown in a header.

    Raises:
        InputError: as for `read_secret`, or nothing that a header can hold.
    """
    key = read_secret(path)
    if not (key.isascii() and key.isprintable()):
        raise InputError("expected a key in one line of ASCII, got something else", where=str(path))
    return key


def read_secret(path: Path) -> str:
    """Text that only its owner can read, without the space around it.

    Raises:
        InputError: absent, empty, or readable by group or others.
    """
    try:
        text = path.read_text(encoding="utf-8").strip()
        mode = stat.S_IMODE(path.stat().st_mode)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"expected a readable secret, got: {reason}", where=str(path)) from error
    if mode & 0o077:
        raise InputError(
            f"expected a secret that only its owner can read (0600), got {mode:04o}",
            where=str(path),
            hint=f"chmod 600 {path}",
        )
    if not text:
        raise InputError("expected a secret, got an empty file", where=str(path))
    return text
