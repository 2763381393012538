"""Compares the contents in quarantine with their SHA-256, and makes them durable."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..build import open_regular
from ..manifest import Manifest
from .site_store import Quarantine

_BLOCK_BYTES = 1 << 20


def verify(
    quarantine: Quarantine, manifest: Manifest, needed: Collection[str], *, report: Callable[[str], object] = str
) -> list[str]:
    """Verify contents; chunks of those that differ are needed again.

    Returns:
        Contents that differ, for example after a power failure.
    """
    for sha256 in needed:
        if manifest.contents[sha256].size == 0:
            quarantine.file(sha256).touch(mode=0o600)
    ordered = sorted(needed)
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        results = zip(ordered, pool.map(lambda each: _is_equal(quarantine.file(each), each), ordered), strict=True)
        differing = []
        for number, (sha256, is_equal) in enumerate(results, 1):
            report(f"content {number} of {len(ordered)}")
            if not is_equal:
                differing.append(sha256)
    for sha256 in differing:
        quarantine.file(sha256).unlink(missing_ok=True)
    if differing:
        parts = (part for sha256 in differing for part in manifest.contents[sha256].parts or ())
        quarantine.forget({manifest.chunks[part.chunk].sha256 for part in parts})
    return differing


def _is_equal(path: Path, sha256: str) -> bool:
    if not path.exists():
        return False
    digest, buffer = hashlib.sha256(), memoryview(bytearray(_BLOCK_BYTES))
    with open_regular(path) as file:
        while count := file.readinto(buffer):
            digest.update(buffer[:count])
        if digest.hexdigest() != sha256:
            return False
        os.fsync(file.fileno())
    return True
