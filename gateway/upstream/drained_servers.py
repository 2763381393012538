"""Servers of pools that an operator drains: they receive no new requests, and finish the running ones.

One file lists them for all workers of a gateway, and survives restarts. Each worker confirms the version of the file
that it follows: it holds a lock on a file with its digest, in the folder `FILE.seen`. A program that stops a server
therefore waits until `unconfirmed` is empty.

    write(path, {"https://192.0.2.11:8000/v1": "apply 20261121T090000Z-b2ce4636"})
    while unconfirmed(path): ...
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from .upstream import Upstream

_NONE = sha256_hex("")


def read(path: Path) -> dict[str, str]:
    """Return the reasons by URL of the drained servers; empty if the file is absent.

    Raises:
        InputError: the file is unreadable or malformed.
    """
    return _parse(path, _content(path))


def write(path: Path, reasons: Mapping[str, str]) -> None:
    """Replace the drained servers."""
    write_atomic(path, json.dumps({"servers": dict(sorted(reasons.items()))}, indent=1) + "\n", mode=0o600)


def unconfirmed(path: Path) -> list[int]:
    """Return the process ids of workers that do not follow the current file yet; ascending."""
    wanted = sha256_hex(_content(path)) if path.exists() else _NONE
    late = []
    for each in sorted(_seen(path).glob("[1-9]*")):
        with contextlib.suppress(FileNotFoundError), each.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if file.read().decode() != wanted:
                    late.append(int(each.name))
            else:
                each.unlink()  # its worker has ended
    return sorted(late)


class DrainedServers:
    """Follows the file in one worker. Use as a context manager."""

    def __init__(self, path: Path, upstreams: Iterable[Upstream]) -> None:
        self._path = path
        self._servers = [server for upstream in upstreams for server in upstream.servers]
        self._seen = _seen(path) / str(os.getpid())
        self._digest = ""
        self._file = -1

    def __enter__(self) -> DrainedServers:
        self._seen.parent.mkdir(mode=0o700, exist_ok=True)
        self._file = os.open(self._seen, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_: object) -> None:
        self._seen.unlink(missing_ok=True)
        os.close(self._file)

    def follow(self) -> bool:
        """Read the file if it changed, and confirm it; return whether it changed.

        Raises:
            InputError: the file is unreadable or malformed; the previous version stays in force, unconfirmed.
        """
        content = _content(self._path) if self._path.exists() else b""
        digest = sha256_hex(content)
        if digest == self._digest:
            return False
        drained = _parse(self._path, content)
        for server in self._servers:
            server.is_drained = server.url in drained
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, digest.encode(), 0)
        self._digest = digest
        return True


def _seen(path: Path) -> Path:
    return path.with_name(f"{path.name}.seen")


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(f"unreadable: {error.strerror}", where=str(path)) from None


def _parse(path: Path, content: bytes) -> dict[str, str]:
    if not content:
        return {}
    try:
        servers = json.loads(content)["servers"]
        return {str(url): str(reason) for url, reason in servers.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            "not a list of drained servers", where=str(path), hint="remove it, or write it with `servers drain`"
        ) from None
