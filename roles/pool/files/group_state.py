"""State machine of a group: the ranks of one replica on several nodes start together and stop together. Pure.

    step(member, Observation(now_s=12.0, unit_runs=False, digest="ab12", is_ready=False, reports={1: report}))

A rank is `down`, `waiting` for a generation to start, or `running` it. Rules:

- The head (rank 0) creates a generation: a number above every number that it has received. The others adopt it while
  the head waits, and each rank adopts a number once, so that a rank never starts twice in one generation.
- A rank starts if all ranks wait for its generation or run it, and all report the same digest of the weights.
- A running rank goes down if its unit ends, if another rank reports another generation, was restarted or was silent for
  `SILENCE_S`, or if the head is not ready in time. The side without the head therefore stops, too.
- After a failure the head waits before it creates a generation: 5 s, doubled each time, at most 120 s. The time limit
  of a start grows with the failures, up to four times, so that nodes slower than estimated serve in the end.

Never two generations run at the same time: a rank of generation N started after every rank had reported N, and numbers
of a rank only increase until its agent restarts, which stops its unit first.

Python 3.9, standard library only: the file runs on nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

DOWN, WAITING, RUNNING = "down", "waiting", "running"
START, STOP, KILL = "start", "stop", "kill"
HEAD = 0
SILENCE_S = 15.0
"""Time without a report after which a rank counts as unreachable."""
KILL_AFTER_S = 5.0
"""Time for a unit to stop before it is killed. A group that failed has no request that can finish, and vLLM would wait
60 s for each of them."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 120.0
LONGEST_START = 4
"""Limit of the growth of `start_timeout_s`."""
STABLE_S = 600.0
"""Time of readiness after which earlier failures no longer lengthen the pause."""


@dataclass(frozen=True)
class Report:
    """Report of an agent to the others.

    Args:
        boot: random text of this start of the agent.
        generation: highest number that the rank has adopted; 0 without one.
        digest: of the verified weights; empty if a model is not verified.
        received_s: clock of the receiver.
    """

    rank: int
    boot: str
    state: str
    generation: int
    digest: str
    received_s: float = 0.0


@dataclass(frozen=True)
class Observation:
    """Observation of an agent.

    Args:
        now_s: monotonic clock.
        unit_runs: whether the unit has processes, also while it starts or stops.
        is_ready: whether the server is ready; measured by the head only.
        reports: last report of each other rank; ranks without one are absent.
    """

    now_s: float
    unit_runs: bool
    digest: str
    is_ready: bool
    reports: Mapping[int, Report]


@dataclass(frozen=True)
class Member:
    """State of one rank.

    Args:
        size: number of ranks.
        start_timeout_s: time from the start until the head is ready, before the first failure.
        since_s: clock at the last change of the state.
        boots: `boot` of the other ranks when this rank started, by rank.
        ready_s: clock when the head became ready; None before.
        failures: generations that failed in a row; at the head only.
        reason: of the present state, for the log and for people.
        stop_sent, kill_sent: whether the unit was already stopped or killed in this state.
    """

    rank: int
    size: int
    boot: str
    start_timeout_s: float
    state: str = DOWN
    generation: int = 0
    since_s: float = 0.0
    digest: str = ""
    boots: tuple[tuple[int, str], ...] = ()
    ready_s: float | None = None
    failures: int = 0
    reason: str = "the agent started"
    stop_sent: bool = False
    kill_sent: bool = False

    def report(self) -> Report:
        """Return the report to the other ranks."""
        return Report(self.rank, self.boot, self.state, self.generation, self.digest)


def step(member: Member, seen: Observation) -> tuple[Member, str | None]:
    """Return the next state, and the action on the unit: START, STOP, KILL or None."""
    member = replace(member, digest=seen.digest)
    if member.state == RUNNING:
        return _while_running(member, seen)
    if seen.unit_runs:  # a unit that this agent did not start, or that still stops
        if member.state == WAITING:
            return _down(member, seen, "the unit runs without its group"), STOP
        return _while_stopping(member, seen)
    member = _create_generation(member, seen) if member.rank == HEAD else _adopt_generation(member, seen)
    if member.state == WAITING:
        return _start_together(member, seen)
    return member, None


def pause_s(failures: int) -> float:
    """Return the pause before the next generation, seconds: 0 before the first failure."""
    return min(FIRST_PAUSE_S * 2.0 ** min(failures - 1, 10), LONGEST_PAUSE_S) if failures else 0.0


def _while_running(member: Member, seen: Observation) -> tuple[Member, str | None]:
    reason = _reason_to_stop(member, seen)
    if reason:
        return _down(member, seen, reason), STOP if seen.unit_runs else None
    if member.ready_s is None and seen.is_ready:
        member = replace(member, ready_s=seen.now_s, reason="ready")
    if member.failures and member.ready_s is not None and seen.now_s - member.ready_s >= STABLE_S:
        member = replace(member, failures=0)
    return member, None


def _reason_to_stop(member: Member, seen: Observation) -> str:
    if not seen.unit_runs:
        return "the unit ended"
    started = dict(member.boots)
    limit_s = member.start_timeout_s * min(1 + member.failures, LONGEST_START)
    is_late = seen.now_s - member.since_s >= limit_s
    for rank in _others(member):
        report = _fresh(seen, rank)
        if report is None:
            return f"rank {rank} is silent for {SILENCE_S:.0f} s"
        if report.boot != started.get(rank):
            return f"the agent of rank {rank} was restarted"
        if report.generation != member.generation or report.state == DOWN:
            return f"rank {rank} is {report.state} in generation {report.generation}"
        if report.state == WAITING and is_late:
            return f"rank {rank} did not start within {limit_s:.0f} s"
    if member.rank == HEAD and member.ready_s is None and not seen.is_ready and is_late:
        return f"not ready within {limit_s:.0f} s"
    return ""


def _while_stopping(member: Member, seen: Observation) -> tuple[Member, str | None]:
    if not member.stop_sent:
        return replace(member, stop_sent=True, since_s=seen.now_s), STOP
    if not member.kill_sent and seen.now_s - member.since_s >= KILL_AFTER_S:
        return replace(member, kill_sent=True), KILL
    return member, None


def _create_generation(member: Member, seen: Observation) -> Member:
    """Return the head in a new generation, if it needs one, has received all reports and the pause is over."""
    fresh = [_fresh(seen, rank) for rank in _others(member)]
    reports = [report for report in fresh if report is not None]
    if len(reports) < len(fresh):
        return replace(member, reason="not all ranks report")
    if member.state == WAITING:
        # A rank that left this generation, or has a higher number of an earlier head, cannot join any more.
        lost = [each for each in reports if _cannot_join(each, member.generation)]
        if not lost:
            return member
        member = _down(member, seen, f"rank {lost[0].rank} cannot join generation {member.generation}")
    if seen.now_s - member.since_s < pause_s(member.failures):
        return member
    generation = 1 + max(member.generation, *(each.generation for each in reports))
    return _enter(member, seen, WAITING, generation=generation, reason="waiting for the other ranks")


def _cannot_join(report: Report, generation: int) -> bool:
    return report.generation > generation or (report.generation == generation and report.state == DOWN)


def _adopt_generation(member: Member, seen: Observation) -> Member:
    head = _fresh(seen, HEAD)
    if head is None or head.state != WAITING or head.generation <= member.generation:
        return member
    return _enter(member, seen, WAITING, generation=head.generation, reason="waiting for the other ranks")


def _start_together(member: Member, seen: Observation) -> tuple[Member, str | None]:
    fresh = [_fresh(seen, rank) for rank in _others(member)]
    reports = [report for report in fresh if report is not None]
    is_together = len(reports) == len(fresh) and all(
        each.state in (WAITING, RUNNING) and each.generation == member.generation for each in reports
    )
    if not is_together:
        return member, None
    if not member.digest:
        return replace(member, reason="the weights are not verified"), None
    differing = [each.rank for each in reports if each.digest != member.digest]
    if differing:
        return replace(member, reason=f"rank {differing[0]} has other weights"), None
    boots = tuple((each.rank, each.boot) for each in reports)
    return _enter(member, seen, RUNNING, boots=boots, reason="started"), START


def _down(member: Member, seen: Observation, reason: str) -> Member:
    failures = member.failures + 1 if member.rank == HEAD else 0
    return _enter(member, seen, DOWN, reason=reason, failures=failures, stop_sent=True)


def _enter(
    member: Member,
    seen: Observation,
    state: str,
    *,
    reason: str,
    generation: int | None = None,
    boots: tuple[tuple[int, str], ...] = (),
    failures: int | None = None,
    stop_sent: bool = False,
) -> Member:
    return replace(
        member,
        state=state,
        since_s=seen.now_s,
        reason=reason,
        generation=member.generation if generation is None else generation,
        boots=boots,
        failures=member.failures if failures is None else failures,
        ready_s=None,
        stop_sent=stop_sent,
        kill_sent=False,
    )


def _others(member: Member) -> tuple[int, ...]:
    return tuple(rank for rank in range(member.size) if rank != member.rank)


def _fresh(seen: Observation, rank: int) -> Report | None:
    report = seen.reports.get(rank)
    return report if report is not None and seen.now_s - report.received_s < SILENCE_S else None
