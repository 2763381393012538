"""Startup times: `sovctl --help`, a complete plan from captures, a gateway until it serves.

    make bench-startup                 prints a table, writes build/bench/startup.json
    python -m bench.startup --check   exits with 1 if a target is missed

Elapsed time of whole processes, compared with `python -c pass` in the same rounds, so that the ratios are independent
of the machine. Rounds alternate, and the median counts, so that other work on the machine affects all equally. A
gateway has started when its port accepts connections; its compiled patterns are cached by an earlier start.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.contenders.ours import write_config
from bench.traffic.process import free_port, started, wait_for_port
from sovctl.support.atomic_files import write_atomic

ROUNDS = 15
EXAMPLE = "examples/bank-hybrid"
BASELINE = ["-c", "pass"]


@dataclass(frozen=True)
class Row:
    """One thing to wait for.

    Args:
        arguments: of Python.
        most_s: bar of the median, seconds; None where only the ratio counts.
        most_ratio: bar of the median against the baseline's. Ours: about twice the first run's, 2026-11-21.
        cost: what the rest is spent on.
    """

    arguments: list[str]
    most_s: float | None
    most_ratio: float
    cost: str
    serves: bool = False
    """Whether the process serves until it is stopped; measured is the time until its port accepts connections."""


SOVCTL = ["-m", "sovctl.cli"]
ROWS = {
    # 0.4 s: what this project promises (issue 2).
    "help": Row([*SOVCTL, "--help"], 0.4, 15, "importing typer"),
    "validate": Row([*SOVCTL, "validate", f"{EXAMPLE}/site.yaml"], None, 55, "pydantic's models, YAML in Python"),
    "plan": Row(
        [*SOVCTL, "plan", f"{EXAMPLE}/site.yaml", "--facts", f"{EXAMPLE}/facts"],
        None,
        80,
        "the same, templates, a digest of sovctl's own code",
    ),
    # 2 s: what this project promises (issue 3). The ratio, a guess of 2026-11: that on a machine twice as slow.
    "gateway": Row(
        [*SOVCTL, "gateway", "serve"], 2.0, 160, "importing pydantic, cryptography, words of names", serves=True
    ),
}


def seconds(arguments: list[str]) -> float:
    """Wall time of one process of Python; it must succeed."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def seconds_until_served(arguments: list[str]) -> float:
    """Wall time until a gateway of its own, with everything on, answers on its port."""
    with tempfile.TemporaryDirectory() as folder:
        config, target = write_config(Path(folder) / "gateway", free_port(), free_port(), workers=1)
        begin = time.perf_counter()
        with started(
            [sys.executable, *arguments, f"--config={config}"], cores=os.sched_getaffinity(0), log=Path(folder) / "log"
        ) as gateway:
            wait_for_port(gateway, target.port)
            return time.perf_counter() - begin


def measure() -> dict[str, Any]:
    """Every figure."""
    sides = {"baseline": BASELINE} | {name: row.arguments for name, row in ROWS.items()}
    serving = {name for name, row in ROWS.items() if row.serves}
    for name, arguments in sides.items():
        (seconds_until_served if name in serving else seconds)(
            arguments
        )  # bytecode is written and files are in memory before anything counts
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, arguments in sides.items():
            taken[name].append((seconds_until_served if name in serving else seconds)(arguments))
    medians = {name: statistics.median(each) for name, each in taken.items()}
    return {
        "rounds": ROUNDS,
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "baseline": {"what": "python -c pass", "median_s": round(medians["baseline"], 4)},
        "rows": {
            name: {
                "median_s": round(medians[name], 4),
                "best_s": round(min(taken[name]), 4),
                "most_s": row.most_s,
                "ratio": round(medians[name] / medians["baseline"], 1),
                "most_ratio": row.most_ratio,
                "cost": row.cost,
            }
            for name, row in ROWS.items()
        },
    }


def is_missed(row: dict[str, Any]) -> bool:
    """Return whether a row misses a target."""
    return row["ratio"] > row["most_ratio"] or (row["most_s"] is not None and row["median_s"] >= row["most_s"])


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure how soon sovctl answers.")
    parser.add_argument("--check", action="store_true", help="end with 1 when a bar is missed")
    parser.add_argument("--output", type=Path, default=Path("build/bench/startup.json"))
    options = parser.parse_args()
    result = measure()
    write_atomic(options.output, json.dumps(result, indent=2) + "\n")
    print(f"python -c pass: {result['baseline']['median_s'] * 1000:.0f} ms; medians of {ROUNDS} rounds")
    print(f"{'':10}{'median':>9}{'best':>9}{'bar':>8}{'ratio':>8}{'bar':>6}  spent on")
    for name, row in result["rows"].items():
        bar = f"{row['most_s'] * 1000:.0f} ms" if row["most_s"] else "-"
        figures = f"{row['median_s'] * 1000:>6.0f} ms{row['best_s'] * 1000:>6.0f} ms{bar:>8}{row['ratio']:>8}"
        print(f"{name:10}{figures}{row['most_ratio']:>6}  {row['cost']}{'  MISSED' if is_missed(row) else ''}")
    return int(options.check and any(is_missed(row) for row in result["rows"].values()))


if __name__ == "__main__":
    sys.exit(main())
