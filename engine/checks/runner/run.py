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
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from queue import SimpleQueue

from sovctl.support.errors import InputError
from sovctl.support.package_files import package_folder

from ...site.site import Site
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
from .worker import Worker, stop

SUITE = package_folder("engine/checks/runner/suite")
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
    nodes: tuple[str, ...] = ()
    """Names of the chosen nodes, sorted; empty for all."""


def run(
    site: Site,
    *,
    today: date,
    nodes: Iterable[str] = (),
    checks: Iterable[str] = (),
    level: Level | None = None,
    only: Callable[[CheckTarget], bool] = lambda _: True,
    jobs: int | None = None,
    allow_downtime: Collection[str] = (),
    worker: Worker | None = None,
    report: Callable[[int, int, CheckTarget, Result], None] = lambda *_: None,
    progress: Callable[[str], None] = lambda _: None,
) -> RunResult:
    """Measure every chosen target.

    Args:
        nodes: names, `site` for the controller; all if empty.
        checks: patterns of check ids; all if empty.
        level: contains the checks; None: those of quick and full that put no load on a node.
        only: whether a chosen target is measured.
        jobs: number of parallel processes; None: one for each `NODES_A_PROCESS` nodes, at most the number of cores.
        allow_downtime: pools, and `gateway`, next to which active tests may run.
        worker: a process that has started already.
        report: called for each result with the number of results, the number of targets, target and result.
        progress: called once per second with the active tests that run.

    Raises:
        InputError: a name is unknown, or no check matches the patterns.
    """
    context = build_context(site, today=today)
    everything = targets_of(context)
    named = filter(only, choose(everything, nodes=nodes, checks=checks, level=level))
    chosen = fleet.with_sources(everything, tuple(named))
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
            ends = _run_all(_options(site, content, chosen, level, today, jobs), take, worker)
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
        nodes=tuple(sorted(set(nodes))),
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


def _options(
    site: Site,
    content: Path,
    chosen: Sequence[CheckTarget],
    level: Level | None,
    today: date,
    jobs: int | None,
) -> list[list[str]]:
    """Return the options of pytest per process, without active checks; nodes are distributed round-robin."""
    ids: dict[str, set[str]] = {}
    for target in chosen:
        if not fleet.is_fleet(target) and not target.check.is_active:
            ids.setdefault(target.node, set()).add(target.check.id)
    nodes = list(ids)
    count = min(len(nodes), jobs or min(math.ceil(len(nodes) / NODES_A_PROCESS), os.cpu_count() or 1))
    shared = [
        *(str(SUITE / "test_site.py"), "-q", "-c", str(SUITE / "pytest.ini"), "--rootdir", str(SUITE)),
        *("-p", "sovctl.engine.checks.runner.pytest_plugin", "--sovctl-site", str(site.loaded.path.resolve())),
        *("--sovctl-content", str(content), "--sovctl-state", str(site.state.root.resolve())),
        *("--sovctl-today", today.isoformat(), "--sovctl-level", level or ""),
    ]
    shares = [nodes[start::count] for start in range(count)]
    return [
        [*shared, "--sovctl-nodes", ",".join(share), "--sovctl-checks", ",".join(set.union(*(ids[n] for n in share)))]
        for share in shares
    ]


def _run_all(options: list[list[str]], take: Callable[[Result], None], first: Worker | None) -> list[str]:
    """Run all processes in parallel; return an error message for each, empty if it succeeded.

    Raises:
        KeyboardInterrupt: after the processes were stopped; earlier results were passed to `take`.
    """
    with contextlib.ExitStack() as stack:
        workers = [(index == 0 and first) or Worker() for index in range(len(options))]
        stack.callback(stop, workers)
        for worker, each in zip(workers, options, strict=True):
            worker.begin(each)
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
