"""What a person waits for before anything is done: `sovctl --help`, and a whole plan from captures.

    make bench-startup                 prints a table, writes build/bench/startup.json
    python bench/startup.py --check    ends with 1 when a bar is missed

Wall time of whole processes, against `python -c pass` in the same rounds, so that the ratios hold on a slow machine and
a fast one alike. Rounds take turns, and the median counts: other work on the machine hits all sides the same.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.compliance.files import write_atomic

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
}


def seconds(arguments: list[str]) -> float:
    """Wall time of one process of Python; it must succeed."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def measure() -> dict[str, Any]:
    """Every figure."""
    sides = {"baseline": BASELINE} | {name: row.arguments for name, row in ROWS.items()}
    for arguments in sides.values():
        seconds(arguments)  # bytecode is written and files are in memory before anything counts
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, arguments in sides.items():
            taken[name].append(seconds(arguments))
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
    """True when a bar of a row does not hold."""
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
