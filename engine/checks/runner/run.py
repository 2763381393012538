"""Run the suite: pytest processes over the nodes, results as they come, and UNKNOWN for what never came.

    found = run(site, today=..., report=print)
    found.results            # one per case, in the order of the cases, whatever happened

Each process takes some of the nodes and sends its results through a pipe, so that it also learns when we are gone. A
run that is interrupted still has a result for every case: "not measured".
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from queue import SimpleQueue
from typing import IO

from sovctl.support.errors import InputError
from sovctl.support.package_files import package_folder

from ...site.site import Site
from ...site.state_folder import SiteState
from ..definitions.registry import CHECKS
from ..model.result import Result, not_looked_at, utc_now
from .build_context import estate_of
from .targets import Case, all_cases, choose, populations

SUITE = package_folder("engine/checks/runner/suite")
STOP_GRACE_S = 5


@dataclass(frozen=True)
class Found:
    """What one run saw.

    Args:
        cases: that were chosen.
        results: one per case, in the same order.
        populations: by check id: every target of the site, chosen or not.
        interrupted: True when it was stopped half way.
    """

    cases: tuple[Case, ...]
    results: tuple[Result, ...]
    populations: dict[str, list[str]]
    interrupted: bool


def run(
    site: Site,
    *,
    today: date,
    nodes: Iterable[str] = (),
    checks: Iterable[str] = (),
    jobs: int | None = None,
    report: Callable[[int, int, Case, Result], None] = lambda *_: None,
) -> Found:
    """Look at every chosen case.

    Args:
        nodes: names, `site` for this controller; all when empty.
        checks: patterns of check ids; all when empty.
        jobs: processes at once; one per node up to the number of cores when None.
        report: called with done, all, case and result as results come.

    Raises:
        InputError: a name or a pattern fits nothing.
    """
    everything = all_cases(estate_of(site, today=today))
    chosen = choose(everything, nodes=nodes, checks=checks)
    _require_some(everything, chosen, nodes, checks)
    by_id = {case.id: case for case in chosen}
    results: dict[str, Result] = {}

    def take(result: Result) -> None:
        if result.case_id in by_id and result.case_id not in results:
            results[result.case_id] = result
            report(len(results), len(chosen), by_id[result.case_id], result)

    interrupted = False
    ends: list[str] = []
    try:
        ends = _run_all(_commands(site, chosen, checks, today, jobs), take)
    except KeyboardInterrupt:
        interrupted = True
    why = "interrupted" if interrupted else next((end for end in ends if end), "the suite ended before this check")
    for case in chosen:
        if case.id not in results:
            command = case.check.probe(case.expectation).command
            results[case.id] = not_looked_at(case, command, why, utc_now())
    return Found(
        cases=chosen,
        results=tuple(_marked([results[case.id] for case in chosen])),
        populations=populations(everything),
        interrupted=interrupted,
    )


def _marked(results: list[Result]) -> list[Result]:
    """Where a node could not say, and for this controller: simulated when anything of the site is."""
    is_simulated = any(result.simulated for result in results)
    return [replace(each, simulated=is_simulated) if each.simulated is None else each for each in results]


def _require_some(
    everything: Sequence[Case], chosen: Sequence[Case], nodes: Iterable[str], checks: Iterable[str]
) -> None:
    known = list(dict.fromkeys(case.node for case in everything))
    if strange := sorted(set(nodes) - set(known)):
        raise InputError(f"expected one of the nodes {', '.join(known)}, got {strange[0]!r}", where="--node")
    if not chosen:
        ids = sorted({check.id.partition(".")[0] for check in CHECKS})
        raise InputError(
            f"expected a pattern that fits a check, got {', '.join(map(repr, checks))}",
            where="--check",
            hint=f"patterns such as 'perimeter.*'; topics are {', '.join(ids)}",
        )


def _commands(
    site: Site, chosen: Sequence[Case], checks: Iterable[str], today: date, jobs: int | None
) -> list[list[str]]:
    """One pytest command per share of the nodes, dealt in turn."""
    nodes = list(dict.fromkeys(case.node for case in chosen))
    count = max(1, min(len(nodes), jobs or os.cpu_count() or 1))
    shared = [
        *(sys.executable, "-P", "-m", "pytest", "-q", "-c", str(SUITE / "pytest.ini"), "--rootdir", str(SUITE)),
        *("-p", "sovctl.engine.checks.runner.pytest_plugin", "--sovctl-site", str(site.loaded.path.resolve())),
        *("--sovctl-state", str(site.state.root.resolve()), "--sovctl-today", today.isoformat()),
        *("--sovctl-checks", ",".join(checks)),
    ]
    return [[*shared, "--sovctl-nodes", ",".join(nodes[start::count])] for start in range(count)]


def _run_all(commands: list[list[str]], take: Callable[[Result], None]) -> list[str]:
    """Run them all at once; how each ended, empty when well.

    Raises:
        KeyboardInterrupt: after the processes were ended; what had come was taken.
    """
    with tempfile.TemporaryDirectory(prefix="sovctl-verify-") as folder, contextlib.ExitStack() as stack:
        workers = [_Worker(command, Path(folder) / f"{index}.log") for index, command in enumerate(commands)]
        stack.callback(_stop, workers)
        queue: SimpleQueue[Result | None] = SimpleQueue()
        for worker in workers:
            threading.Thread(target=worker.read, args=(queue,), daemon=True).start()
        open_pipes = len(workers)
        while open_pipes:
            result = queue.get()
            if result is None:
                open_pipes -= 1
            else:
                take(result)
        return [worker.end() for worker in workers]


class _Worker:
    """One pytest process and the pipe its results come through."""

    def __init__(self, command: list[str], log: Path) -> None:
        reading, writing = os.pipe()
        self._log = log
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "SOVCTL_"))}
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        with log.open("wb") as stream:
            self._process = subprocess.Popen(
                [*command, "--sovctl-results", f"/dev/fd/{writing}", str(SUITE / "test_site.py")],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                pass_fds=(writing,),
                env=environment,
                start_new_session=True,  # Ctrl-C is ours to handle, so that what was seen is kept
            )
        os.close(writing)
        self._pipe: IO[str] = os.fdopen(reading)

    def read(self, queue: SimpleQueue[Result | None]) -> None:
        """Hand on every result, then None."""
        try:
            with self._pipe:
                for line in self._pipe:
                    # A line cut by the end of the process is no result: its case stays unmeasured.
                    with contextlib.suppress(ValueError, KeyError, TypeError):
                        queue.put(Result.from_line(line))
        finally:
            queue.put(None)

    def end(self) -> str:
        """Wait for the process, and say in a few words how it ended when it did not end by itself.

        pytest exits with 0 and 1 when every test was run (pytest.ExitCode).
        """
        code = self._process.wait()
        if code in (0, 1):
            return ""
        said = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return f"the suite ended with {code}" + (f": {said[-1].strip()[:120]}" if said else "")

    def stop(self, number: signal.Signals) -> None:
        """Ask the process to end; nothing when it is over."""
        if self._process.poll() is None:
            self._process.send_signal(number)

    def sweep(self) -> None:
        """End what its session still runs: a command may have begun just as the process was told to end."""
        for entry in Path("/proc").glob("[1-9]*"):
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(int(entry.name)) == self._process.pid:
                    os.kill(int(entry.name), signal.SIGKILL)

    def is_over(self, until: float) -> bool:
        """True when the process has ended, at the latest at `until` (monotonic seconds)."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, until - time.monotonic()))
        return self._process.poll() is not None


def _stop(workers: Sequence[_Worker]) -> None:
    """End all that still run: first so that pytest ends its connections, then by force; commands they left, too."""
    for number in (signal.SIGINT, signal.SIGKILL):
        for worker in workers:
            worker.stop(number)
        until = time.monotonic() + STOP_GRACE_S
        if all(worker.is_over(until) for worker in workers):
            break
    for worker in workers:
        worker.sweep()


def last_applied_plan(state: SiteState) -> str | None:
    """Digest of the plan that was last carried out to its end, from the site's ledger; None when there is none."""
    from sovctl.compliance.ledger.reader import LedgerReader

    try:
        entries = LedgerReader(state.ledger).entries()
        plans = [entry.record.get("plan_sha256") for entry in entries if b'"apply-finished"' in entry.data]
    except InputError:
        return None
    return str(plans[-1]) if plans else None
