"""Fetches the files of a lock into a folder, the source of `sovctl bundle build`.

    content/apt/debian-12-amd64/chrony_4.3-2_amd64.deb    # path of the lock
    content/.partial/SHA256                               # incomplete, continued by the next run

A file has its path only with its size and SHA-256 of the lock. Files without a URL are taken from folders of the
operator, or are reported with the place to put them. Can be interrupted and repeated.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import sync_folder
from sovctl.support.errors import Busy, InputError, MissingTool

from .download import Downloader, NotFetched, Stopped, sha256_of
from .files import SourcedFile
from .paths import check_paths

PARTIAL = ".partial"
_SPARE_BYTES = 64 << 20
NO_URL = "the lock has no URL"


@dataclass(frozen=True, order=True)
class Missing:
    """A file that was not fetched.

    Args:
        place: path at which the operator can put the file.
    """

    file: SourcedFile
    place: str
    reason: str

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        file = self.file.file
        return {
            "path": file.path, "size": file.size, "sha256": file.sha256, "kind": file.kind, "url": self.file.url,
            "place": self.place, "reason": self.reason,
        }  # fmt: skip


@dataclass
class Fetched:
    """Result of a run.

    Args:
        present: files that were complete before.
        added: files that this run downloaded or copied.
        missing: sorted by path.
    """

    present: int = 0
    added: int = 0
    received_bytes: int = 0
    missing: list[Missing] = field(default_factory=list)


def fetch(
    files: Sequence[SourcedFile],
    folder: Path,
    *,
    from_folders: Sequence[Path] = (),
    jobs: int = 4,
    report: Callable[[str], None] = lambda _text: None,
) -> Fetched:
    """Fetch all files that the folder lacks.

    Args:
        files: of `files_of`.
        from_folders: files there with the size and SHA-256 of a file of the lock are copied instead.
        jobs: files at the same time, 1 to 16.

    Raises:
        InputError: a path is not allowed, a folder of the operator is absent, or the folder cannot be written.
        MissingTool: the disk has too little free space.
        Busy: another process fetches into the folder.
    """
    check_paths((each.file.path for each in files), where="lock")
    for each in from_folders:
        if not each.is_dir():
            raise InputError("no such folder", where=str(each))
    with _only_one(folder):
        return _Run(folder, _local_files(from_folders), jobs, report).all(files)


class _Run:
    def __init__(self, folder: Path, local: Mapping[int, list[Path]], jobs: int, report: Callable[[str], None]) -> None:
        self._folder, self._local, self._jobs, self._report = folder, local, jobs, report
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._result, self._done_files, self._all_files = Fetched(), 0, 0
        self._downloader = Downloader(connections=jobs, report=self._received, stop=self._stop)

    def all(self, files: Sequence[SourcedFile]) -> Fetched:
        """Fetch files with equal content once."""
        groups: dict[str, list[SourcedFile]] = {}
        for each in files:
            groups.setdefault(each.file.sha256, []).append(each)
        self._all_files = len(files)
        absent = [group[0].file.size for group in groups.values() if not any(map(self._has_size, group))]
        self._check_space(sum(absent))
        (self._folder / PARTIAL).mkdir(exist_ok=True)
        self._in_threads(list(groups.values()))
        with contextlib.suppress(OSError):  # partial files remain
            (self._folder / PARTIAL).rmdir()
        self._result.missing.sort()
        return self._result

    def _in_threads(self, groups: Sequence[Sequence[SourcedFile]]) -> None:
        with ThreadPoolExecutor(self._jobs) as pool:
            futures = [pool.submit(self._group, group) for group in groups]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            finally:
                self._stop.set()  # after an error or Ctrl-C; without effect if all are done
                for each in futures:
                    each.cancel()
        for each in futures:
            if not each.cancelled() and (error := each.exception()) and not isinstance(error, Stopped):
                raise error

    def _group(self, group: Sequence[SourcedFile]) -> None:
        """Fetch files with one content."""
        present = [each for each in group if self._is_complete(each)]
        absent = [each for each in group if each not in present]
        reason = ""
        if absent:
            try:
                partial = self._content(group, present)
                for each in absent:
                    self._place(partial, self._folder / each.file.path)
                partial.unlink()
            except NotFetched as error:
                reason = str(error)
            except OSError as error:
                where = str(error.filename or self._folder)
                raise InputError(f"cannot write: {(error.strerror or '').lower()}", where=where) from None
        with self._lock:
            self._result.present += len(present)
            self._done_files += len(group)
            if reason:
                self._result.missing += [Missing(each, str(self._folder / each.file.path), reason) for each in absent]
            else:
                self._result.added += len(absent)
        self._received(0)

    def _content(self, group: Sequence[SourcedFile], present: Sequence[SourcedFile]) -> Path:
        """Return a partial file that has the content."""
        file = group[0].file
        partial = self._folder / PARTIAL / file.sha256
        if content := group[0].content:
            partial.write_bytes(content)
            return partial
        for path in [*(self._folder / each.file.path for each in present), *self._local.get(file.size, ())]:
            with contextlib.suppress(NotFetched):
                self._downloader.copy(path, partial, size=file.size, sha256=file.sha256)
                return partial
        urls = list(dict.fromkeys(each.url for each in group if each.url))
        reasons = [NO_URL] if not urls else []
        for url in urls:
            try:
                self._downloader.fetch(url, partial, size=file.size, sha256=file.sha256)
            except NotFetched as error:
                reasons.append(str(error))
            else:
                return partial
        raise NotFetched(reasons[-1])

    def _place(self, partial: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.new")
        draft.unlink(missing_ok=True)
        os.link(partial, draft)
        draft.chmod(0o644)
        draft.replace(target)
        sync_folder(target.parent)

    def _has_size(self, each: SourcedFile) -> bool:
        path = self._folder / each.file.path
        return path.is_file() and not path.is_symlink() and path.stat().st_size == each.file.size

    def _is_complete(self, each: SourcedFile) -> bool:
        return self._has_size(each) and sha256_of(self._folder / each.file.path, self._stop) == each.file.sha256

    def _check_space(self, needed: int) -> None:
        free = shutil.disk_usage(self._folder).free
        if free < needed + _SPARE_BYTES:
            text = f"expected {(needed + _SPARE_BYTES) / 1e9:.2f} GB of free space, got {free / 1e9:.2f} GB"
            raise MissingTool(text, where=str(self._folder), hint="choose another folder with --to")

    def _received(self, count: int) -> None:
        with self._lock:
            self._result.received_bytes += count
            text = f"{self._done_files} of {self._all_files} files, {self._result.received_bytes / 1e6:.1f} MB received"
            self._report(text)


@contextlib.contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InputError(f"cannot write: {(error.strerror or '').lower()}", where=str(folder)) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy("another process fetches into the folder", where=str(folder), hint="wait for it") from None
        yield
    finally:
        os.close(handle)


def _local_files(folders: Sequence[Path]) -> dict[int, list[Path]]:
    """Return the files by size. Their names may differ from the lock: vendors omit the epoch of a version."""
    found: dict[int, list[Path]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                found.setdefault(path.stat().st_size, []).append(path)
    return found
