"""Assigns one of seven states to every control of a framework from the evidence of a run. Pure.

Rules:
- A control without evidence is `not-run`. A control with evidence for only some of its checks or targets is `error`.
- If a check has several records for one target, the worst counts, so that repeating a check cannot improve its result.
- A control is `n-a` only if every record of every check is N/A.
- Expired evidence counts as absent, so that a control without newer evidence becomes `not-run`. FAIL does not expire.
- A control with evidence from simulated hardware is marked `simulated`.
- Every result states its coverage: checks and targets with evidence, of all checks and targets of the control.

Precedence: fail, error, waived, n-a, pass. A waiver covers FAIL only, not UNKNOWN. An attestation covers only controls
without checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import StrEnum

from ..evidence.freshness import is_stale
from ..evidence.store import StoredEvidence
from ..verdict import Verdict
from .exceptions import Attestation, Exceptions, Waiver
from .pack import Control, Pack

WORST_FIRST = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.WARN, Verdict.PASS, Verdict.NOT_APPLICABLE)


class ControlState(StrEnum):
    """State of one control."""

    FAIL = "fail"
    ERROR = "error"
    WAIVED = "waived"
    PASS = "pass"
    ATTESTED = "attested"
    NOT_APPLICABLE = "n-a"
    NOT_RUN = "not-run"

    @property
    def is_decided(self) -> bool:
        """Whether there is evidence or an attestation."""
        return self is not ControlState.NOT_RUN


# Order of the states in the summary.
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
    """The records of one check."""

    check_id: str
    records: tuple[StoredEvidence, ...]
    """Worst verdict first, then by target; empty if the check was not run."""
    missing: tuple[str, ...]
    """Targets of the population without a record; sorted."""
    stale: tuple[StoredEvidence, ...] = ()
    """Expired records, which do not count; by target."""

    @property
    def verdict(self) -> Verdict | None:
        """The worst verdict over all targets; None if the check was not run."""
        if not self.records:
            return None
        found = {record.evidence.verdict for record in self.records} | ({Verdict.UNKNOWN} if self.missing else set())
        return min(found, key=WORST_FIRST.index)

    @property
    def measured(self) -> tuple[str, ...]:
        """Targets with a verdict other than UNKNOWN, sorted."""
        unknown = {r.evidence.target for r in self.records if r.evidence.verdict is Verdict.UNKNOWN}
        return tuple(sorted({r.evidence.target for r in self.records} - unknown))

    @property
    def population(self) -> tuple[str, ...]:
        """Targets that have a record or should have one, sorted; empty if the check was never run."""
        records = (*self.records, *self.stale)
        return tuple(sorted({*self.missing, *(r.evidence.target for r in records)}))

    def failed_targets(self) -> tuple[str, ...]:
        """Return the targets with verdict FAIL, sorted."""
        return tuple(sorted({r.evidence.target for r in self.records if r.evidence.verdict is Verdict.FAIL}))


@dataclass(frozen=True)
class Coverage:
    """How much of a control was measured. The denominators count what was not run."""

    checks_run: int
    """Checks with a record that counts."""
    checks: int
    targets_measured: int
    """Targets with a verdict other than UNKNOWN, summed over the checks."""
    targets: int
    """Targets of the populations of the checks that were ever run."""
    stale: int
    """Expired records."""


@dataclass(frozen=True)
class ControlResult:
    """The state of one control, and its reasons."""

    control: Control
    state: ControlState
    reasons: tuple[str, ...]
    """Reasons of the state; empty for pass, and for not-run without expired evidence."""
    checks: tuple[CheckOutcome, ...]
    """In the order of the objectives; empty if the control has no checks."""
    waivers: tuple[Waiver, ...]
    """Waivers in effect that cover a failure of this control."""
    attestation: Attestation | None
    simulated: bool

    @property
    def coverage(self) -> Coverage:
        """Checks and targets with evidence, and their totals."""
        return Coverage(
            checks_run=sum(bool(check.records) for check in self.checks),
            checks=len(self.checks),
            targets_measured=sum(len(check.measured) for check in self.checks),
            targets=sum(len(check.population) for check in self.checks),
            stale=sum(len(check.stale) for check in self.checks),
        )

    @property
    def warnings(self) -> int:
        """Number of records with verdict WARN."""
        return sum(r.evidence.verdict is Verdict.WARN for check in self.checks for r in check.records)


@dataclass(frozen=True)
class Assessment:
    """The states of all controls of a framework for one run."""

    pack: Pack
    results: tuple[ControlResult, ...]
    """One per control, in the order of the framework."""

    def counts(self) -> dict[ControlState, int]:
        """Return the number of controls by state, for all states."""
        states = [result.state for result in self.results]
        return {state: states.count(state) for state in ControlState}

    @property
    def decided(self) -> int:
        """Number of controls with evidence or an attestation."""
        return sum(result.state.is_decided for result in self.results)

    def by_family(self) -> dict[str, dict[ControlState, int]]:
        """Return the number of controls by state, for each family in the order of the framework."""
        found: dict[str, dict[ControlState, int]] = {}
        for result in self.results:
            counts = found.setdefault(result.control.family, dict.fromkeys(ControlState, 0))
            counts[result.state] += 1
        return found

    def sentence(self) -> str:
        """Return the summary: "23 of 287 decided: 20 pass, 1 fail, 2 error; 264 not run"."""
        counts = self.counts()
        parts = [
            f"{counts[state]} {state}"
            for state in SUMMARY_ORDER
            if counts[state] or state in (ControlState.PASS, ControlState.FAIL, ControlState.ERROR)
        ]
        return (
            f"{self.decided} of {len(self.results)} decided: {', '.join(parts)}; {counts[ControlState.NOT_RUN]} not run"
        )

    @property
    def simulated(self) -> bool:
        """Whether the evidence of any control is from simulated hardware."""
        return any(result.simulated for result in self.results)


def assess(
    pack: Pack,
    records: Iterable[StoredEvidence],
    *,
    on: date,
    at: datetime | None = None,
    exceptions: Exceptions | None = None,
) -> Assessment:
    """Assess every control of `pack`.

    Args:
        records: the verified evidence of one run.
        on: today (UTC), to select the waivers and attestations in effect.
        at: current time (UTC), to select the evidence that has not expired; None: the end of the day `on`.
    """
    outcomes = outcomes_of(records, at=at or datetime.combine(on, time.max, UTC))
    exceptions = exceptions or Exceptions()
    exceptions = exceptions.of_pack(pack.name)
    return Assessment(pack, tuple(_decide(control, outcomes, exceptions, on) for control in pack.controls))


def outcomes_of(records: Iterable[StoredEvidence], *, at: datetime) -> dict[str, CheckOutcome]:
    """Return the outcome of each check with a record.

    Args:
        at: current time (UTC), to select the evidence that has not expired.
    """
    by_check: dict[str, list[StoredEvidence]] = {}
    for record in records:
        by_check.setdefault(record.evidence.check_id, []).append(record)
    return {check: outcome_of(check, found, at=at) for check, found in by_check.items()}


def outcome_of(check_id: str, records: Sequence[StoredEvidence], *, at: datetime | None = None) -> CheckOutcome:
    """Return the ordered records of one check, and the targets without a record.

    Args:
        at: current time (UTC); None: no record expires.
    """
    now = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if at else ""
    stale: list[StoredEvidence] = []
    counted: list[StoredEvidence] = []
    for record in records:
        (stale if is_stale(record.evidence.expires, record.evidence.verdict, now) else counted).append(record)
    population = {target for record in records for target in record.evidence.population.declared}
    seen = {record.evidence.target for record in counted}
    ordered = sorted(counted, key=lambda r: (WORST_FIRST.index(r.evidence.verdict), r.evidence.target, r.leaf_index))
    missing = tuple(sorted(population - seen))
    return CheckOutcome(check_id, tuple(ordered), missing, tuple(sorted(stale, key=lambda r: r.evidence.target)))


def _decide(control: Control, outcomes: Mapping[str, CheckOutcome], exceptions: Exceptions, on: date) -> ControlResult:
    if control.mapping is None:
        return _attested_or_not_run(control, exceptions, on)
    checks = tuple(outcomes.get(check, CheckOutcome(check, (), ())) for check in control.mapping.checks)
    waivers = tuple(
        waiver
        for waiver in exceptions.waivers
        if waiver.control == control.id
        and waiver.counts_on(on)
        and not exceptions.problem_of(waiver)
        and any(
            waiver.check == check.check_id and set(waiver.targets) & set(check.failed_targets()) for check in checks
        )
    )
    state = _state(checks, waivers)
    return ControlResult(
        control=control,
        state=state,
        reasons=tuple(_expired(checks) if state is ControlState.NOT_RUN else _reasons(checks, waivers)),
        checks=checks,
        waivers=waivers,
        attestation=None,
        simulated=any(r.evidence.simulated for check in checks for r in (*check.records, *check.stale)),
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
    """Return whether the check has no record for some target, or a record with verdict UNKNOWN."""
    unanswered = any(record.evidence.verdict is Verdict.UNKNOWN for record in check.records)
    return not check.records or bool(check.missing) or unanswered


def _reasons(checks: Sequence[CheckOutcome], waivers: Sequence[Waiver]) -> Iterable[str]:
    covered = _covered(waivers)
    for check in checks:
        if not check.records:
            yield from [f"{check.check_id}: not run"] if not check.stale else _expired([check])
        for record in check.records:
            evidence = record.evidence
            if evidence.verdict.blocks or evidence.verdict is Verdict.WARN:
                waived = " (waived)" if (check.check_id, evidence.target) in covered else ""
                yield f"{check.check_id} on {evidence.target}: {evidence.verdict}{waived}: {evidence.reason}"
        expired = {record.evidence.target for record in check.stale}
        yield from _expired([check]) if check.records else ()
        for target in check.missing:
            if target not in expired:
                yield f"{check.check_id} on {target}: no record"


def _expired(checks: Iterable[CheckOutcome]) -> Iterator[str]:
    for check in checks:
        for record in check.stale:
            evidence = record.evidence
            yield f"{check.check_id} on {evidence.target}: not run since its evidence expired at {evidence.expires}"
