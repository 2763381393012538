"""Order of active tests, and the tests that may start now. Pure.

- Targets with equal commands are one job, which runs once.
- Jobs of a node run one after the other, in the order of `ActiveCheck.order`; a job never overtakes another on a node.
- Jobs run at the same time if they share no node, and their nodes together stay below the power cap. Without a cap,
  one job runs at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...model.active_check import ActiveCheck, ActiveExpectation, NodeCommand, duration_s
from ...model.target import CheckTarget


@dataclass(frozen=True)
class Job:
    """One test, and the targets that its output answers.

    Args:
        nodes: all nodes under load.
        order: lowest `ActiveCheck.order` of the targets.
    """

    targets: tuple[CheckTarget, ...]
    commands: tuple[NodeCommand, ...]
    nodes: tuple[str, ...]
    order: int

    @property
    def name(self) -> str:
        """Name of the first target, and the number of the others."""
        first, more = self.targets[0], len(self.targets) - 1
        return f"{first.name} {first.check.id}" + (f" and {more} more" if more else "")

    @property
    def may_repeat(self) -> bool:
        """Whether a measurement without result is repeated."""
        return all(_active(target)[0].may_repeat for target in self.targets)

    @property
    def duration_s(self) -> int:
        """Time limit of the whole test in seconds."""
        return duration_s(self.commands)


@dataclass(frozen=True)
class PowerBudget:
    """Power of the nodes under test.

    Args:
        cap_kw: `verify.power_cap_kw`; None: one job at a time.
        node_kw: maximum power by node; None if it is unknown.
    """

    cap_kw: float | None
    node_kw: Mapping[str, float | None]

    def refusal(self, job: Job) -> str:
        """Return the reason why a job can never run; empty if it can."""
        if self.cap_kw is None:
            return ""
        if absent := [node for node in job.nodes if self.node_kw.get(node) is None]:
            return (
                f"expected the maximum power of {absent[0]}, got none in the catalogue: set "
                "sizing.racks.node_kw of its group, or omit verify.power_cap_kw to run one test at a time"
            )
        needed = self.of(job.nodes)
        if needed > self.cap_kw:
            return f"expected at most {self.cap_kw:g} kW under test (verify.power_cap_kw), got {needed:g} kW"
        return ""

    def fits(self, job: Job, running: Sequence[Job]) -> bool:
        """Return whether a job may run next to others."""
        if self.cap_kw is None:
            return not running
        return self.of([*job.nodes, *(node for each in running for node in each.nodes)]) <= self.cap_kw

    def of(self, nodes: Iterable[str]) -> float:
        """Return the maximum power of nodes in kW."""
        return sum(self.node_kw.get(node) or 0.0 for node in nodes)


def jobs_of(targets: Iterable[CheckTarget]) -> list[Job]:
    """Return the jobs of active targets, in their order."""
    by_commands: dict[tuple[NodeCommand, ...], list[CheckTarget]] = {}
    for target in targets:
        check, expectation = _active(target)
        by_commands.setdefault(check.commands(expectation), []).append(target)
    jobs = [
        Job(
            targets=tuple(each),
            commands=commands,
            nodes=tuple(dict.fromkeys(node for target in each for node in _active(target)[1].nodes)),
            order=min(_active(target)[0].order for target in each),
        )
        for commands, each in by_commands.items()
    ]
    return sorted(jobs, key=lambda job: job.order)


def startable(waiting: Sequence[Job], running: Sequence[Job], power: PowerBudget) -> list[Job]:
    """Return the jobs that may start now, in their order."""
    started: list[Job] = []
    taken = {node for job in running for node in job.nodes}
    for job in waiting:
        if taken.isdisjoint(job.nodes) and power.fits(job, [*running, *started]):
            started.append(job)
        taken.update(job.nodes)
    return started


def _active(target: CheckTarget) -> tuple[ActiveCheck[ActiveExpectation], ActiveExpectation]:
    assert isinstance(target.check, ActiveCheck)
    assert isinstance(target.expectation, ActiveExpectation)
    return target.check, target.expectation
