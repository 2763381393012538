"""Tampering with a finished site: both verifiers must find each case, name its place, and report no false alarm.

    make bench-tamper                                  prints a table, writes build/bench/tamper.json
    python -m bench.tamper --rounds 200 --seed 7       a round is one tampered and one untampered copy of the site
    python -m bench.tamper --check                     exits with 1 if a case is missed

The verifiers are `sovctl audit verify`, in this process, and `sovctl-verify.pyz` in a Python without packages. Both get
the kept checkpoint and the key of its witness. Each tampered copy is verified a second time without the checkpoint: the
verdict must then not be OK.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from sovctl.compliance.audit import command
from sovctl.compliance.report.verifier_archive import FILE_NAME
from sovctl.compliance.report.verifier_archive import build as build_verifier
from sovctl.support.atomic_files import write_atomic

from .tampering import file_cases, ledger_cases
from .tampering.expected import Expected
from .tampering.site import Site, build
from .tampering.untampered import STATES

CASES = ledger_cases.CASES | file_cases.CASES


def verdicts(site: Site, state: Path, verifier: Path, checkpoint: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the result document of each verifier."""
    keys = {"key": site.log_key, "witness_keys": [site.witness_key]}
    yield "built-in", command.verify(state, checkpoints=[checkpoint], **keys).as_json()  # type: ignore[arg-type]
    words = [sys.executable, "-I", "-S", verifier, state, "--checkpoint", checkpoint, "--key", site.log_key]
    done = subprocess.run(
        [*map(str, words), "--witness-key", str(site.witness_key), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.stderr:
        raise RuntimeError(f"{FILE_NAME}: {done.stderr}")
    yield FILE_NAME, json.loads(done.stdout) | {"exit_code": done.returncode}


def tampered(site: Site, folder: Path, name: str, random: Random, verifier: Path) -> list[str]:
    """Verify a tampered copy; return what was missed."""
    state = site.copy(folder / "state")
    expected: Expected = CASES[name](site, state, random)
    missed = []
    for who, found in verdicts(site, state, verifier, expected.checkpoint or site.checkpoint):
        place = f"{expected.files or expected.index}"
        if found["verdict"] != "failed":
            missed.append(f"{who}: {name} at {place}: verdict {found['verdict']}")
        elif not expected.is_named(found["findings"]):
            missed.append(f"{who}: {name}: place {place} is not named in {found['findings'][:3]}")
    if command.verify(state).as_json()["verdict"] == "ok":
        missed.append(f"built-in: {name}: verdict ok without a kept checkpoint")
    return missed


def untampered(site: Site, folder: Path, name: str, random: Random, verifier: Path) -> list[str]:
    """Verify an untampered copy; return the false alarms."""
    state = site.copy(folder / "state")
    STATES[name](site, state, random)
    return [
        f"{who}: {name}: verdict {found['verdict']}: {found['findings'][:3]}"
        for who, found in verdicts(site, state, verifier, site.checkpoint)
        if found["verdict"] != "ok"
    ]


def measure(rounds: int, seed: int) -> dict[str, Any]:
    """Run the rounds. Cases take turns, so that `rounds` of their number or more run each of them."""
    random, done, problems = Random(seed), Counter[str](), []
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        site, verifier = build(folder), folder / FILE_NAME
        verifier.write_bytes(build_verifier())
        for number in range(rounds):
            for kind, run, names in (("tampered", tampered, list(CASES)), ("untampered", untampered, list(STATES))):
                name = names[number % len(names)]
                place = folder / "round"
                place.mkdir()
                problems += [f"round {number}: {each}" for each in run(site, place, name, random, verifier)]
                done[f"{kind}: {name}"] += 1
                shutil.rmtree(place)
    return {
        "rounds": rounds,
        "seed": seed,
        "cases": len(CASES),
        "untampered_states": len(STATES),
        "seconds": round(time.monotonic() - begin, 1),
        "machine": {"python": platform.python_version(), "system": platform.platform()},
        "runs": dict(done),
        "problems": problems,
    }


def main() -> int:
    """Run the benchmark; return the exit code."""
    parser = argparse.ArgumentParser(description="Tamper with a finished site, and verify it.")
    parser.add_argument("--rounds", type=int, default=len(CASES) * 3, help="tampered and untampered copies, each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a case is missed")
    parser.add_argument("--output", type=Path, default=Path("build/bench/tamper.json"))
    options = parser.parse_args()
    result = measure(options.rounds, options.seed)
    write_atomic(options.output, json.dumps(result, indent=2) + "\n")
    for name, count in result["runs"].items():
        print(f"{count:6}  {name}")
    for problem in result["problems"]:
        print(f"MISSED  {problem}")
    print(
        f"{result['rounds']} tampered and {result['rounds']} untampered copies, two verifiers, {result['seconds']} s: "
        f"{len(result['problems'])} missed or false"
    )
    return int(options.check and bool(result["problems"]))


if __name__ == "__main__":
    sys.exit(main())
