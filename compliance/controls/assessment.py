"""Evidence and framework in, one of seven states for every control out. Pure.

Rules kept here:
- nothing that was not run ever counts as passed: without evidence a control is `not-run`, with some of its checks or
  targets missing it is `error`;
- among several records of a check on one target the worst counts, so that asking again until it passes is no help;
- `n-a` only when every record of every check says N/A;
- a control touched by simulated hardware says so.

Precedence: fail, error, waived, n-a, pass. A waiver covers failures only, never what is unknown; an attestation
covers only controls that no check speaks to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from ..evidence.store import StoredEvidence
from ..verdict import Verdict
from .exceptions import Attestation, Exceptions, Waiver
from .framework import Control, Pack

WORST_FIRST = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.WARN, Verdict.PASS, Verdict.NOT_APPLICABLE)


class ControlState(StrEnum):
    """What the evidence says of one control."""

    FAIL = "fail"
    ERROR = "error"
    WAIVED = "waived"
    PASS = "pass"
    ATTESTED = "attested"
    NOT_APPLICABLE = "n-a"
    NOT_RUN = "not-run"

    @property
    def is_decided(self) -> bool:
        """True when somebody or something looked, whatever came of it."""
        return self is not ControlState.NOT_RUN


# How a summary counts them up: what is good first, then what is not.
SUMMARY_ORDER = (
    ControlState.PASS,
    ControlState.FAIL,
    ControlState.ERROR,
    ControlState.WAIVED,
    ControlState.ATTESTED,
    ControlState.NOT_APPLICABLE,
)


@dataclass(frozen=True)
class CheckOutcome:
    """One check, as one control sees it."""

    check_id: str
    records: tuple[StoredEvidence, ...]
    """By target, the worst first; empty when the check was not run."""
    missing: tuple[str, ...]
    """Targets of the population without a record; sorted."""

    @property
    def verdict(self) -> Verdict | None:
        """The worst over all targets; None when the check was not run."""
        if not self.records:
            return None
        found = {record.evidence.verdict for record in self.records} | ({Verdict.UNKNOWN} if self.missing else set())
        return min(found, key=WORST_FIRST.index)

    def failed_targets(self) -> tuple[str, ...]:
        """Targets with a FAIL, sorted."""
        return tuple(sorted({r.evidence.target for r in self.records if r.evidence.verdict is Verdict.FAIL}))


@dataclass(frozen=True)
class ControlResult:
    """One control, decided or not."""

    control: Control
    state: ControlState
    reasons: tuple[str, ...]
    """Why it is not simply passed; empty for pass and not-run."""
    checks: tuple[CheckOutcome, ...]
    """In the order of the map; empty when no check speaks to it."""
    waivers: tuple[Waiver, ...]
    """Those that count today and cover a failure here."""
    attestation: Attestation | None
    simulated: bool

    @property
    def warnings(self) -> int:
        """Records that passed with a warning."""
        return sum(r.evidence.verdict is Verdict.WARN for check in self.checks for r in check.records)


@dataclass(frozen=True)
class Assessment:
    """A whole framework against one run's evidence."""

    pack: Pack
    results: tuple[ControlResult, ...]
    """One per control, in the framework's order."""

    def counts(self) -> dict[ControlState, int]:
        """Controls by state, every state present."""
        states = [result.state for result in self.results]
        return {state: states.count(state) for state in ControlState}

    def sentence(self) -> str:
        """The summary, coverage first: "23 of 287 decided: 20 pass, 1 fail, 2 error; 264 not run"."""
        counts = self.counts()
        parts = [
            f"{counts[state]} {state}"
            for state in SUMMARY_ORDER
            if counts[state] or state in (ControlState.PASS, ControlState.FAIL, ControlState.ERROR)
        ]
        decided = sum(number for state, number in counts.items() if state.is_decided)
        return f"{decided} of {len(self.results)} decided: {', '.join(parts)}; {counts[ControlState.NOT_RUN]} not run"

    @property
    def simulated(self) -> bool:
        """True when any control rests on simulated hardware."""
        return any(result.simulated for result in self.results)


def assess(
    pack: Pack, records: Iterable[StoredEvidence], *, on: date, exceptions: Exceptions | None = None
) -> Assessment:
    """Decide every control of `pack`.

    Args:
        records: one run's evidence, verified.
        on: today, UTC; waivers and attestations count or not on this day.
    """
    by_check: dict[str, list[StoredEvidence]] = {}
    for record in records:
        by_check.setdefault(record.evidence.check_id, []).append(record)
    outcomes = {check: outcome_of(check, found) for check, found in by_check.items()}
    exceptions = exceptions or Exceptions()
    return Assessment(pack, tuple(_decide(control, outcomes, exceptions, on) for control in pack.controls))


def outcome_of(check_id: str, records: Sequence[StoredEvidence]) -> CheckOutcome:
    """All records of one check, ordered, with the targets nobody looked at."""
    population = {target for record in records for target in record.evidence.population}
    seen = {record.evidence.target for record in records}
    ordered = sorted(records, key=lambda r: (WORST_FIRST.index(r.evidence.verdict), r.evidence.target, r.leaf_index))
    return CheckOutcome(check_id, tuple(ordered), tuple(sorted(population - seen)))


def _decide(control: Control, outcomes: dict[str, CheckOutcome], exceptions: Exceptions, on: date) -> ControlResult:
    if control.mapping is None:
        return _attested_or_not_run(control, exceptions, on)
    checks = tuple(outcomes.get(check, CheckOutcome(check, (), ())) for check in control.mapping.checks)
    waivers = tuple(
        waiver
        for waiver in exceptions.waivers
        if waiver.control == control.id
        and waiver.counts_on(on)
        and any(
            waiver.check == check.check_id and set(waiver.targets) & set(check.failed_targets()) for check in checks
        )
    )
    state = _state(checks, waivers)
    return ControlResult(
        control=control,
        state=state,
        reasons=() if state is ControlState.NOT_RUN else tuple(_reasons(checks, waivers)),
        checks=checks,
        waivers=waivers,
        attestation=None,
        simulated=any(record.evidence.simulated for check in checks for record in check.records),
    )


def _attested_or_not_run(control: Control, exceptions: Exceptions, on: date) -> ControlResult:
    valid = [each for each in exceptions.attestations if each.control == control.id and each.counts_on(on)]
    attestation = max(valid, key=lambda each: each.attested) if valid else None
    state = ControlState.ATTESTED if attestation else ControlState.NOT_RUN
    return ControlResult(control, state, (), (), (), attestation, simulated=False)


def _state(checks: Sequence[CheckOutcome], waivers: Sequence[Waiver]) -> ControlState:
    if not any(check.records for check in checks):
        return ControlState.NOT_RUN
    failed = {(check.check_id, target) for check in checks for target in check.failed_targets()}
    if failed - _covered(waivers):
        return ControlState.FAIL
    if any(_is_unknown(check) for check in checks):
        return ControlState.ERROR
    if failed:
        return ControlState.WAIVED
    if all(check.verdict is Verdict.NOT_APPLICABLE for check in checks):
        return ControlState.NOT_APPLICABLE
    return ControlState.PASS


def _covered(waivers: Iterable[Waiver]) -> set[tuple[str, str]]:
    return {(waiver.check, target) for waiver in waivers for target in waiver.targets}


def _is_unknown(check: CheckOutcome) -> bool:
    """Not run at all, or not on every target, or without an answer on one."""
    unanswered = any(record.evidence.verdict is Verdict.UNKNOWN for record in check.records)
    return not check.records or bool(check.missing) or unanswered


def _reasons(checks: Sequence[CheckOutcome], waivers: Sequence[Waiver]) -> Iterable[str]:
    covered = _covered(waivers)
    for check in checks:
        if not check.records:
            yield f"{check.check_id}: not run"
        for record in check.records:
            evidence = record.evidence
            if evidence.verdict.blocks:
                waived = " (waived)" if (check.check_id, evidence.target) in covered else ""
                yield f"{check.check_id} on {evidence.target}: {evidence.verdict}{waived}: {evidence.reason}"
        for target in check.missing:
            yield f"{check.check_id} on {target}: expected a record, got none"
