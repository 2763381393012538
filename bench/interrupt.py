"""Kills `sovctl apply`, `apply --rollback`, `plan` and `verify` at random points in a lab.

    python -m bench.interrupt --seed 1 --kills 100     # makes the lab `interrupt` if it is not up

After each kill: no process of the command and no lock, on the controller and on the nodes, after 10 s. After each
round: `--resume` finishes, the next plan is empty, and `sovctl audit verify` has no finding. A round changes the time
servers of all nodes; it stops no server. GPUs are simulated.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import ExitCode

from .failing.site import LIMIT_S, FailingSite

RESULT = Path("build/bench/interrupt.json")
KILLS_PER_ROUND = 4
VERIFY = ("verify", "--check", "perimeter.*", "--check", "access.*")


def kill_once(site: FailingSite, kind: str, delay_s: float, *arguments: str) -> dict[str, Any]:
    """Start a command, kill it after a delay, and return what was left and after how long.

    Args:
        kind: name of the command in the result.
    """
    command = site.start(*arguments)
    try:
        return {"kind": kind, "ended": command.end(delay_s), "output": command.output[-300:]}
    except subprocess.TimeoutExpired:
        command.signal(signal.SIGKILL)
    left = site.left_behind(command)
    return {
        "kind": kind,
        "delay_s": round(delay_s, 2),
        "seconds": round(time.monotonic() - command.ended_at, 2),
        "left": left,
    }


class Round:
    """One round: a change, and kills of the commands that plan, apply and verify it.

    Args:
        duration_s: of an apply without a kill.
    """

    def __init__(self, site: FailingSite, random_: random.Random, duration_s: float, *, is_rollback: bool) -> None:
        self._site, self._random, self._duration_s = site, random_, duration_s
        self._rollback = ("--rollback",) if is_rollback else ()
        self._file = str(site.file)
        self.kills: list[dict[str, Any]] = []
        self.failures: list[str] = []

    def run(self, kills: int) -> None:
        """Kill commands, finish, and judge the site."""
        site = self._site
        if not self._rollback:
            site.toggle_clock()
            self._kill("plan", self._duration_s / 3, "plan", self._file, "--json")
            if not site.changes():
                self.failures.append("the plan of the round is empty")
                return
        before = site.newest_journal()
        while len(self.kills) < kills and self._is_left(before):
            if not self._kill("rollback" if self._rollback else "apply", self._duration_s, *self._apply(before)):
                break
        if self._is_left(before):
            done = site.start(*self._apply(before))
            if (code := done.end()) != ExitCode.OK:
                self.failures.append(
                    f"{'rollback' if self._rollback else 'apply'} ended with {code}: {done.output[-300:]}"
                )
        if self._rollback:
            site.toggle_clock()  # site.yaml as the nodes are now
        elif len(self.kills) < kills:
            self._kill("verify", self._duration_s, *VERIFY, self._file)
        self.failures += site.problems_at_rest()

    def _is_left(self, before: str) -> bool:
        return self._site.newest_journal() == before or self._site.is_unfinished

    def _apply(self, before: str) -> list[str]:
        resume = [] if self._site.newest_journal() == before else ["--resume"]
        return ["apply", self._file, "--yes", *self._rollback, *resume]

    def _kill(self, kind: str, within_s: float, *arguments: str) -> bool:
        """Kill a command; return False if it ended before."""
        found = kill_once(self._site, kind, self._random.uniform(0, within_s), *arguments)
        if "ended" in found:
            if found["ended"] not in (ExitCode.OK, ExitCode.FAILURE if kind == "verify" else ExitCode.OK):
                self.failures.append(f"{kind} ended with {found['ended']} before its kill: {found['output']}")
            return False
        self.kills.append(found)
        self.failures += [f"{LIMIT_S:.0f} s after the kill of {kind}: {each}" for each in found["left"]]
        return True


def main() -> int:
    """Run rounds until the number of kills is reached; print one line for each, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="interrupt", help="name of the lab")
    parser.add_argument("--directory", type=Path, default=Path("build/interrupt-site"))
    parser.add_argument("--preset", default="lab", help="of the lab")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=120, help="begin no round after this time")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a promise is broken")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("not run: the lab requires root")
        return 0
    begun = time.monotonic()
    site, random_ = FailingSite(options.name, options.directory.resolve() / "site.yaml"), random.Random(options.seed)
    site.sovctl("lab", "up", "--preset", options.preset, "--name", site.name, "--directory", str(site.file.parent))
    if site.changes():
        site.apply()
    site.toggle_clock()
    site.changes()
    started = time.monotonic()
    site.apply()
    duration_s = time.monotonic() - started
    print(f"seed {options.seed}; an apply without a kill takes {duration_s:.1f} s", flush=True)
    kills: list[dict[str, Any]] = []
    failures: list[str] = []
    number = 0
    while len(kills) < options.kills and time.monotonic() - begun < options.minutes * 60:
        number += 1
        each = Round(site, random_, duration_s, is_rollback=number % 3 == 0)
        each.run(min(KILLS_PER_ROUND, options.kills - len(kills)))
        kills += each.kills
        failures += each.failures
        slowest = max((kill["seconds"] for kill in each.kills), default=0.0)
        print(f"{len(kills)} kills, slowest end {slowest:.2f} s, failures: {each.failures or 'none'}", flush=True)
        result = {
            "simulated": True,
            "seed": options.seed,
            "kills": len(kills),
            "by_kind": {
                kind: sum(kill["kind"] == kind for kill in kills) for kind in ("plan", "apply", "rollback", "verify")
            },
            "slowest_s": max((kill["seconds"] for kill in kills), default=0.0),
            "failures": failures,
            "each": kills,
        }
        write_atomic(RESULT, json.dumps(result, indent=1) + "\n")
    print(f"{len(kills)} kills in {number} rounds, {len(failures)} failures")
    return 1 if options.check and (failures or len(kills) < options.kills) else 0


if __name__ == "__main__":
    sys.exit(main())
