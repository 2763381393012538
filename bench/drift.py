"""Drift injected on a lab: which part plan and verify report, and whether apply corrects what it plans.

    make bench-drift                                   # all kinds; makes the lab `sovdrift` if it is not up
    python -m bench.drift --seed 1 --rounds 4          # four rounds; a later call continues with the others
    python -m bench.drift --set apart                  # the kinds with which the detection was not developed

A round injects up to 120 kinds, plans, verifies and plans again, applies, restores what apply leaves to the operator,
verifies and plans. Bars: plan and verify report all kinds, plan alone 85 %, all reported rows have an injected cause,
apply corrects all managed resources, and the last plan is empty. Writes build/bench/drift.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .drifts.kind import Kind
from .drifts.kinds import kinds, kinds_kept_apart, rounds_of
from .drifts.lab import LabSite
from .drifts.score import rows, score

FOLDER = Path("build/bench")
VERIFIED = ("model.checksum", "software.environment-files")
"""Checks whose findings are an input of the next plan."""
PLAN_RECALL_BAR, RECALL_BAR, PRECISION_BAR = 0.85, 1.0, 1.0
RESULTS = {"all": "drift.json", "apart": "drift-apart.json"}
"""File of the result, by set of kinds."""


def run_round(site: LabSite, planned: list[Kind], known: set[str]) -> dict[str, Any]:
    """Inject kinds, measure plan and verify, apply, restore the rest, verify and plan again.

    Args:
        planned: kinds; one whose injection fails is a failure of the round, and is not scored.
        known: rows that an earlier round left.
    """
    outcomes = [(kind, _on(site, kind.node, kind.inject)) for kind in planned]
    injected, failures = [kind for kind, failure in outcomes if not failure], [failure for _, failure in outcomes]
    plan = site.plan()
    site.verify(*VERIFIED)
    verified = site.plan()
    later = [_on(site, kind.node, kind.restore) for kind in injected if kind.blocks_apply]
    later.append(_apply(site, verified))
    later += [_on(site, kind.node, kind.restore) for kind in injected if kind.restore and not kind.blocks_apply]
    site.verify(*VERIFIED)
    left = rows(site.plan())
    messages = [each for each in (*failures, *later) if each]
    result = asdict(score(injected, plan, verified, left, known=known, failures=messages, has_failed=any(later)))
    if left - known:
        _apply(site, site.plan())  # the next round begins with a clean site
    return result


def _on(site: LabSite, node: str, command: str) -> str:
    """Run a command on a node, and return the failure."""
    try:
        site.on(node, command)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return str(error)
    return ""


def _apply(site: LabSite, planned: Mapping[str, Any]) -> str:
    """Plan again and apply, because a restored kind changed the site after the plan; return the failure."""
    if not planned["changes"] or not site.plan()["changes"]:
        return ""
    try:
        site.apply()
    except RuntimeError as error:
        return str(error)
    return ""


def summary(done: Mapping[str, Mapping[str, Any]], of_kinds: int) -> dict[str, Any]:
    """Return the totals and the kinds of the rounds that were run."""
    found = [kind for each in done.values() for kind in each["kinds"]]
    by = Counter(kind["found_by"] for kind in found)
    false_rows = [row for each in done.values() for row in each["false_rows"]]
    reported = sum(each["reported"] for each in done.values())
    managed = [kind for kind in found if kind["is_corrected"] is not None]
    return {
        "rounds": len(done),
        "kinds": len(found),
        "of_kinds": of_kinds,
        "plan_recall": by["plan"] / len(found) if found else 0.0,
        "recall": (by["plan"] + by["verify"]) / len(found) if found else 0.0,
        "precision": 1 - len(false_rows) / reported if reported else 0.0,
        "corrected": sum(kind["is_corrected"] for kind in managed),
        "managed": len(managed),
        "missed": sorted(kind["id"] for kind in found if not kind["found_by"]),
        "found_by_verify": sorted(kind["id"] for kind in found if kind["found_by"] == "verify"),
        "not_corrected": sorted(kind["id"] for kind in managed if not kind["is_corrected"]),
        "false_rows": false_rows,
        "left": [row for each in done.values() for row in each["left"]],
        "failures": [failure for each in done.values() for failure in each["failures"]],
    }


def problems_of(found: Mapping[str, Any]) -> list[str]:
    """Return the bars that a result misses."""
    problems = [] if found["kinds"] else ["no kind was injected"]
    if found["plan_recall"] < PLAN_RECALL_BAR:
        problems.append(f"plan reports {found['plan_recall']:.1%}, expected {PLAN_RECALL_BAR:.0%}")
    if found["recall"] < RECALL_BAR:
        problems.append(f"plan and verify report {found['recall']:.1%}: not {', '.join(found['missed'])}")
    if found["precision"] < PRECISION_BAR:
        problems.append(f"precision {found['precision']:.1%}, expected {PRECISION_BAR:.0%}")
    problems += [f"not corrected: {kind}" for kind in found["not_corrected"]]
    problems += [f"row without an injected cause: {row}" for row in found["false_rows"]]
    problems += [f"left after apply: {row}" for row in found["left"]]
    problems += [f"failed: {failure}" for failure in found["failures"]]
    return problems


def table(found: Mapping[str, Any], done: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the lines of the table: groups of kinds, and the totals."""
    groups: dict[str, Counter[str]] = {}
    for each in done.values():
        for kind in each["kinds"]:
            counts = groups.setdefault(kind["id"].split("/")[1], Counter())
            counts["kinds"] += 1
            counts[kind["found_by"]] += 1
            counts["managed"] += kind["is_corrected"] is not None
            counts["corrected"] += bool(kind["is_corrected"])
    lines = [f"{'group':24}{'kinds':>7}{'plan':>7}{'verify':>8}{'missed':>8}{'managed':>9}{'corrected':>11}"]
    for name, count in sorted(groups.items()):
        lines.append(
            f"{name:24}{count['kinds']:7}{count['plan']:7}{count['verify']:8}{count['']:8}{count['managed']:9}"
            f"{count['corrected']:11}"
        )
    lines.append(
        f"{found['kinds']} of {found['of_kinds']} kinds: plan {found['plan_recall']:.1%}, "
        f"plan and verify {found['recall']:.1%}, precision {found['precision']:.1%}, "
        f"corrected {found['corrected']} of {found['managed']}"
    )
    return lines


def main() -> int:
    """Run rounds, print the table, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1000, help="number of rounds to run now")
    parser.add_argument("--only", default="", help="only kinds whose id contains this text; the result is not stored")
    parser.add_argument("--set", choices=sorted(RESULTS), default="all", dest="chosen")
    parser.add_argument("--lab", default="sovdrift", help="name of the lab")
    parser.add_argument("--directory", type=Path, default=Path("build/drift-site"))
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    options = parser.parse_args()
    known_kinds = kinds_kept_apart() if options.chosen == "apart" else kinds()
    chosen = [kind for kind in known_kinds if options.only in kind.id]
    file = FOLDER / RESULTS[options.chosen]
    site = LabSite(options.lab, options.directory / "site.yaml")
    site.up()
    if site.plan()["changes"]:
        site.apply()
    done = {} if options.only else _done(file, options.seed)
    left = rows(site.plan())
    if left:
        print(f"the site is not as planned before the first round: {', '.join(sorted(left)[:5])}", file=sys.stderr)
        return 1
    number_of_rounds = options.rounds
    for number, injected in enumerate(rounds_of(chosen, options.seed)):
        if str(number) in done or number_of_rounds == 0:
            continue
        number_of_rounds -= 1
        began = time.monotonic()
        each = done[str(number)] = run_round(site, injected, left)
        left = rows(site.plan()) if each["left"] else left
        if not options.only:
            FOLDER.mkdir(parents=True, exist_ok=True)
            document = {"seed": options.seed, **summary(done, len(chosen)), "by_round": done}
            file.write_text(json.dumps(document, indent=1) + "\n")
        missed = sum(not kind["found_by"] for kind in each["kinds"])
        print(
            f"round {number}: {len(injected)} kinds, missed {missed}, false rows {len(each['false_rows'])}, left "
            f"{len(each['left'])}, {time.monotonic() - began:.0f} s, {len(each['failures'])} failures",
            flush=True,
        )
    found = summary(done, len(chosen))
    print("\n".join(table(found, done)))
    problems = problems_of(found)
    for line in problems:
        print(f"  {line}")
    return 1 if options.check and problems else 0


def _done(file: Path, seed: int) -> dict[str, Any]:
    known: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return dict(known.get("by_round", {})) if known.get("seed") == seed else {}


if __name__ == "__main__":
    sys.exit(main())
