"""Writing files so that a crash at any point leaves the old content or the new, never a half."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_SYNC_THREADS = 8  # 10,800 small files: 17 s one by one, 6.6 s with 8, 6.0 s with 32; ext4, two cores, 2026-11-21


def write_atomic(path: Path, content: bytes | str, *, mode: int = 0o644) -> None:
    """Replace `path` with `content`; on return it is on the disk (fsync of file and folder).

    Args:
        path: its folder is made when absent.
        mode: permission bits of the new file.
    """
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    sync_folder(path.parent)


def write_many(files: Mapping[Path, bytes]) -> None:
    """Like `write_atomic` for each of many files, in a fraction of the time: the disk is asked for all at once.

    After a crash some may be there and others not; each that is there is whole. Folders are made when absent.
    """
    folders = {path.parent for path in files}
    for folder in folders:
        folder.mkdir(mode=0o750, parents=True, exist_ok=True)
    drafts = {path: path.with_name(f".{path.name}.{os.getpid()}.new") for path in files}
    try:
        for path, data in files.items():
            drafts[path].write_bytes(data)
        with ThreadPoolExecutor(
            _SYNC_THREADS
        ) as pool:  # concurrent fsyncs share one commit of the file system's journal
            for _ in pool.map(_sync_file, drafts.values()):
                pass
        for path, draft in drafts.items():
            draft.replace(path)
    except BaseException:
        for draft in drafts.values():
            with contextlib.suppress(OSError):
                draft.unlink()
        raise
    for folder in folders | {folder.parent for folder in folders}:
        sync_folder(folder)


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_error_reason(error: OSError | UnicodeDecodeError) -> str:
    """The system's words for a file that could not be read as text, in lower case."""
    if isinstance(error, UnicodeDecodeError):
        return "something that is no text"
    return (error.strerror or "an error of the file system").lower()


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable: a rename is not on the disk until its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
