"""Archives without bombs: zip (wheels), compressed files, and Debian packages with their two members.

Everything is decompressed in blocks and counted, because sizes in headers can be wrong. Nothing is written.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from sovctl.support.errors import MissingTool

try:
    import zstandard
except ImportError:  # extra `bundle`
    zstandard = None  # type: ignore[assignment]

# Limits of archives: the largest ratio among the 198 wheels of vLLM 0.32.0 is below 20.
_MAX_RATIO, _FREE_BYTES, _MAX_MEMBERS = 200, 64 << 20, 200_000
_BLOCK_BYTES = 1 << 20
_AR, _AR_HEADER_BYTES, _AR_END = b"!<arch>\n", 60, b"`\n"
"""ar(5). dpkg-deb(1) packs `debian-binary`, `control.tar` and `data.tar`."""
_DEB_MEMBERS = 8
_INVALID, _BOMB = "invalid compressed file", f"compression bomb: expands to more than {_MAX_RATIO} times its size"
_DAMAGED: tuple[type[Exception], ...] = (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error)
if zstandard:
    _DAMAGED += (zstandard.ZstdError,)


def archive_problem(file: Path) -> str | None:
    """Return why an archive is refused: it expands too much, or has too many members. None for other files.

    Raises:
        MissingTool: a member is compressed by zstd, and its library is absent.
    """
    limit = _FREE_BYTES + _MAX_RATIO * file.stat().st_size
    with file.open("rb") as opened:
        head = opened.read(8)
        opened.seek(0)
        if head.startswith(b"PK\x03\x04"):
            return _zip_problem(file, limit)
        if head == _AR:
            return _deb_problem(opened, file.stat().st_size, limit)
        return None if (stream := _stream_of(head)) is None else _expanded(stream, opened, limit)[1]


def _zip_problem(file: Path, limit: int) -> str | None:
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, UnicodeDecodeError):
        return "invalid zip archive"
    if len(members) > _MAX_MEMBERS:
        return f"zip archive with more than {_MAX_MEMBERS} members"
    if sum(each.file_size for each in members) > limit or sum(each.compress_size for each in members) > 2 * (
        file.stat().st_size + _FREE_BYTES  # members that overlap: the same bytes counted many times
    ):
        return f"zip bomb: expands to more than {_MAX_RATIO} times its size"
    return None


def _deb_problem(opened: IO[bytes], size: int, limit: int) -> str | None:
    total = 0
    try:
        for member in _members(opened, size):
            head = member.read(8)
            member.seek(0)
            if stream := _stream_of(head):
                count, problem = _expanded(stream, member, limit - total)
                total += count
                if problem:
                    return problem
    except ValueError:
        return "invalid Debian package"
    return None


def _members(opened: IO[bytes], size: int) -> Iterator[io.BufferedReader]:
    """Yield the members of an ar archive.

    Raises:
        ValueError: a header is invalid, a member is longer than the file, or there are too many.
    """
    position = len(_AR)
    for _ in range(_DEB_MEMBERS + 1):
        if position >= size:
            return
        opened.seek(position)
        header = opened.read(_AR_HEADER_BYTES)
        length = int(header[48:58])
        position += _AR_HEADER_BYTES
        if header[58:60] != _AR_END or not 0 <= length <= size - position:
            raise ValueError
        yield io.BufferedReader(_Window(opened, position, length), _BLOCK_BYTES)
        position += length + length % 2
    raise ValueError


class _Window(io.RawIOBase):
    """A part of an open file."""

    def __init__(self, opened: IO[bytes], first: int, length: int) -> None:
        super().__init__()
        self._opened, self._first, self._length, self._at = opened, first, length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._length}[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        self._opened.seek(self._first + self._at)
        data = self._opened.read(max(0, min(len(buffer), self._length - self._at)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def _zstd(opened: IO[bytes]) -> Any:
    if zstandard is None:
        raise MissingTool("zstd archives cannot be inspected", hint="pip install 'sovctl[bundle]'")
    return zstandard.ZstdDecompressor().stream_reader(opened, read_across_frames=True)


_STREAMS: tuple[tuple[bytes, Callable[[IO[bytes]], Any]], ...] = (
    (b"\x1f\x8b", lambda opened: gzip.GzipFile(fileobj=opened)),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
    (b"BZh", bz2.BZ2File),
    (b"\x28\xb5\x2f\xfd", _zstd),
)


def _stream_of(head: bytes) -> Callable[[IO[bytes]], Any] | None:
    return next((stream for magic, stream in _STREAMS if head.startswith(magic)), None)


def _expanded(open_stream: Callable[[IO[bytes]], Any], opened: IO[bytes], limit: int) -> tuple[int, str | None]:
    """Return the size of the content up to the limit, and why it is refused."""
    total = 0
    try:
        with open_stream(opened) as stream:
            while block := stream.read(_BLOCK_BYTES):
                total += len(block)
                if total > limit:
                    return total, _BOMB
    except _DAMAGED:
        return total, _INVALID
    return total, None
