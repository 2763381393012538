"""What reached the host outside the perimeter: one JSON object per line, written before anything is answered.

The demo and the auditor grep it for what must never have left. The lab's own cloud key is the only thing left out.
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
    """An append-only file that may be emptied while it is written.

    Args:
        path: made, closed to others, when absent.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def keep(self, kind: str, peer: str, **what: Any) -> None:
        """Keep one thing; on return it is in the file.

        Args:
            kind: "http", or "raw" for bytes that were not HTTP over TLS.
            peer: the address it came from.
            what: plain values.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": now, "simulated": True, "kind": kind, "peer": peer, **what}, ensure_ascii=False)
        with self._lock:
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, line.encode() + b"\n")
            finally:
                os.close(handle)


def readable(data: bytes) -> dict[str, str]:
    """Bytes as a JSON field: text where they are UTF-8, base64 elsewhere."""
    try:
        return {"body": data.decode()}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(data).decode()}


def without_keys(headers: Iterable[tuple[str, str]], keys: Iterable[str]) -> list[list[str]]:
    """Headers in order as [name, value], with the lab's own keys blotted out wherever they stand."""
    known = [key for key in keys if key]
    kept = []
    for name, value in headers:
        for key in known:
            value = value.replace(key, KEY_SHOWN_AS)
        kept.append([name, value])
    return kept


def read(path: Path) -> Iterator[dict[str, Any]]:
    """What was kept, oldest first; nothing when there is no file. A line that is still being written is left out."""
    if path.exists():
        for line in path.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield json.loads(line)


def clear(path: Path) -> None:
    """Empty it; who writes to it goes on."""
    if path.exists():
        os.truncate(path, 0)
