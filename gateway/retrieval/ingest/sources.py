"""Finds the documents of a source folder, without following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.errors import InputError

from .parsers.extracted import Reason, Refused


@dataclass(frozen=True, slots=True)
class Source:
    """File of a source folder."""

    root: Path
    """Source folder, absolute."""
    source_id: str
    """Path relative to the source folder, with `/`."""

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self.root / self.source_id

    def read(self, limit_bytes: int) -> bytes:
        """Return the content. No link below the source folder is followed, also if it appears during the run.

        Raises:
            Refused: too large, a link, not a regular file, or unreadable.
        """
        try:
            descriptor = _open_beneath(self.root, self.source_id.split("/"))
        except OSError as error:
            raise Refused(Reason.UNREADABLE, f"cannot be opened: {os.strerror(error.errno or 0).lower()}") from error
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Refused(Reason.UNREADABLE, "expected a regular file")
            content = file.read(limit_bytes + 1)
        if len(content) > limit_bytes:
            raise Refused(Reason.SIZE, f"expected at most {limit_bytes} bytes")
        return content


def _open_beneath(root: Path, parts: list[str]) -> int:
    """Open a file folder by folder, because O_NOFOLLOW only concerns the last part of a path (open(2))."""
    folder = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in parts[:-1]:
        try:
            below = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    try:
        return os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)


def find_sources(path: Path, root: Path | None = None) -> list[Source]:
    """Return the files of a folder, or one file, sorted by source id.

    Files and folders whose name begins with a dot are omitted; links are returned, and `read` refuses them.

    Args:
        root: folder to which source ids are relative; default: `path`, or the folder of the file.

    Raises:
        InputError: the path does not exist, is not below `root`, or a folder is unreadable.
    """
    if not path.exists():
        raise InputError("no such file or folder", where=str(path))
    base = (root or (path if path.is_dir() else path.parent)).absolute()
    if not path.absolute().is_relative_to(base):
        raise InputError("expected a path below --root", where=str(path))
    files = _files(path.absolute()) if path.is_dir() else iter([path.absolute()])
    found = [Source(base, file.relative_to(base).as_posix()) for file in files]
    return sorted(found, key=lambda source: source.source_id)


def _files(folder: Path) -> Iterator[Path]:
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        raise InputError(
            f"cannot read the folder: {reason}", where=str(folder), hint="no document was changed"
        ) from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path))
        else:
            yield Path(entry.path)
