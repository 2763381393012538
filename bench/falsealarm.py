"""Does a check alarm on a healthy node? Judges healthy nodes of every platform, with the variation of real ones.

    make bench-falsealarm
    python -m bench.falsealarm --rounds 20 --platform dgx-b200

A round makes two nodes of each platform of the catalogue (`bench/healthy`), judges all checks of a node, and compares
the two nodes. Every verdict must be PASS or N/A. Prints the others by platform and check, and writes
build/bench/falsealarm.json.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sovctl.compliance.verdict import Verdict
from sovctl.engine.catalog.platforms import Platform
from sovctl.engine.checks.model.check import Judgement, judge
from sovctl.engine.checks.model.fleet_check import SOURCE, Expected, FleetCheck
from sovctl.engine.checks.model.probe import CommandOutput, joined
from sovctl.engine.checks.probes.inventory import inventory_of
from sovctl.engine.checks.registry import CHECKS
from sovctl.support.atomic_files import write_atomic

from .healthy.answers import platforms, recorded, targets

ROUNDS = 200  # of issue 17
RESULT = Path("build/bench/falsealarm.json")
QUIET = (Verdict.PASS, Verdict.NOT_APPLICABLE)


def judged(platform: Platform, source: random.Random) -> Iterator[tuple[str, Judgement]]:
    """Yield the id and the judgement of each check on two new healthy nodes of a platform, and of their comparison."""
    inventories = {}
    for node in ("a", "b"):
        outputs = recorded(platform, f"{node}{source.randrange(10**9)}", source)
        for target in targets(platform.id):
            output = joined(target.of(outputs))
            yield target.check.id, judge(target.check, output, target.expectation)
            if target.check.id == SOURCE:
                inventories[node] = CommandOutput(0, inventory_of(output, has_gpus=True).to_json(), "")
    expected = Expected(subject=platform.id, nodes=tuple(inventories))
    for check in CHECKS:
        if isinstance(check, FleetCheck):
            yield check.id, judge(check, joined(inventories), expected)


def main() -> int:
    """Run rounds, print the alarms, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--platform", default="", help="id in the catalogue; default: all with GPUs and a profile")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a healthy node alarms")
    options = parser.parse_args()
    source = random.Random(options.seed)
    chosen = {name: each for name, each in platforms().items() if options.platform in ("", name)}
    verdicts: Counter[str] = Counter()
    alarms: Counter[tuple[str, str, str]] = Counter()
    checks = set()
    for _ in range(options.rounds):
        for name, platform in chosen.items():
            for check_id, judgement in judged(platform, source):
                checks.add(check_id)
                verdicts[judgement.verdict.value] += 1
                if judgement.verdict not in QUIET:
                    alarms[name, check_id, f"{judgement.verdict.value}: {judgement.reason}"] += 1
    found = {
        "seed": options.seed,
        "rounds": options.rounds,
        "platforms": sorted(chosen),
        "checks": len(checks),
        "verdicts": dict(sorted(verdicts.items())),
        "alarms": [[*key, count] for key, count in sorted(alarms.items())],
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(RESULT, json.dumps(found, indent=1) + "\n")
    print(
        f"{len(chosen)} platforms, {len(checks)} checks, {options.rounds} rounds of two nodes: {found['verdicts']}; "
        f"alarms: {sum(alarms.values())}"
    )
    for (name, check_id, what), count in sorted(alarms.items()):
        print(f"  {name}, {check_id}: {what} ({count} times)")
    return 1 if options.check and alarms else 0


if __name__ == "__main__":
    sys.exit(main())
