"""Cost of a bundle, compared with `sha256sum` and `cp` of the same files on the same disk.

    make bench-bundle                          20 GB of synthetic files, writes build/bench/bundle.json
    python -m bench.bundle --size 2GB --check  smaller; exits with 1 if a target is missed

Targets are ratios within one run. The disk of `--folder` needs four times the size.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sovctl.compliance.signing import SigningKey
from sovctl.engine.bundle import root, signing
from sovctl.engine.bundle.build import Request, build
from sovctl.engine.bundle.manifest import Chunk, Manifest
from sovctl.engine.bundle.medium import Medium
from sovctl.engine.bundle.sizes import parse_size
from sovctl.engine.bundle.store import Store
from sovctl.engine.bundle.trust import open_bundle
from sovctl.engine.bundle.verification import verify
from sovctl.engine.lock.files import LockedFile
from sovctl.support.atomic_files import write_atomic

# name: (bound, is a minimum)
BARS = {
    "build_ratio": (0.6, True),  # of the rate of sha256sum and cp
    "verify_ratio": (0.6, True),  # of the rate of sha256sum
    "delta_share": (0.03, False),  # of the bytes, after a change of 1 % of the files
    "memory_mb": (200, False),
    "refresh_s": (1.0, False),  # CPU time, of metadata with CHUNKS chunks
}
CHUNKS = 16_000  # 1 TB in chunks of 64 MiB
LARGE = 0.7  # of the bytes are in files of LARGE_BYTES, as weights
LARGE_BYTES, SMALL_BYTES = 256 << 20, 1 << 20
KEYS = {name: SigningKey.generate() for name in ("anna", "ben", "carol", "builder")}


def make_files(folder: Path, size: int) -> None:
    """Write random files: large ones, and small ones of 1 MiB."""
    source = random.Random(1)
    left = size
    while left > 0:
        count = LARGE_BYTES if left > size * (1 - LARGE) and left > LARGE_BYTES else SMALL_BYTES
        with (folder / f"file-{left}.bin").open("wb") as file:
            for _ in range(count // SMALL_BYTES):
                file.write(source.randbytes(SMALL_BYTES))
        left -= count


def locked_files(folder: Path) -> list[LockedFile]:
    """Return the lock of a folder, with digests by `sha256sum`."""
    done = subprocess.run(
        ["sha256sum", *sorted(path.name for path in folder.iterdir())],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = (line.split() for line in done.stdout.splitlines())
    return [LockedFile(name, (folder / name).stat().st_size, sha256, "model") for sha256, name in rows]


def trust(folder: Path, now: datetime) -> str:
    """Hold the ceremony. Returns the digest of the root."""
    holders = [(name, KEYS[name].public) for name in ("anna", "ben", "carol")]
    root.init(folder, root.Holders(holders, holders[:2], [("builder", KEYS["builder"].public)]), now=now)
    for name in ("anna", "ben"):
        root.sign(folder, KEYS[name])
    return root.state(folder).sha256


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the duration of `work`, and its result."""
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def measure(folder: Path, size: int) -> dict[str, Any]:
    """Measure all figures in a folder that is empty."""
    now = datetime.now(UTC)
    files, copies, store = folder / "files", folder / "copies", Store(folder / "store")
    files.mkdir()
    make_files(files, size)
    digest = trust(folder / "trust", now)
    sum_s, locked = seconds(lambda: locked_files(files))
    copy_s, _ = seconds(lambda: subprocess.run(["cp", "-r", files, copies], check=True))
    sync_s, _ = seconds(lambda: subprocess.run(["sync", "-f", copies], check=True))
    shutil.rmtree(copies)
    request = Request(files, locked, "0" * 64, folder / "trust", "bench")
    build_s, manifest = seconds(lambda: build(store, request, now=now))
    signing.sign(store, [KEYS["anna"], KEYS["ben"], KEYS["builder"]])
    verify_s, found = seconds(lambda: verify([Medium(store.root)], root_sha256=digest))
    assert not found.missing
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    share = delta_share(files, locked, folder, manifest, now)
    return {
        "bytes": sum(each.size for each in locked),
        "files": len(locked),
        "sha256sum_s": round(sum_s, 2),
        "cp_s": round(copy_s + sync_s, 2),
        "build_s": round(build_s, 2),
        "verify_s": round(verify_s, 2),
        "build_ratio": round((sum_s + copy_s + sync_s) / build_s, 3),
        "verify_ratio": round(sum_s / verify_s, 3),
        "delta_share": round(share, 4),
        "memory_mb": round(memory_mb),
        "refresh_s": round(refresh_s(folder / "large", now), 3),
    }


def delta_share(files: Path, locked: list[LockedFile], folder: Path, before: Manifest, now: datetime) -> float:
    """Return the bytes of a delta after a change of 1 % of the bytes in small files, as a share of all bytes."""
    total, changed, new = sum(each.size for each in locked), 0, []
    for each in sorted(locked, key=lambda file: file.size):
        if changed < total * 0.01:
            changed += each.size
            (files / each.path).write_bytes(random.Random(each.path).randbytes(each.size))
            new.append(each.path)
    sums = {each.path: each for each in locked_files(files)} if new else {}
    request = Request(
        files, list(sums.values()), "0" * 64, folder / "trust", "bench", at_site=frozenset(before.contents), sequence=2
    )
    delta = build(Store(folder / "delta"), request, now=now)
    return sum(each.size for each in delta.chunks) / total


def refresh_s(folder: Path, now: datetime) -> float:
    """Return the CPU seconds to verify the metadata of `CHUNKS` chunks; their bytes are absent."""
    digest = trust(folder / "trust", now)
    store = Store(folder / "store")
    chunks = tuple(Chunk(sha256=f"{number:064x}", size=64 << 20) for number in range(CHUNKS))
    manifest = Manifest(
        site="bench", sequence=1, created=(now - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        lock_sha256="0" * 64, chunks=chunks, contents={}, files=(),
    )  # fmt: skip
    signing.write_targets(store, manifest, folder / "trust", now=now)
    signing.sign(store, [KEYS["anna"], KEYS["ben"], KEYS["builder"]])
    found = []
    for number in range(3):
        begin = time.process_time()  # one thread, no waiting: other work on the machine does not count
        open_bundle([Medium(store.root)], root_sha256=digest, memory=folder / f"memory-{number}")
        found.append(time.process_time() - begin)
    return min(found)


def main() -> None:
    """Print the figures, and write them to build/bench/bundle.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="20GB", help="bytes of the synthetic files")
    parser.add_argument("--folder", type=Path, default=Path("build"), help="folder on the disk to measure")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="bench-bundle-") as folder:
        found = measure(Path(folder), parse_size(options.size, where="--size"))
    missed = [name for name, (bar, is_min) in BARS.items() if (found[name] < bar if is_min else found[name] > bar)]
    for name, value in found.items():
        bar = f"  target {'>=' if BARS[name][1] else '<='} {BARS[name][0]}" if name in BARS else ""
        print(f"{name:14} {value}{bar}{'  MISSED' if name in missed else ''}")
    write_atomic(Path("build/bench/bundle.json"), json.dumps(found | {"missed": missed}, indent=1) + "\n")
    if missed and options.check:
        sys.exit(1)


if __name__ == "__main__":
    main()
