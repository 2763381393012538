"""How far the sizing model is from published measurements: any file with the columns of the public one.

    python -m bench.sizing --data FILE.csv [--json] [--check]

Prints median, mean and p90 of the absolute error, and how often the truth lies in the p10-p90 band, for throughput,
time between tokens (ITL) and time to first token (TTFT); apart for every kind of measurement. `--check` exits 1 where
a bar for the public file is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

from bench.sized.rows import Row, read_rows
from sovctl.engine.sizing.calibration import load_calibration

QUANTITIES = ("throughput", "itl", "ttft")
_BARS = {"throughput": 12.0, "itl": 12.0, "ttft": 20.0}  # percent, median, on the public rows
_IN_BAND = (72.0, 88.0)  # percent of rows
_PUBLIC = Path(__file__).resolve().parents[1].parent / "shared/catalog/validation_public.csv"
_RESULT = Path("build/bench/sizing.json")


def main() -> int:
    """Read, compute, print; the exit code."""
    parser = argparse.ArgumentParser(description="Compare the sizing model with measurements.")
    parser.add_argument("--data", type=Path, metavar="FILE.csv", help="default: the public file, where it is at hand")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--check", action="store_true", help="exit 1 where a bar is missed")
    options = parser.parse_args()
    data = options.data or _PUBLIC
    if options.data is None and not data.exists():
        print("the public measurements are not at hand; name a file with --data")
        return 0
    try:
        rows, unknown = read_rows(data)
    except (OSError, KeyError, ValueError) as error:
        print(f"expected a CSV file with the columns of the public one, got {error}: {data}", file=sys.stderr)
        return 3
    constant = load_calibration().constant
    result: dict[str, Any] = {
        "data": data.name,
        "rows": len(rows),
        "left_out": dict(unknown),
        "errors_percent": {group: errors(some, constant) for group, some in _groups(rows).items()},
    }
    result["missed"] = _missed(result["errors_percent"]["all"])
    _RESULT.parent.mkdir(parents=True, exist_ok=True)
    _RESULT.write_text(json.dumps(result, indent=1) + "\n")
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print(f"{len(rows)} rows of {data.name}")
        for what, count in sorted(unknown.items()):
            print(f"left out: {count:4d}  {what}")
        print(table(rows, constant))
        for each in result["missed"]:
            print(f"missed: {each}")
    return 1 if options.check and result["missed"] else 0


def errors(rows: Sequence[Row], constant: Callable[[str], float]) -> dict[str, dict[str, float]]:
    """Errors in percent, by quantity."""
    limits = load_calibration().bands if _has_calibration() else {}
    found: dict[str, dict[str, float]] = {}
    for name in QUANTITIES:
        misses, inside, judged = [], 0, 0
        for row in rows:
            computed = row.computed(constant)
            if name not in computed:
                continue
            ratio = row.measured[name] / computed[name]
            misses.append(abs(1 / ratio - 1) * 100)
            band = limits.get(row.regime.value, {}).get(name)
            if band is not None:
                judged += 1
                inside += band.p10 <= ratio <= band.p90
        if misses:
            found[name] = {
                "n": len(misses),
                "median": median(misses),
                "mean": mean(misses),
                "p90": quantiles(misses, n=10)[-1] if len(misses) > 1 else misses[0],
                "in_band": 100 * inside / judged if judged else float("nan"),
            }
    return found


def bands(rows: Sequence[Row], constant: Callable[[str], float]) -> dict[str, dict[str, dict[str, float]]]:
    """Tenth and ninetieth percentile of measured / computed, by regime and quantity."""
    ratios: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        for name, value in row.computed(constant).items():
            ratios.setdefault(row.regime.value, {}).setdefault(name, []).append(row.measured[name] / value)
    return {
        regime: {
            name: {
                "p10": float(f"{quantiles(values, n=10)[0]:.4g}"),
                "p90": float(f"{quantiles(values, n=10)[-1]:.4g}"),
                "rows": len(values),
            }
            for name, values in by_name.items()
            if len(values) > 1
        }
        for regime, by_name in ratios.items()
    }


def table(rows: Sequence[Row], constant: Callable[[str], float]) -> str:
    """The errors as text."""
    lines = [f"{'':<28}{'quantity':<12}{'n':>5}{'median':>9}{'mean':>9}{'p90':>9}{'in band':>9}   percent"]
    for group, some in _groups(rows).items():
        for name, each in errors(some, constant).items():
            lines.append(
                f"{group:<28}{name:<12}{each['n']:>5.0f}{each['median']:>9.1f}{each['mean']:>9.1f}{each['p90']:>9.1f}"
                f"{each['in_band']:>9.0f}"
            )
    return "\n".join(lines)


def _groups(rows: Sequence[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {"all": list(rows)}
    for row in rows:
        groups.setdefault(f"{row.kind} {row.engine or 'engine_2025'}", []).append(row)
    return groups


def _missed(errors_percent: dict[str, dict[str, float]]) -> list[str]:
    missed = []
    for name, bar in _BARS.items():
        found = errors_percent.get(name)
        if found is None:
            continue
        if found["median"] > bar:
            missed.append(f"{name}: median error {found['median']:.1f} %, bar {bar:.0f} %")
        if not _IN_BAND[0] <= found["in_band"] <= _IN_BAND[1]:
            missed.append(f"{name}: {found['in_band']:.0f} % of rows in the band, bar 80 +- 8 %")
    return missed


def _has_calibration() -> bool:
    return (Path(__file__).resolve().parents[1] / "engine/catalog/calibration.yaml").exists()


if __name__ == "__main__":
    sys.exit(main())
