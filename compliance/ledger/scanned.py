"""Reads a request or a checkpoint from a file or from standard input, also as the scanner of a QR code returns it.

Scanners change the frame of a text: byte order mark, line ends, last line end, and the prefix `QR-Code:` of zbar. The
frame is restored. A changed character of the text itself fails the verification of its signature.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sovctl.support.atomic_files import read_error_reason
from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

from .note import MAX_NOTE_BYTES

STANDARD_INPUT = Path("-")


def read_scanned(path: Path, *, what: str) -> str:
    """Return the text of a file; `-` is standard input.

    Args:
        what: the content, for the message, such as "a witness request".

    Raises:
        InputError: unreadable, too large, or not UTF-8.
    """
    is_input = path == STANDARD_INPUT
    where = "standard input" if is_input else str(path)
    try:
        data = sys.stdin.buffer.read(MAX_NOTE_BYTES + 1) if is_input else read_bounded(path, MAX_NOTE_BYTES)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"expected {what}, got: {read_error_reason(error)}", where=where) from error
    if len(data) > MAX_NOTE_BYTES:
        raise InputError(f"expected {what} of at most {MAX_NOTE_BYTES >> 10} KiB, got more", where=where)
    return text.removeprefix("QR-Code:").replace("\r\n", "\n").rstrip() + "\n"
