"""Reads parts of a zip archive within limits. Nested archives are never opened."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator

from .extracted import Limits, Reason, Refused

_CHUNK_BYTES = 64 << 10
_SMALL_BYTES = 1 << 20  # a part below this size is harmless at any ratio
_ENCRYPTED = 0x1  # APPNOTE.TXT 6.3.10, 4.4.4, bit 0


class Archive:
    """An opened zip archive of an office file.

    Args:
        content: bytes of the file.

    Raises:
        Refused: the archive is damaged, encrypted, or above a limit.
    """

    def __init__(self, content: bytes, limits: Limits) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
            raise Refused(Reason.MALFORMED, "the zip archive is damaged") from error
        entries = self._zip.infolist()
        if len(entries) > limits.archive_entries:
            raise Refused(Reason.ARCHIVE, f"expected at most {limits.archive_entries} files, got {len(entries)}")
        if any(entry.flag_bits & _ENCRYPTED for entry in entries):
            raise Refused(Reason.ENCRYPTED, "the archive contains encrypted files")
        if (total := sum(entry.file_size for entry in entries)) > limits.archive_bytes:
            raise Refused(Reason.ARCHIVE, f"expected at most {limits.archive_bytes} bytes unpacked, got {total}")
        for entry in entries:
            if entry.file_size > _SMALL_BYTES and entry.file_size > limits.archive_ratio * entry.compress_size:
                raise Refused(Reason.ARCHIVE, f"a part unpacks to more than {limits.archive_ratio} times its size")
        self._left_bytes = limits.archive_bytes
        self._sizes = {entry.filename: entry.file_size for entry in entries}

    @property
    def names(self) -> frozenset[str]:
        """Names of all parts."""
        return frozenset(self._sizes)

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the content of a part.

        Raises:
            Refused: the part is absent, damaged, or larger than it states.
        """
        if name not in self._sizes:
            raise Refused(Reason.MALFORMED, "a required part is missing")
        left_bytes = self._sizes[name]
        try:
            with self._zip.open(name) as part:
                while chunk := part.read(_CHUNK_BYTES):
                    left_bytes -= len(chunk)
                    self._left_bytes -= len(chunk)
                    if left_bytes < 0 or self._left_bytes < 0:
                        raise Refused(Reason.ARCHIVE, "the archive unpacks to more than it states")
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise Refused(Reason.MALFORMED, "a part of the archive is damaged") from error

    def head(self, name: str, length: int) -> bytes:
        """Return the first `length` bytes of a part; empty if it is absent."""
        return next(self.chunks(name), b"")[:length] if name in self._sizes else b""
