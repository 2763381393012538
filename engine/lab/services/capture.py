"""Capture of data received by the host outside the perimeter: one JSON object on each line, written before the answer.

The demo and auditors search it for values that must not leave the site. Only the lab's cloud keys are omitted.
"""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

KEY_SHOWN_AS = "<the lab's cloud key>"


class Capture:
    """An append-only file, which can be truncated by another process.

    Args:
        path: created with mode 0600 if absent.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def record(self, kind: str, peer: str, **fields: Any) -> None:
        """Write one entry to the file.

        Args:
            kind: "http", or "raw" for bytes that were not HTTP over TLS.
            peer: source address.
            fields: plain values.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": now, "simulated": True, "kind": kind, "peer": peer, **fields}, ensure_ascii=False)
        with self._lock:
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, line.encode() + b"\n")
            finally:
                os.close(handle)


def readable(data: bytes) -> dict[str, str]:
    """Return bytes as a JSON field: text if they are UTF-8, else base64."""
    try:
        return {"body": data.decode()}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(data).decode()}


def without_keys(headers: Iterable[tuple[str, str]], keys: Iterable[str]) -> list[list[str]]:
    """Return headers in order as [name, value], with the lab's keys replaced by `KEY_SHOWN_AS`."""
    known = [key for key in keys if key]
    kept = []
    for name, value in headers:
        for key in known:
            value = value.replace(key, KEY_SHOWN_AS)
        kept.append([name, value])
    return kept


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries, oldest first; none without a file. An incomplete last line is omitted."""
    if path.exists():
        for line in path.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield json.loads(line)


def clear(path: Path) -> None:
    """Truncate the file. A process that writes to it can continue."""
    if path.exists():
        os.truncate(path, 0)
