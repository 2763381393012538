"""Autoscaling inside an approved standing plan: one decision at a time, recorded before its first step.

- Signatures, expiry and terms of the plan are checked before every decision.
- A move is a ledger record before its first step, and another one after its last; the state is written before and
  after each step. A run that was killed is continued by the next one.
- A step that is not confirmed ends the run; its replica stays pending, which holds its pool and its GPUs.

    run = ScalingRun(site, metrics=Prometheus(url), actuator=actuator, clock=lambda: datetime.now(UTC))
    run.once()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sovctl.support.errors import PlanStale, SovctlError
from sovctl.support.operator_name import operator_name

from ..scaling.decision import Decision, Observed, Rules, decide
from ..scaling.fleet import Fleet, LastMove, Move, Phase
from ..scaling.loads import Sample
from ..scaling.observed import observe
from ..scaling.positions import ReplicaId
from ..site.site import Site
from . import plan_file, state
from .actuator import Actuator
from .metrics import Metrics, RecordedLine
from .plan_file import StandingPlan
from .terms import Terms, calendar, rules, terms_of

MOVE, MOVED, FAILED, ALERT = "scaling-move", "scaling-moved", "scaling-failed", "scaling-alert"
"""Types of ledger records."""


@dataclass(frozen=True)
class Step:
    """One decision and its time."""

    time: datetime
    decision: Decision


def plan_in_effect(site: Site, now: datetime) -> StandingPlan:
    """Return the standing plan of a site.

    Raises:
        InputError: no plan.
        PlanStale: it is not in effect.
    """
    plan = plan_file.read(site.state.root)
    assert site.spec.scaling is not None
    terms = terms_of(site.spec, site.loaded.catalog)
    approvers = site.spec.scaling.approvers
    if reason := plan_file.problem(plan, terms, approvers=approvers, today=now.astimezone(UTC).date()):
        raise PlanStale(reason, where=plan_file.FILE, hint="sovctl scaling plan, then sovctl scaling approve")
    return plan


class ScalingRun:
    """Decisions of one site. The caller holds the site's lock during each call.

    Args:
        site: with a section `scaling`.
        actuator: None only decides (dry run): nothing is changed or recorded.
        clock: returns the time, UTC.
    """

    def __init__(
        self, site: Site, *, metrics: Metrics, actuator: Actuator | None, clock: Callable[[], datetime]
    ) -> None:
        self._site, self._metrics, self._actuator, self._clock = site, metrics, actuator, clock

    def once(self) -> Step:
        """Finish pending steps, decide, and carry out the moves.

        Raises:
            InputError: no plan, or an unreadable state.
            PlanStale: the plan is not in effect.
            SovctlError: a step was not confirmed.
        """
        plan = plan_in_effect(self._site, self._clock())
        current = state.load(self._site.state.root, plan.terms)
        made = rules(plan.terms)
        if self._actuator is not None:
            current = self._finish(plan, made, current, self._actuator)
        now = self._clock()
        now_s = now.timestamp()
        samples, problem = self._samples(plan.terms, made, now_s)
        seen = _observed(plan.terms, made, current.fleet, samples, now)
        decision = decide(made, current.fleet, seen, now_s=now_s)
        if problem:
            decision = replace(decision, alerts={**decision.alerts, "metrics": problem})
        step = Step(now, decision)
        if self._actuator is None:
            return step
        current = self._record_alerts(plan, current, decision.alerts)
        for move in decision.moves:
            current = self._begin(plan, current, move, now)
            current = self._finish(plan, made, current, self._actuator)
        return step

    def _samples(self, terms: Terms, made: Rules, now_s: float) -> tuple[list[Sample], str]:
        """Return the samples of the longest window; with a failed source, an empty list and the reason."""
        interval_s = float(terms["interval_s"])
        length_s = max(rule.scale_down_after_s for rule in made.pools) + 2 * interval_s
        try:
            return self._metrics.samples(now_s - length_s, now_s, interval_s), ""
        except SovctlError as error:
            return [], error.message

    def _begin(self, plan: StandingPlan, current: state.ScalingState, move: Move, now: datetime) -> state.ScalingState:
        self._record(plan, MOVE, **_fields(move), reason=move.reason)
        changed = state.with_fleet(current, current.fleet.after(move, now_s=now.timestamp()))
        state.save(self._site.state.root, changed)
        return changed

    def _finish(
        self, plan: StandingPlan, made: Rules, current: state.ScalingState, actuator: Actuator
    ) -> state.ScalingState:
        """Carry out pending steps: releases first, then starts whose GPUs are free."""
        done: list[str] = []
        for replica in _in_phase(current.fleet, Phase.DRAINING):
            self._call(plan, "release", replica, actuator)
            current = self._reached(current, replica, Phase.IDLE)
            done.append(f"released {replica}")
        for replica in _in_phase(current.fleet, Phase.WAITING, Phase.STARTING):
            if current.fleet.blockers(replica, made.positions):
                continue  # not reachable while releases succeed; a start would share GPUs
            current = self._reached(current, replica, Phase.STARTING)
            self._call(plan, "start", replica, actuator)
            current = self._reached(current, replica, Phase.AWAKE)
            done.append(f"started {replica}")
        if done:
            self._record(plan, MOVED, steps=done)
        return current

    def _call(self, plan: StandingPlan, action: str, replica: ReplicaId, actuator: Actuator) -> None:
        try:
            (actuator.release if action == "release" else actuator.start)(replica)
        except SovctlError as error:
            self._record(plan, FAILED, action=action, replica=str(replica), error=error.message)
            raise

    def _reached(self, current: state.ScalingState, replica: ReplicaId, phase: Phase) -> state.ScalingState:
        changed = state.with_fleet(current, current.fleet.with_phase(replica, phase))
        state.save(self._site.state.root, changed)
        return changed

    def _record_alerts(
        self, plan: StandingPlan, current: state.ScalingState, alerts: Mapping[str, str]
    ) -> state.ScalingState:
        """Record the pools with alerts if they changed; texts have figures that change with every decision."""
        if set(alerts) != set(current.alerts):
            self._record(plan, ALERT, alerts=dict(alerts))
            current = replace(current, alerts=dict(alerts))
            state.save(self._site.state.root, current)
        return current

    def _record(self, plan: StandingPlan, kind: str, **fields: Any) -> None:
        head = {"type": kind, "time": f"{self._clock():%Y-%m-%dT%H:%M:%SZ}", "operator": operator_name()}
        self._site.record([{**head, "site": self._site.spec.site.name, "plan_sha256": plan.sha256, **fields}])


def replay(terms: Terms, lines: Sequence[RecordedLine]) -> Iterator[tuple[datetime, Decision]]:
    """Yield the decisions over a recording. A decided move changes the cooldown, not the recorded replicas."""
    made = rules(terms)
    last: dict[str, LastMove] = {}
    samples = [line.sample for line in lines]
    history_s = max(rule.scale_down_after_s for rule in made.pools) + 2 * float(terms["interval_s"])
    first = 0
    for number, line in enumerate(lines):
        now_s = line.sample.time_s
        while samples[first].time_s < now_s - history_s:
            first += 1
        phases = {each: Phase.AWAKE if each in line.serving else Phase.IDLE for each in made.positions}
        fleet, now = Fleet(phases, last), datetime.fromtimestamp(now_s, UTC)
        seen = _observed(terms, made, fleet, samples[first : number + 1], now)
        decision = decide(made, fleet, seen, now_s=now_s)
        for move in decision.moves:
            last = {**last, **fleet.after(move, now_s=now_s).last}
        yield now, decision


def _observed(terms: Terms, made: Rules, fleet: Fleet, samples: Sequence[Sample], now: datetime) -> dict[str, Observed]:
    return observe(
        made,
        calendar(terms),
        fleet,
        samples,
        now=now,
        now_s=now.timestamp(),
        window_s=float(terms["window_s"]),
        interval_s=float(terms["interval_s"]),
    )


def _in_phase(fleet: Fleet, *phases: Phase) -> list[ReplicaId]:
    return sorted(each for each, phase in fleet.phases.items() if phase in phases)


def _fields(move: Move) -> dict[str, Any]:
    return {"releases": [str(each) for each in move.releases], "start": str(move.start) if move.start else ""}
