"""Runs the suite in parallel pytest processes, then the active tests. Every target has a result, UNKNOWN if it was not
measured.

    result = run(site, today=..., report=print)
    result.results           # one per target, in the order of the targets, also after an interruption

Each process measures some of the nodes side by side, and sends its results through a pipe. It stops if this process
ends. Active tests run in this process (`active/`), because they must not overlap.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from queue import SimpleQueue
from typing import IO

from sovctl.support.errors import InputError
from sovctl.support.package_files import package_folder

from ...site.site import Site
from ...site.state_folder import SiteState
from ..model.check import Level
from ..model.result import Result, not_measured, utc_now
from ..model.target import CheckTarget
from ..registry import CHECKS
from . import fleet
from .active.build import measurement_of, power_of
from .active.run import run_active
from .build_context import build_context
from .targets import choose, populations, targets_of, without_target
from .transport import ssh_config

SUITE = package_folder("engine/checks/runner/suite")
STOP_GRACE_S = 5
NODES_A_PROCESS = 4
"""Nodes of one process by default, because its start takes 2 s of processor time, and the tests of a node 0.6 s."""


@dataclass(frozen=True)
class RunResult:
    """The results of one run.

    Args:
        targets: the chosen targets.
        results: one per target, in the same order.
        populations: names of all targets of the site by check id, chosen or not.
        interrupted: True if the run was stopped before its end.
    """

    targets: tuple[CheckTarget, ...]
    results: tuple[Result, ...]
    populations: dict[str, list[str]]
    interrupted: bool
    without_target: tuple[str, ...] = ()
    """Ids of the checks that were chosen and have no target on the site; empty if only some nodes were chosen."""


def run(
    site: Site,
    *,
    today: date,
    nodes: Iterable[str] = (),
    checks: Iterable[str] = (),
    level: Level | None = None,
    jobs: int | None = None,
    allow_downtime: Collection[str] = (),
    report: Callable[[int, int, CheckTarget, Result], None] = lambda *_: None,
    progress: Callable[[str], None] = lambda _: None,
) -> RunResult:
    """Measure every chosen target.

    Args:
        nodes: names, `site` for the controller; all if empty.
        checks: patterns of check ids; all if empty.
        level: contains the checks; None: those of quick and full that put no load on a node.
        jobs: number of parallel processes; None: one for each `NODES_A_PROCESS` nodes, at most the number of cores.
        allow_downtime: pools, and `gateway`, next to which active tests may run.
        report: called for each result with the number of results, the number of targets, target and result.
        progress: called once per second with the active tests that run.

    Raises:
        InputError: a name is unknown, or no check matches the patterns.
    """
    context = build_context(site, today=today)
    everything = targets_of(context)
    chosen = fleet.with_sources(everything, choose(everything, nodes=nodes, checks=checks, level=level))
    _require_some(everything, chosen, nodes, checks)
    by_id = {target.id: target for target in chosen}
    results: dict[str, Result] = {}

    def take(result: Result) -> None:
        if result.target_id in by_id and result.target_id not in results:
            results[result.target_id] = result
            report(len(results), len(chosen), by_id[result.target_id], result)

    interrupted = False
    ends: list[str] = []
    try:
        with tempfile.TemporaryDirectory(prefix="sovctl-verify-") as folder:
            # The processes check this description, also if site.yaml is edited, or an earlier one is applied again.
            content = Path(folder) / "site.yaml"
            content.write_bytes(site.loaded.data)
            config = Path(folder) / "ssh_config"
            config.write_text(ssh_config(site.spec, site.folder, Path(folder)))
            tests = measurement_of(context.context, config, allow_downtime)
            ends = _run_all(_commands(site, content, chosen, level, today, jobs), Path(folder), take)
            active = [target for target in chosen if target.check.is_active]
            run_active(active, tests, power_of(context.context), take=take, progress=progress)
    except KeyboardInterrupt:
        interrupted = True
    for result in fleet.judged(chosen, dict(results)):
        take(result)
    why = "interrupted" if interrupted else next((end for end in ends if end), "the suite ended before this check")
    for target in chosen:
        if target.id not in results:
            command = target.check.probe(target.expectation).command
            results[target.id] = not_measured(target, command, why, utc_now())
    return RunResult(
        targets=chosen,
        results=tuple(_mark_simulated([results[target.id] for target in chosen])),
        populations=populations(everything),
        interrupted=interrupted,
        without_target=() if set(nodes) else without_target(everything, checks=checks, level=level),
    )


def _mark_simulated(results: list[Result]) -> list[Result]:
    """Mark results of the controller and of unreachable nodes as simulated if any other result is."""
    is_simulated = any(result.simulated for result in results)
    return [replace(each, simulated=is_simulated) if each.simulated is None else each for each in results]


def _require_some(
    everything: Sequence[CheckTarget], chosen: Sequence[CheckTarget], nodes: Iterable[str], checks: Iterable[str]
) -> None:
    known = list(dict.fromkeys(target.node for target in everything))
    if absent := sorted(set(nodes) - set(known)):
        raise InputError(f"expected one of the nodes {', '.join(known)}, got {absent[0]!r}", where="--node")
    if not chosen:
        ids = sorted({check.id.partition(".")[0] for check in CHECKS})
        raise InputError(
            f"expected a pattern that fits a check, got {', '.join(map(repr, checks))}",
            where="--check",
            hint=f"patterns such as 'perimeter.*'; topics are {', '.join(ids)}",
        )


def _commands(
    site: Site,
    content: Path,
    chosen: Sequence[CheckTarget],
    level: Level | None,
    today: date,
    jobs: int | None,
) -> list[list[str]]:
    """Return one pytest command per process for the checks that are not active; nodes are distributed round-robin."""
    ids: dict[str, set[str]] = {}
    for target in chosen:
        if not fleet.is_fleet(target) and not target.check.is_active:
            ids.setdefault(target.node, set()).add(target.check.id)
    nodes = list(ids)
    count = min(len(nodes), jobs or min(math.ceil(len(nodes) / NODES_A_PROCESS), os.cpu_count() or 1))
    shared = [
        *(sys.executable, "-P", "-m", "pytest", "-q", "-c", str(SUITE / "pytest.ini"), "--rootdir", str(SUITE)),
        *("-p", "sovctl.engine.checks.runner.pytest_plugin", "--sovctl-site", str(site.loaded.path.resolve())),
        *("--sovctl-content", str(content), "--sovctl-state", str(site.state.root.resolve())),
        *("--sovctl-today", today.isoformat(), "--sovctl-level", level or ""),
    ]
    shares = [nodes[start::count] for start in range(count)]
    return [
        [*shared, "--sovctl-nodes", ",".join(share), "--sovctl-checks", ",".join(set.union(*(ids[n] for n in share)))]
        for share in shares
    ]


def _run_all(commands: list[list[str]], folder: Path, take: Callable[[Result], None]) -> list[str]:
    """Run all commands in parallel; return an error message for each, empty if it succeeded.

    Raises:
        KeyboardInterrupt: after the processes were stopped; earlier results were passed to `take`.
    """
    with contextlib.ExitStack() as stack:
        workers = [_Worker(command, folder / f"{index}.log") for index, command in enumerate(commands)]
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
    """One pytest process and the pipe for its results."""

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
                start_new_session=True,  # Ctrl-C reaches this process only, which then stores the results
            )
        os.close(writing)
        self._pipe: IO[str] = os.fdopen(reading)

    def read(self, queue: SimpleQueue[Result | None]) -> None:
        """Put every result into the queue, then None."""
        try:
            with self._pipe:
                for line in self._pipe:
                    # The last line is incomplete if the process was killed; its target stays unmeasured.
                    with contextlib.suppress(ValueError, KeyError, TypeError):
                        queue.put(Result.from_line(line))
        finally:
            queue.put(None)

    def end(self) -> str:
        """Wait for the process; return an error message if not every test ran, else an empty string.

        pytest exits with 0 or 1 if every test ran (pytest.ExitCode).
        """
        code = self._process.wait()
        if code in (0, 1):
            return ""
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return f"the suite ended with {code}" + (f": {lines[-1].strip()[:120]}" if lines else "")

    def stop(self, number: signal.Signals) -> None:
        """Send a signal to the process if it still runs."""
        if self._process.poll() is None:
            self._process.send_signal(number)

    def kill_session(self) -> None:
        """Kill the processes that remain in its session, such as a command that was started during the stop."""
        for entry in Path("/proc").glob("[1-9]*"):
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(int(entry.name)) == self._process.pid:
                    os.kill(int(entry.name), signal.SIGKILL)

    def has_ended(self, until: float) -> bool:
        """Return whether the process ends before `until` (monotonic seconds)."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, until - time.monotonic()))
        return self._process.poll() is not None


def _stop(workers: Sequence[_Worker]) -> None:
    """Stop the workers: SIGINT, so that pytest closes its connections, then SIGKILL; then their remaining processes."""
    for number in (signal.SIGINT, signal.SIGKILL):
        for worker in workers:
            worker.stop(number)
        until = time.monotonic() + STOP_GRACE_S
        if all(worker.has_ended(until) for worker in workers):
            break
    for worker in workers:
        worker.kill_session()


def last_applied_plan(state: SiteState) -> str | None:
    """Return the digest of the last plan that was applied completely, from the site's ledger; None without one."""
    from sovctl.compliance.ledger.reader import LedgerReader

    try:
        entries = LedgerReader(state.ledger).entries()
        plans = [entry.record.get("plan_sha256") for entry in entries if b'"apply-finished"' in entry.data]
    except InputError:
        return None
    return str(plans[-1]) if plans else None
