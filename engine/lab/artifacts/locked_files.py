"""Files of Debian's archive in a lock of the catalogue, verified with their SHA-256.

Debian's archive keeps a version for some time. Afterwards snapshot.debian.org has it.
"""

from __future__ import annotations

import hashlib
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from ..linux.process import LabFailure
from . import debian_mirror as mirror

TIMEOUT_S = 60


def locked(lock: Path) -> dict[str, str]:
    """Return the SHA-256 of each file in hex, by path in Debian's archive."""
    lines = [line.split() for line in lock.read_text().splitlines() if line and not line.startswith("#")]
    return {path: digest for digest, path in lines}


def fetch(lock: Path, folder: Path, *, sources: Sequence[str], hint: str) -> None:
    """Write all files of a lock into `folder`.

    Args:
        sources: base URLs of archives, which are tried in this order.
        hint: what to do if no source has a file.

    Raises:
        LabFailure: no source has a file with the digest of the lock.
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(_proxies() or None))
    for path, digest in locked(lock).items():
        (folder / path.rpartition("/")[2]).write_bytes(_fetched(opener, path, digest, sources, hint))


def _proxies() -> dict[str, str]:
    return {name.removesuffix("_proxy"): value for name, value in mirror.environment().items()}


def _fetched(opener: urllib.request.OpenerDirector, path: str, digest: str, sources: Sequence[str], hint: str) -> bytes:
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
    raise LabFailure(f"cannot fetch {path}: {'; '.join(failures)}", hint=hint)
