"""Compares the sizing model with published measurements and with aiconfigurator.

    python -m bench.sizing                                    # the public rows, parallelism, aiconfigurator
    python -m bench.sizing --data FILE.csv [--json] [--check] # any file with the columns of the public one
    python -m bench.sizing --data FILE.csv --peer             # with aiconfigurator on that file's rows
    python -m bench.sizing --data FILE.csv --left-out         # also with models and GPUs excluded from the fit, minutes

Runs of vLLM on one H100 (`bench/sized/h100.csv`) are divided by streams: the fit includes 1 and 64, and never 16 and
128. The latter are printed as "H100, not in the fit".

Prints for throughput, time between tokens (ITL) and time to first token (TTFT), in total and by kind of measurement:
median, mean and p90 of the absolute error, and the percentage of rows in the p10-p90 band. "Left out" repeats the fit
without a quarter of the models or GPUs, with bands from the others. Also prints the agreement with TP and PP of MLPerf
submissions, and the errors of both tools on the rows that both can run.

`--check` exits with 1 if a target is missed. Files that are not part of the fit have their own targets. If the peer
cannot be installed, its target counts as missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.sized.constants import START, fit
from bench.sized.errors import QUANTITIES, Errors, Prediction, by_kind, errors, predict, table
from bench.sized.left_out import nested
from bench.sized.parallelism import read_choices
from bench.sized.peer import AICONFIGURATOR, estimates
from bench.sized.rows import Row, own_rows, read_rows
from sovctl.engine.catalog.calibrations import Band
from sovctl.engine.sizing.performance.calibration import Evidence, load_calibration

_BARS = {"throughput": 12.0, "itl": 12.0, "ttft": 20.0}  # percent, median, on the public rows, which the fit includes
_BARS_UNSEEN = {"throughput": 12.0, "itl": 10.0, "ttft": 25.0}  # percent, median, on rows that no fit included
_P90_UNSEEN = 45.0  # percent, on rows that no fit included
_IN_BAND = (72.0, 88.0)  # percent of rows
_OWN_UNSEEN = "H100, not in the fit"  # two rows: too few for a percentage in the band
_LEFT_OUT = {"models left out": Evidence.GPU, "GPUs left out": Evidence.NONE}
_CHOICES_BAR = 85.0  # percent of submissions whose TP and PP cost the same as sovctl's choice
_PEER_BARS = {"throughput": 1.0, "itl": 1.0, "ttft": 2.0}  # minimum of aiconfigurator's median error / sovctl's
_SHARED = Path(__file__).resolve().parents[1].parent / "shared/catalog"
_PUBLIC, _PARALLELISM = _SHARED / "validation_public.csv", _SHARED / "validation_parallelism.csv"
_RESULT = Path("build/bench/sizing.json")


def main() -> int:
    """Run the benchmark; return the exit code."""
    parser = argparse.ArgumentParser(description="Compare the sizing model with measurements.")
    parser.add_argument("--data", type=Path, metavar="FILE.csv", help="default: the public file, if present")
    parser.add_argument("--peer", action="store_true", help="also run aiconfigurator; default without --data")
    parser.add_argument("--left-out", action="store_true", help="also exclude models and GPUs; default without --data")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args()
    data = options.data or _PUBLIC
    if options.data is None and not data.exists():
        print("the public measurements are not present; name a file with --data")
        return 0
    try:
        rows, unknown = read_rows(data)
    except (OSError, KeyError, ValueError) as error:
        print(f"expected a CSV file with the columns of the public one, got {error}: {data}", file=sys.stderr)
        return 3
    constant = load_calibration().constant
    is_public = data.name == _PUBLIC.name
    rows += own_rows(is_seen=True) if is_public else []
    said = predict(rows, constant, _bands_of)
    result: dict[str, Any] = {
        "data": data.name,
        "rows": len(rows),
        "left_out": dict(unknown),
        "errors_percent": {group: errors(some) for group, some in by_kind(said).items()},
    }
    result["missed"] = missed(result["errors_percent"]["all"], is_seen=is_public)
    unseen = {_OWN_UNSEEN: predict(own_rows(is_seen=False), constant, _bands_of)} if is_public else {}
    unseen |= left_out(rows) if options.left_out or options.data is None else {}
    result["unseen_errors_percent"] = {which: errors(some) for which, some in unseen.items()}
    for which, found in result["unseen_errors_percent"].items():
        result["missed"] += [f"{which}: {each}" for each in missed(found, is_seen=False, has_band=which != _OWN_UNSEEN)]
    if options.data is None and _PARALLELISM.exists():
        result["parallelism"] = parallelism(_PARALLELISM)
    if options.peer or options.data is None:
        result["peer"] = beside_peer(rows, constant)
    for part in ("parallelism", "peer"):
        result["missed"] += result.get(part, {}).get("missed", [])
    _RESULT.parent.mkdir(parents=True, exist_ok=True)
    _RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1) if options.json else _text(result, said, unseen))
    return 1 if options.check and result["missed"] else 0


def _bands_of(row: Row) -> Mapping[str, Band]:
    calibration = load_calibration()
    return calibration.bands[calibration.evidence(row.model_id, row.replica.gpu.id)][row.regime.value]


def left_out(rows: Sequence[Row]) -> dict[str, list[Prediction]]:
    """Return predictions of every row by constants and bands from other models, or from other GPUs."""
    start = fit(rows, START)  # start value of the search
    return {which: nested(rows, evidence, start) for which, evidence in _LEFT_OUT.items()}


def _text(result: dict[str, Any], said: Sequence[Prediction], unseen: Mapping[str, Sequence[Prediction]]) -> str:
    lines = [f"{result['rows']} rows of {result['data']}"]
    lines += [f"excluded: {count:4d}  {what}" for what, count in sorted(result["left_out"].items())]
    lines.append(table(said))
    for which, some in unseen.items():
        lines += [which, table(some)]
    if "parallelism" in result:
        found = result["parallelism"]
        lines += [f"TP and PP as submitted, or the same number of GPUs: {found['agree']} of {found['choices']}"]
        lines += [f"  other: {each}" for each in found["other"]]
    if "peer" in result:
        found = result["peer"]
        lines += [f"compared with {', '.join(AICONFIGURATOR.packages)}: {found.get('rows', 0)} rows that both can run"]
        lines += [f"  excluded: {count:4d}  {what}" for what, count in found.get("left_out", {}).items()]
        for group, by_name in found.get("errors_percent", {}).items():
            lines += [
                f"  {group:<32}{name:<12}{each['n']:>5}  median error: ours {each['ours']:6.1f} %, "
                f"theirs {each['theirs']:6.1f} %"
                for name, each in by_name.items()
            ]
    return "\n".join([*lines, *(f"missed: {each}" for each in result["missed"])])


def parallelism(path: Path) -> dict[str, Any]:
    """Return how often sovctl's TP and PP cost the same as those of submissions."""
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
    """Return the median errors of both tools on the rows that both can run."""
    try:
        theirs, left_out = estimates(rows)
    except (RuntimeError, OSError) as error:
        return {"missed": [f"aiconfigurator did not run: {error}"]}
    common = [row for row in rows if row.id in theirs]
    found: dict[str, Any] = {}
    for group, some in by_kind(predict(common, constant)).items():
        for name in QUANTITIES:
            both = [
                (each.row.measured[name], each.computed[name], theirs[each.row.id][name])
                for each in some
                if name in each.computed and name in theirs[each.row.id]
            ]
            if both:
                found.setdefault(group, {})[name] = {
                    "n": len(both),
                    "ours": median(abs(ours / truth - 1) * 100 for truth, ours, _ in both),
                    "theirs": median(abs(other / truth - 1) * 100 for truth, _, other in both),
                }
    missed_targets = [
        f"{name}: median error {each['ours']:.1f} %, aiconfigurator's {each['theirs']:.1f} %, bar {bar:g} times ahead"
        for name, bar in _PEER_BARS.items()
        if (each := found.get("all", {}).get(name)) is not None and each["ours"] * bar > each["theirs"]
    ]
    if not common:
        missed_targets.append("aiconfigurator could not run any row")
    return {
        "packages": AICONFIGURATOR.packages,
        "rows": len(common),
        "left_out": dict(left_out.most_common()),
        "errors_percent": found,
        "missed": missed_targets,
    }


def missed(errors_percent: Mapping[str, Errors], *, is_seen: bool, has_band: bool = True) -> list[str]:
    """Return the missed targets as text.

    Args:
        is_seen: whether the constants were fitted to these rows.
        has_band: whether the rows suffice for a percentage in the band.
    """
    found = []
    for name, bar in (_BARS if is_seen else _BARS_UNSEEN).items():
        each = errors_percent.get(name)
        if each is None:
            continue
        if each["median"] > bar:
            found.append(f"{name}: median error {each['median']:.1f} %, bar {bar:.0f} %")
        if not is_seen and each["p90"] > _P90_UNSEEN:
            found.append(f"{name}: p90 of the error {each['p90']:.1f} %, bar {_P90_UNSEEN:.0f} %")
        if has_band and not _IN_BAND[0] <= each["in_band"] <= _IN_BAND[1]:
            found.append(f"{name}: {each['in_band']:.0f} % of rows in the band, bar 80 +- 8 %")
    return found


if __name__ == "__main__":
    sys.exit(main())
