"""Kills `sovctl apply` at random points in a lab, and checks that each one can be resumed.

    python -m bench.interrupt --site lab-site/site.yaml --seed 1 --kills 100

After each kill: no process of the apply after 10 s, and no lock of the site. After each round: `--resume`
finishes, and the next plan is empty. At the end: `sovctl audit verify` has no finding. The lab must run, with
an applied site. A round changes the time servers of all nodes; it stops no pool.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import yaml

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import ExitCode

LIMIT_S = 10.0
"""Seconds after a kill in which all processes must end and the lock must be free."""
KILLS_PER_ROUND = 4
MARK = "SOVCTL_INTERRUPT"
"""Environment variable by which the processes of one apply are found."""
COMMAND_LIMIT_S = 900.0


class Site:
    """The applied site of a lab.

    Args:
        file: path of site.yaml.
    """

    def __init__(self, file: Path) -> None:
        self.file, self.state = file, file.resolve().parent / ".sovctl"

    def sovctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [sys.executable, "-m", "sovctl.cli", *arguments],
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT_S,
            check=False,
        )

    def changes(self) -> int:
        """Plan, and return the number of changes."""
        done = self.sovctl("plan", str(self.file), "--json")
        if done.returncode != 0:
            raise SystemExit(f"sovctl plan ended with {done.returncode}: {done.stderr}")
        return len(json.loads(done.stdout)["changes"])

    def toggle(self) -> None:
        """Add a second time server, or remove it."""
        values = yaml.safe_load(self.file.read_text())
        servers = values["clock"]["servers"]
        values["clock"]["servers"] = servers[:1] if len(servers) > 1 else [*servers, "10.77.0.2"]
        write_atomic(self.file, yaml.safe_dump(values, sort_keys=False))

    def is_locked(self) -> bool:
        """Return whether a process holds the site's lock."""
        with (self.state / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


def processes(mark: str) -> list[str]:
    """Return PID and command of the processes whose environment has the mark."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(f"{folder.name} {command[:100]}")
        except OSError:
            continue  # it ended
    return found


def kill_once(site: Site, delay_s: float, *, resume: bool) -> dict[str, Any]:
    """Start an apply, kill it after a delay, and return what was left and after how long."""
    mark = uuid.uuid4().hex
    words = [sys.executable, "-m", "sovctl.cli", "apply", str(site.file), "--yes", *(["--resume"] if resume else [])]
    process = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {MARK: mark}
    )
    try:
        process.wait(timeout=delay_s)
        return {"ended": process.returncode}
    except subprocess.TimeoutExpired:
        running = len(processes(mark))
        process.send_signal(signal.SIGKILL)
        process.wait()
    begun = time.monotonic()
    while (
        left := processes(mark) or (["the lock"] if site.is_locked() else [])
    ) and time.monotonic() < begun + LIMIT_S:
        time.sleep(0.05)
    return {"delay_s": round(delay_s, 2), "running": running, "seconds": time.monotonic() - begun, "left": left}


def is_unfinished(site: Site) -> bool:
    """Return whether the newest journal has no end."""
    newest = max((site.state / "journal").glob("*.jsonl"))
    return '"event": "finished"' not in newest.read_text()


def run_round(
    site: Site, random_: random.Random, duration_s: float, kills: int
) -> tuple[list[dict[str, Any]], list[str]]:
    """Kill one apply and its resumptions; return the kills, and the failures of the round."""
    site.toggle()
    if not site.changes():
        return [], ["the plan of the round is empty"]
    before = max((site.state / "journal").glob("*.jsonl"))
    found: list[dict[str, Any]] = []
    failures: list[str] = []
    for _ in range(kills):
        has_begun = max((site.state / "journal").glob("*.jsonl")) != before
        if has_begun and not is_unfinished(site):
            break
        result = kill_once(site, random_.uniform(0, duration_s), resume=has_begun)
        if "ended" in result:
            if result["ended"] != 0:
                failures.append(f"apply ended with {result['ended']} before the kill")
            break
        found.append(result)
        failures += [f"after {LIMIT_S:.0f} s: {each}" for each in result["left"]]
    if max((site.state / "journal").glob("*.jsonl")) == before or is_unfinished(site):
        resume = [] if max((site.state / "journal").glob("*.jsonl")) == before else ["--resume"]
        done = site.sovctl("apply", str(site.file), "--yes", *resume)
        if done.returncode != ExitCode.OK:
            failures.append(f"resume ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    if left := site.changes():
        failures.append(f"{left} changes in the plan after the resumption")
    return found, failures


def main() -> int:
    """Run rounds until the number of kills is reached; print one line for each, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", type=Path, default=Path("lab-site/site.yaml"), help="site.yaml of an applied lab")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=120, help="begin no round after this time")
    parser.add_argument("--check", action="store_true", help="without a lab: print a note and exit with 0")
    arguments = parser.parse_args()
    if arguments.check and not arguments.site.exists():
        print(f"not run: no site of a lab at {arguments.site}; sovctl lab up --directory {arguments.site.parent}")
        return 0
    site, random_, begun = Site(arguments.site), random.Random(arguments.seed), time.monotonic()
    if site.changes():
        raise SystemExit("the site has changes; apply them first")
    site.toggle()
    site.changes()
    started = time.monotonic()
    if (done := site.sovctl("apply", str(site.file), "--yes")).returncode != 0:
        raise SystemExit(f"the first apply ended with {done.returncode}: {done.stderr}")
    duration_s = time.monotonic() - started
    print(f"seed {arguments.seed}; an apply without a kill takes {duration_s:.1f} s", flush=True)
    kills: list[dict[str, Any]] = []
    failures: list[str] = []
    while len(kills) < arguments.kills and time.monotonic() - begun < arguments.minutes * 60:
        found, wrong = run_round(site, random_, duration_s, min(KILLS_PER_ROUND, arguments.kills - len(kills)))
        kills += found
        failures += wrong
        slowest = max((each["seconds"] for each in found), default=0.0)
        print(f"{len(kills)} kills, slowest end {slowest:.2f} s, failures: {wrong or 'none'}", flush=True)
    audit = site.sovctl("audit", "verify", str(site.state))
    if audit.returncode != 0:
        failures.append(f"audit verify: {audit.stdout.strip()[-300:]}")
    slowest = max((each["seconds"] for each in kills), default=0.0)
    result = {"seed": arguments.seed, "kills": len(kills), "slowest_s": round(slowest, 2), "failures": failures}
    write_atomic(Path("build/bench/interrupt.json"), json.dumps(result | {"each": kills}, indent=1) + "\n")
    print(f"{len(kills)} kills; all processes and locks ended within {slowest:.2f} s; {len(failures)} failures")
    return 1 if failures or len(kills) < arguments.kills else 0


if __name__ == "__main__":
    sys.exit(main())
