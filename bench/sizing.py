"""How far the sizing model is from published measurements, and how it does beside aiconfigurator.

    python -m bench.sizing                                    # the public rows, parallelism, aiconfigurator
    python -m bench.sizing --data FILE.csv [--json] [--check] # any file with the columns of the public one
    python -m bench.sizing --data FILE.csv --peer             # with aiconfigurator on that file's rows

Prints median, mean and p90 of the absolute error, and how often the truth lies in the p10-p90 band, for throughput,
time between tokens (ITL) and time to first token (TTFT); apart for every kind of measurement. Then how often the TP and
PP of MLPerf's submitters are ours, and both tools' errors on the rows that both can run. `--check` exits 1 where a bar
is missed; files that the fit has not seen have bars of their own. A peer that can't be installed is a missed bar, not a
smaller test.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

from bench.sized.parallelism import read_choices
from bench.sized.peer import AICONFIGURATOR, estimates
from bench.sized.rows import Row, read_rows
from sovctl.engine.sizing.calibration import load_calibration

QUANTITIES = ("throughput", "itl", "ttft")
_BARS = {"throughput": 12.0, "itl": 12.0, "ttft": 20.0}  # percent, median, on the public rows, which the fit has seen
_BARS_UNSEEN = {"throughput": 15.0, "itl": 15.0, "ttft": 25.0}  # percent, median, on any other file
_P90_UNSEEN = 45.0  # percent, on any other file
_IN_BAND = (72.0, 88.0)  # percent of rows
_CHOICES_BAR = 85.0  # percent of submitted TP and PP that are ours, or cost the same
_PEER_BARS = {"throughput": 1.0, "itl": 1.0, "ttft": 2.0}  # their median error / ours, at least
_SHARED = Path(__file__).resolve().parents[1].parent / "shared/catalog"
_PUBLIC, _PARALLELISM = _SHARED / "validation_public.csv", _SHARED / "validation_parallelism.csv"
_RESULT = Path("build/bench/sizing.json")


def main() -> int:
    """Read, compute, print; the exit code."""
    parser = argparse.ArgumentParser(description="Compare the sizing model with measurements.")
    parser.add_argument("--data", type=Path, metavar="FILE.csv", help="default: the public file, where it is at hand")
    parser.add_argument("--peer", action="store_true", help="aiconfigurator too; always without --data")
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
        "errors_percent": {group: errors([(some, constant)]) for group, some in _groups(rows).items()},
    }
    result["missed"] = missed(result["errors_percent"]["all"], is_seen=data.name == _PUBLIC.name)
    if options.data is None and _PARALLELISM.exists():
        result["parallelism"] = parallelism(_PARALLELISM)
    if options.peer or options.data is None:
        result["peer"] = beside_peer(rows, constant)
    for part in ("parallelism", "peer"):
        result["missed"] += result.get(part, {}).get("missed", [])
    _RESULT.parent.mkdir(parents=True, exist_ok=True)
    _RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1) if options.json else _text(result, rows, constant))
    return 1 if options.check and result["missed"] else 0


def _text(result: dict[str, Any], rows: Sequence[Row], constant: Callable[[str], float]) -> str:
    lines = [f"{len(rows)} rows of {result['data']}"]
    lines += [f"left out: {count:4d}  {what}" for what, count in sorted(result["left_out"].items())]
    lines.append(table([(rows, constant)]))
    if "parallelism" in result:
        found = result["parallelism"]
        lines += [f"TP and PP as submitted, or as many GPUs: {found['agree']} of {found['choices']}"]
        lines += [f"  other: {each}" for each in found["other"]]
    if "peer" in result:
        found = result["peer"]
        lines += [f"beside {', '.join(AICONFIGURATOR.packages)}: {found.get('rows', 0)} rows that both can run"]
        lines += [f"  left out: {count:4d}  {what}" for what, count in found.get("left_out", {}).items()]
        for group, by_name in found.get("errors_percent", {}).items():
            lines += [
                f"  {group:<32}{name:<12}{each['n']:>5}  median error: ours {each['ours']:6.1f} %, "
                f"theirs {each['theirs']:6.1f} %"
                for name, each in by_name.items()
            ]
    return "\n".join([*lines, *(f"missed: {each}" for each in result["missed"])])


def parallelism(path: Path) -> dict[str, Any]:
    """How often our TP and PP cost what submitters' did."""
    choices = read_choices(path)
    agree = sum(choice.agrees for choice in choices)
    share = 100 * agree / len(choices)
    return {
        "choices": len(choices),
        "agree": agree,
        "other": [str(choice) for choice in choices if not choice.agrees],
        "missed": []
        if share >= _CHOICES_BAR
        else [f"parallelism: {share:.0f} % as submitted, bar {_CHOICES_BAR:.0f} %"],
    }


def beside_peer(rows: Sequence[Row], constant: Callable[[str], float]) -> dict[str, Any]:
    """Both tools' median errors on the rows that both can run."""
    try:
        theirs, left_out = estimates(rows)
    except (RuntimeError, OSError) as error:
        return {"missed": [f"aiconfigurator did not run: {error}"]}
    common = [row for row in rows if row.id in theirs]
    found: dict[str, Any] = {}
    for group, some in _groups(common).items():
        for name in QUANTITIES:
            both = [
                (row.measured[name], computed[name], theirs[row.id][name])
                for row in some
                if name in (computed := row.computed(constant)) and name in theirs[row.id]
            ]
            if both:
                found.setdefault(group, {})[name] = {
                    "n": len(both),
                    "ours": median(abs(ours / truth - 1) * 100 for truth, ours, _ in both),
                    "theirs": median(abs(other / truth - 1) * 100 for truth, _, other in both),
                }
    behind = [
        f"{name}: median error {each['ours']:.1f} %, aiconfigurator's {each['theirs']:.1f} %, bar {bar:g} times ahead"
        for name, bar in _PEER_BARS.items()
        if (each := found.get("all", {}).get(name)) is not None and each["ours"] * bar > each["theirs"]
    ]
    if not common:
        behind.append("aiconfigurator could run no row")
    return {
        "packages": AICONFIGURATOR.packages,
        "rows": len(common),
        "left_out": dict(left_out.most_common()),
        "errors_percent": found,
        "missed": behind,
    }


Predicted = Sequence[tuple[Sequence[Row], Callable[[str], float]]]
"""Rows, and the constants that foretell them."""


def errors(rows: Predicted) -> dict[str, dict[str, float]]:
    """Errors in percent, by quantity."""
    limits = load_calibration().bands if _has_calibration() else {}
    found: dict[str, dict[str, float]] = {}
    for name in QUANTITIES:
        misses, inside, judged = [], 0, 0
        for row, constant in ((row, constant) for some, constant in rows for row in some):
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


def bands(rows: Predicted) -> dict[str, dict[str, dict[str, float]]]:
    """Tenth and ninetieth percentile of measured / computed, by regime and quantity."""
    ratios: dict[str, dict[str, list[float]]] = {}
    ids: dict[tuple[str, str], set[str]] = {}
    for row, constant in ((row, constant) for some, constant in rows for row in some):
        for name, value in row.computed(constant).items():
            ratios.setdefault(row.regime.value, {}).setdefault(name, []).append(row.measured[name] / value)
            ids.setdefault((row.regime.value, name), set()).add(row.id)
    return {
        regime: {
            name: {
                "p10": float(f"{quantiles(values, n=10)[0]:.4g}"),
                "p90": float(f"{quantiles(values, n=10)[-1]:.4g}"),
                "rows": len(ids[regime, name]),
            }
            for name, values in by_name.items()
            if len(values) > 1
        }
        for regime, by_name in ratios.items()
    }


def table(rows: Predicted) -> str:
    """The errors as text."""
    lines = [f"{'':<32}{'quantity':<12}{'n':>5}{'median':>9}{'mean':>9}{'p90':>9}{'in band':>9}   percent"]
    for group in _groups([row for some, _ in rows for row in some]):
        for name, each in errors(_only(rows, group)).items():
            lines.append(
                f"{group:<32}{name:<12}{each['n']:>5.0f}{each['median']:>9.1f}{each['mean']:>9.1f}{each['p90']:>9.1f}"
                f"{each['in_band']:>9.0f}"
            )
    return "\n".join(lines)


def _only(rows: Predicted, group: str) -> Predicted:
    return [(_groups(some).get(group, []), constant) for some, constant in rows]


def _groups(rows: Sequence[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {"all": list(rows)}
    for row in rows:
        groups.setdefault(f"{row.kind} {row.engine.name}", []).append(row)
    return groups


def missed(errors_percent: dict[str, dict[str, float]], *, is_seen: bool) -> list[str]:
    """Bars that are missed, in words.

    Args:
        is_seen: the constants were fitted over these rows.
    """
    found = []
    for name, bar in (_BARS if is_seen else _BARS_UNSEEN).items():
        each = errors_percent.get(name)
        if each is None:
            continue
        if each["median"] > bar:
            found.append(f"{name}: median error {each['median']:.1f} %, bar {bar:.0f} %")
        if not is_seen and each["p90"] > _P90_UNSEEN:
            found.append(f"{name}: one error in ten is beyond {each['p90']:.1f} %, bar {_P90_UNSEEN:.0f} %")
        if not _IN_BAND[0] <= each["in_band"] <= _IN_BAND[1]:
            found.append(f"{name}: {each['in_band']:.0f} % of rows in the band, bar 80 +- 8 %")
    return found


def _has_calibration() -> bool:
    return (Path(__file__).resolve().parents[1] / "engine/catalog/calibration.yaml").exists()


if __name__ == "__main__":
    sys.exit(main())
