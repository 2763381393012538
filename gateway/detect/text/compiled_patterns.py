"""Cache of compiled pattern sets on disk: compiling takes most of the start-up time, loading is almost free.

    database = compiled([b"[0-9]{4}"], [hyperscan.HS_FLAG_DOTALL])

A set is stored in a file named by the digest of its patterns and of Hyperscan's version, below `$CACHE_DIRECTORY` (set
by systemd), `$XDG_CACHE_HOME/sovctl` or `~/.cache/sovctl`. The folder and the file are used only if this user owns them
and others cannot write them, and if the SHA-256 in the file's head matches the rest. Hyperscan itself rejects sets that
were compiled for another processor. After any failure the patterns are compiled, as without a folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

import hyperscan

from sovctl.support.atomic_files import write_atomic

_MOST_KEPT = 64  # files, some 50 MB: sets of older versions, or of other settings, are removed first
_DIGEST_BYTES = 32
_VERSION: str = getattr(hyperscan, "__version__", "")  # not in its type stub


def compiled(expressions: Sequence[bytes], flags: Sequence[int]) -> hyperscan.Database:
    """Return a database for whole texts; the id of a pattern is its index.

    Raises:
        hyperscan.HyperscanError: an expression can't be compiled.
    """
    folder = _folder()
    if folder is None:
        return _compile(expressions, flags)
    path = folder / f"patterns-{_digest(expressions, flags)}"
    with contextlib.suppress(OSError, hyperscan.HyperscanError):
        if _is_ours(path):
            digest, data = (kept := path.read_bytes())[:_DIGEST_BYTES], kept[_DIGEST_BYTES:]
            if digest == hashlib.sha256(data).digest():
                database = hyperscan.loadb(data, hyperscan.HS_MODE_BLOCK)
                _mark_used(path)
                return database
    database = _compile(expressions, flags)
    with contextlib.suppress(OSError):
        data = hyperscan.dumpb(database)
        write_atomic(path, hashlib.sha256(data).digest() + data, mode=0o600)
        _tidy(folder)
    return database


def _compile(expressions: Sequence[bytes], flags: Sequence[int]) -> hyperscan.Database:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=list(expressions), ids=list(range(len(expressions))), flags=list(flags))
    return database


def _digest(expressions: Sequence[bytes], flags: Sequence[int]) -> str:
    digest = hashlib.sha256(f"sovctl patterns v1 {_VERSION}".encode())
    for expression, flag in zip(expressions, flags, strict=True):
        digest.update(b"%d %d " % (flag, len(expression)) + expression)
    return digest.hexdigest()


def _folder() -> Path | None:
    """Return the folder, created if absent; None if other users can write every candidate."""
    try:
        if given := os.environ.get("CACHE_DIRECTORY"):
            folder = Path(given.split(":")[0])
        else:
            folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "sovctl"
        if not folder.is_absolute():
            return None
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if _is_ours(folder) else None
    except (OSError, RuntimeError):  # no home folder
        return None


def _is_ours(path: Path) -> bool:
    found = path.lstat()
    is_link = stat.S_ISLNK(found.st_mode)
    return found.st_uid == os.geteuid() and not is_link and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _mark_used(path: Path) -> None:
    with contextlib.suppress(OSError):  # the folder may be read-only
        os.utime(path)


def _tidy(folder: Path) -> None:
    """Remove the sets that were not used for the longest time."""
    files = sorted(folder.glob("patterns-*"), key=lambda each: each.stat().st_mtime, reverse=True)
    for old in files[_MOST_KEPT:]:
        old.unlink(missing_ok=True)
