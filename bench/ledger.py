"""Cost of durability and verification: the ledger compared with the minimum work for the same records.

    make bench-ledger                 prints a table, writes build/bench/ledger.json
    python bench/ledger.py --check    exits with 1 if a target is missed

Targets are ratios within one run on one machine, so that they are independent of the disk; absolute figures are printed
too. The best of several rounds counts on both sides, because other work on the machine only slows.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sovctl.compliance.ledger.group import GroupCommit
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.verify import verify_ledger
from sovctl.compliance.signing import SigningKey
from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import canonical_json

BATCH, BATCHES, ROUNDS = 256, 80, 3  # records per fsync (one tlog-tiles bundle), batches per round, rounds
KEY = SigningKey.generate()

# name: (minimum ratio, baseline, cause of the difference). Set to about half of the first run, 2026-11-21.
BARS = {
    "append": (0.5, "the same records as canonical JSON, written and fsynced in the same batches", "tree and index"),
    "append_encoded": (0.1, "ready bytes, written and fsynced in the same batches", "two hashes per record in Python"),
    "verify": (0.09, "SHA-256 over the same records, held in memory", "reading, the tree, and its index"),
    "reopen": (10.0, "reading the whole log (rates of entries)", "opening must not grow with the log"),
}


def record(number: int) -> dict[str, Any]:
    """Return a record as the gateway writes it for each request: 228 bytes, types and counts, no personal data."""
    return {
        "type": "request",
        "time": "2026-11-21T10:15:00.123Z",
        "tenant": "tenant-1",
        "route": "chat",
        "decision": "tokenized",
        "entity_types": {"EMAIL": 2, "IBAN": 1},
        "input_tokens": 1200 + number % 100,
        "output_tokens": 300,
        "status": 200,
        "request_id": f"{number:032x}",
    }


def best(work: Callable[[], float]) -> float:
    """Return the highest rate of the rounds."""
    return max(work() for _ in range(ROUNDS))


def rate(count: int, work: Callable[[], object]) -> float:
    """Return `count` per second of `work`."""
    begin = time.perf_counter()
    work()
    return count / (time.perf_counter() - begin)


def write_and_sync(folder: Path, batches: list[Any], encode: Callable[[Any], bytes]) -> None:
    """Baseline: write and sync the same bytes."""
    with (folder / "bare").open("wb", buffering=0) as file:
        for batch in batches:
            file.write(b"".join(map(encode, batch)))
            os.fdatasync(file.fileno())


def append_all(folder: Path, batches: list[Any], method: str) -> None:
    """Append the same records to a ledger, with checkpoints."""
    shutil.rmtree(folder / "ledger", ignore_errors=True)
    with Ledger.open(folder / "ledger", origin="sovctl.bench/ledger", key=KEY) as ledger:
        append = getattr(ledger, method)
        for batch in batches:
            append(batch)


def reopen(folder: Path) -> None:
    """Open the ledger, as after a restart."""
    Ledger.open(folder / "ledger", origin="sovctl.bench/ledger", key=KEY).close()


async def group_latencies_s(folder: Path, clients: int, each: int) -> list[float]:
    """Return the seconds from append to durable with `clients` concurrent callers, sorted."""
    found: list[float] = []

    async def client(group: GroupCommit, first: int) -> None:
        for number in range(first, first + each):
            begin = time.perf_counter()
            await group.append(record(number))
            found.append(time.perf_counter() - begin)

    with Ledger.open(folder / "group", origin="sovctl.bench/group", key=KEY) as ledger:
        async with GroupCommit(ledger) as group:
            await asyncio.gather(*(client(group, number * each) for number in range(clients)))
    return sorted(found)


def measure(folder: Path) -> dict[str, Any]:
    """Measure all figures."""
    batches = [[record(start + offset) for offset in range(BATCH)] for start in range(0, BATCH * BATCHES, BATCH)]
    encoded = [[canonical_json(each) for each in batch] for batch in batches]
    flat = [data for batch in encoded for data in batch]
    count = len(flat)
    rates = {
        "append": best(lambda: rate(count, lambda: append_all(folder, batches, "append"))),
        "append_encoded": best(lambda: rate(count, lambda: append_all(folder, encoded, "append_encoded"))),
        "verify": best(lambda: rate(count, lambda: verify_ledger(folder / "ledger"))),
        "reopen": best(lambda: rate(count, lambda: reopen(folder))),
    }
    baselines = {
        "append": best(lambda: rate(count, lambda: write_and_sync(folder, batches, canonical_json))),
        "append_encoded": best(lambda: rate(count, lambda: write_and_sync(folder, encoded, bytes))),
        "verify": best(lambda: rate(count, lambda: [hashlib.sha256(data).digest() for data in flat])),
        "reopen": rates["verify"],
    }
    begin = time.perf_counter()
    latencies = asyncio.run(group_latencies_s(folder, clients=256, each=20))
    elapsed_s = time.perf_counter() - begin
    return {
        "entries": count,
        "record_bytes": len(flat[0]),
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "rows": {
            name: {
                "per_s": round(rates[name]),
                "baseline_per_s": round(baselines[name]),
                "baseline": baseline,
                "ratio": round(rates[name] / baselines[name], 3),
                "bar": bar,
                "cost": cost,
            }
            for name, (bar, baseline, cost) in BARS.items()
        },
        "group_commit": {
            "callers": 256,
            "appends_per_s": round(len(latencies) / elapsed_s),
            "p50_ms": round(latencies[len(latencies) // 2] * 1000, 2),
            "p99_ms": round(latencies[len(latencies) * 99 // 100] * 1000, 2),
        },
    }


def main() -> int:
    """Run the benchmark; return the exit code."""
    parser = argparse.ArgumentParser(description="Measure the ledger.")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--output", type=Path, default=Path("build/bench/ledger.json"))
    options = parser.parse_args()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.output.parent) as folder:  # on a disk, not on tmpfs
        result = measure(Path(folder))
    write_atomic(options.output, json.dumps(result, indent=2) + "\n")
    print(f"{result['entries']} records of {result['record_bytes']} bytes in batches of {BATCH}, best of {ROUNDS}")
    print(f"{'':16}{'entries/s':>12}{'baseline/s':>12}{'ratio':>9}{'bar':>7}  against")
    for name, row in result["rows"].items():
        missed = "  MISSED" if row["ratio"] < row["bar"] else ""
        figures = f"{row['per_s']:>12,}{row['baseline_per_s']:>12,}{row['ratio']:>9}{row['bar']:>7}"
        print(f"{name:16}{figures}  {row['baseline']}{missed}")
    group = result["group_commit"]
    print(
        f"group commit    {group['appends_per_s']:>12,} appends/s from {group['callers']} concurrent callers, "
        f"durable after {group['p50_ms']} ms (p50), {group['p99_ms']} ms (p99)"
    )
    return int(options.check and any(row["ratio"] < row["bar"] for row in result["rows"].values()))


if __name__ == "__main__":
    sys.exit(main())
