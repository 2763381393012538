"""Drift injected on a lab: which part plan and verify report, and whether apply corrects what it plans.

    python -m bench.drift --seed 1 --rounds 4          # makes a lab if none is up; writes build/bench/drift.json

Bars: plan and verify report all kinds, plan alone 85 %, no row without an injected cause, an empty plan after apply. An
interrupted run continues with the rounds that its result file lacks.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .drifts.kinds import Kind, kinds
from .drifts.lab import LabSite
from .drifts.score import rows, score

RESULT = Path("build/bench/drift.json")
VERIFIED = ("model.checksum", "software.environment-files")
"""Checks whose findings are an input of the next plan."""
A_ROUND = 10
PLAN_RECALL_BAR, RECALL_BAR = 0.85, 1.0


def rounds_of(seed: int, size: int) -> list[list[Kind]]:
    """Return all kinds in random order, in rounds; no two kinds of a round have the same row."""
    waiting = kinds()
    random.Random(seed).shuffle(waiting)
    made: list[list[Kind]] = []
    while waiting:
        taken: list[Kind] = []
        for kind in waiting:
            if len(taken) < size and all(kind.row != each.row for each in taken):
                taken.append(kind)
        waiting = [kind for kind in waiting if kind not in taken]
        made.append(taken)
    return made


def run_round(site: LabSite, injected: list[Kind]) -> dict[str, Any]:
    """Inject kinds, measure plan and verify, apply, restore the rest, and plan again."""
    for kind in injected:
        site.on(kind.node, kind.inject)
    plan = site.plan()
    site.verify(*VERIFIED)
    verified = site.plan()
    if verified["changes"]:
        site.apply()
    for kind in injected:
        if kind.restore:
            site.on(kind.node, kind.restore)
    return asdict(score(injected, plan, verified, rows(site.plan())))


def summary(done: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return totals over the rounds that were run."""
    total = sum(len(each["kinds"]) for each in done.values())
    by = {name: [row for each in done.values() for row in each[name]] for name in ("missed_by_plan", "missed")}
    by |= {name: [row for each in done.values() for row in each[name]] for name in ("false_rows", "left")}
    return {
        "rounds": len(done),
        "kinds": total,
        "of_kinds": len(kinds()),
        "plan_recall": 1 - len(by["missed_by_plan"]) / total if total else 0.0,
        "recall": 1 - len(by["missed"]) / total if total else 0.0,
        **by,
    }


def problems_of(found: Mapping[str, Any]) -> list[str]:
    """Return the bars that a result misses."""
    problems = [] if found["kinds"] else ["no kind was injected"]
    if found["plan_recall"] < PLAN_RECALL_BAR:
        problems.append(f"plan reports {found['plan_recall']:.0%}, expected {PLAN_RECALL_BAR:.0%}")
    if found["recall"] < RECALL_BAR:
        problems.append(f"plan and verify report {found['recall']:.0%}: {', '.join(found['missed'])}")
    problems += [f"false row {row}" for row in found["false_rows"]]
    problems += [f"left after apply: {row}" for row in found["left"]]
    return problems


def main() -> int:
    """Run rounds, print the table, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1000, help="number of rounds to run now")
    parser.add_argument("--lab", default="sovdrift", help="name of the lab")
    parser.add_argument("--directory", type=Path, default=Path("build/drift-site"))
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    options = parser.parse_args()
    site = LabSite(options.lab, options.directory / "site.yaml")
    site.sovctl("lab", "up", "--name", options.lab, "--directory", str(options.directory))
    if site.plan()["changes"]:
        site.apply()
    known: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    done: dict[str, Any] = known.get("by_round", {}) if known.get("seed") == options.seed else {}
    before = rows(site.plan())
    if before:
        print(f"the site is not as planned before the first round: {', '.join(sorted(before)[:5])}", file=sys.stderr)
        return 1
    left = options.rounds
    for number, injected in enumerate(rounds_of(options.seed, A_ROUND)):
        if str(number) in done or left == 0:
            continue
        left -= 1
        done[str(number)] = run_round(site, injected)
        found = summary(done)
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(json.dumps({"seed": options.seed, **found, "by_round": done}, indent=1) + "\n")
        each = done[str(number)]
        print(
            f"round {number}: {len(injected)} kinds, missed by plan {len(each['missed_by_plan'])}, missed "
            f"{len(each['missed'])}, false {len(each['false_rows'])}, left {len(each['left'])}"
        )
    found = summary(done)
    print(f"{found['kinds']} of {found['of_kinds']} kinds: plan {found['plan_recall']:.1%}, plan and verify "
          f"{found['recall']:.1%}, {len(found['false_rows'])} false rows")  # fmt: skip
    problems = problems_of(found)
    for line in problems:
        print(f"  {line}")
    return 1 if options.check and problems else 0


if __name__ == "__main__":
    sys.exit(main())
