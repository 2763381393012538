"""Failures during `sovctl apply` on the `ha` lab: each ends with a clear message, and can be resumed.

    python -m bench.failures                       makes the lab `failures`; writes build/bench/failures.json
    python -m bench.failures --only node-death     one trial; repeatable

After each failure: the documented exit code, a message that names the cause, no traceback, no process and no lock 10 s
later. After the cause is gone: the apply finishes, the next plan is empty, and `sovctl audit verify` has no finding.
GPUs are simulated; Linux, systemd, vLLM on the CPU, gateways and Ansible are real. Requires root, and Debian or Ubuntu.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import ExitCode

from .failing.site import FailingSite
from .failing.trials import Trial, by_name

RESULT = Path("build/bench/failures.json")
_KEPT_CHARACTERS = 600


def run_trial(site: FailingSite, trial: Trial) -> dict[str, Any]:
    """Cause one failure, remove its cause, finish the apply, and return what was found."""
    started = time.monotonic()
    trial.change(site)
    problems = [] if site.changes() else ["the plan of the trial is empty"]
    with trial.cause(site) as command:
        ended_s = time.monotonic() - started
        code, output = command.process.returncode, command.output
        problems += judge(trial, code, output)
        problems += [f"10 s after the end: {each}" for each in site.left_behind(command, cut_off=trial.cut_off)]
    if trial.finish is None:
        if site.changes():
            site.apply()
    else:
        done = site.start("apply", str(site.file), "--yes", *trial.finish)
        if (finished := done.end()) != ExitCode.OK:
            problems.append(f"apply {' '.join(trial.finish)} ended with {finished}: {done.output.strip()[-300:]}")
        problems += [f"10 s after the resumption: {each}" for each in site.left_behind(done)]
    if trial.finish == ("--rollback", "--resume"):
        trial.change(site)  # site.yaml as the nodes are now
    problems += site.problems_at_rest()
    return {
        "name": trial.name,
        "exit_code": code,
        "failed_after_s": round(ended_s, 1),
        "seconds": round(time.monotonic() - started, 1),
        "message": output.strip()[-_KEPT_CHARACTERS:],
        "problems": problems,
    }


def judge(trial: Trial, code: int, output: str) -> list[str]:
    """Return the broken promises of an ended apply."""
    found = [] if code in trial.codes else [f"expected exit code {sorted(trial.codes)}, got {code}"]
    found += [f"the message does not contain {text!r}" for text in trial.says if text not in output]
    return found + (["the output has a traceback"] if "Traceback" in output else [])


def main() -> int:
    """Run the trials, print one line for each, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(by_name()), help="default: all")
    parser.add_argument("--name", default="failures", help="name of the lab")
    parser.add_argument("--directory", type=Path, default=Path("build/failures-site"))
    parser.add_argument("--check", action="store_true", help="exit with 1 if a trial has a problem")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("not run: the lab requires root")
        return 0
    site = FailingSite(options.name, options.directory.resolve() / "site.yaml")
    site.sovctl("lab", "up", "--preset", "ha", "--name", site.name, "--directory", str(site.file.parent))
    before = site.problems_of_ledger() if site.state.exists() else []
    if site.changes():
        site.apply()
        before += site.problems_at_rest()
    if before:
        raise SystemExit(f"the site is not as planned before the first trial: {before}")
    results: list[dict[str, Any]] = []
    for name in options.only or list(by_name()):
        result = run_trial(site, by_name()[name])
        results.append(result)
        print(
            f"{name:22} exit code {result['exit_code']:4} after {result['failed_after_s']:6.1f} s, "
            f"whole again after {result['seconds']:6.1f} s: {'; '.join(result['problems']) or 'ok'}",
            flush=True,
        )
        write_atomic(RESULT, json.dumps({"simulated": True, "trials": results}, indent=1) + "\n")
    bad = [each["name"] for each in results if each["problems"]]
    print(f"{len(results)} trials, {len(bad)} with problems{': ' + ', '.join(bad) if bad else ''}")
    return 1 if options.check and bad else 0


if __name__ == "__main__":
    sys.exit(main())
