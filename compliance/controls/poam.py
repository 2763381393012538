"""Plan of action and milestones (POA&M): one row for each open finding or exception, with owner and deadline. Pure.

Rules:
- A row is a check with FAIL (`finding`) or without a result (`unmeasured`) that controls of a framework need. The
  number of rows does not depend on the number of controls.
- The deadline counts from the first failure in the history of the ledger, so that a new run does not postpone it.
- Targets that a waiver in effect covers have a row of their own (`waived`), whose deadline is the waiver's expiry.
- Looser limits and firewall exceptions of site.yaml are rows of kind `deviation`.
- The id of a row depends only on its kind, check or exception, and targets: it is equal in all reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from enum import StrEnum
from typing import Any

from sovctl.support.canonical_json import digest

from ..evidence.store import StoredEvidence
from ..verdict import Verdict
from .assessment import Assessment, CheckOutcome
from .deadlines import DEADLINES, deadline_of
from .exceptions import Waiver

MISSING_OWNER = "MISSING"
"""Owner of a row without an owner in site.yaml."""


class PoamKind(StrEnum):
    """Origin of a row."""

    FINDING = "finding"
    """A check failed."""
    UNMEASURED = "unmeasured"
    """A check has no result on a target, or its evidence expired."""
    WAIVED = "waived"
    """A failure that a second person accepted until a date."""
    DEVIATION = "deviation"
    """A looser limit or a firewall exception of site.yaml, which a second person approved."""


@dataclass(frozen=True)
class CheckFacts:
    """Properties of a check that a row shows."""

    title: str
    severity: str
    """Key of `DEADLINES`."""
    remedy: str


@dataclass(frozen=True)
class Deviation:
    """An approved exception of site.yaml that no check reports as a failure."""

    id: str
    """Place in site.yaml, such as `verify.waivers: disk.free-space.least`."""
    title: str
    reason: str
    owner: str
    approved_by: str
    expires: date


@dataclass(frozen=True)
class Terms:
    """Properties of checks, and owners, deadlines and exceptions of a site.

    Args:
        facts: by check id; a check without facts counts as critical, because its severity is unknown.
        owners: by check id, topic such as `disk.*`, or `*`.
        deadline_days: by severity; shorter than the defaults.
        deviations: approved exceptions of site.yaml.
        first_failed: UTC day by check id and target; absent: the day of its evidence.
    """

    facts: Mapping[str, CheckFacts] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    deadline_days: Mapping[str, int] = field(default_factory=dict)
    deviations: Sequence[Deviation] = ()
    first_failed: Mapping[tuple[str, str], date] = field(default_factory=dict)

    def with_check_ids(self, names: Mapping[str, str]) -> Terms:
        """Return the terms with check ids of `facts` replaced, `names` being the new id by the old one."""
        return replace(self, facts={names.get(check, check): each for check, each in self.facts.items()})

    def owner_of(self, check_id: str) -> str:
        """Return the owner of the findings of a check, or `MISSING_OWNER`."""
        topic = check_id.partition(".")[0]
        found = (self.owners.get(key) for key in (check_id, f"{topic}.*", "*"))
        return next((owner for owner in found if owner), MISSING_OWNER)


@dataclass(frozen=True)
class PoamItem:
    """One row. All fields are plain values, so that every rendering shows the same."""

    id: str
    """Such as `POAM-3f9c1a2b4d5e`."""
    kind: PoamKind
    title: str
    controls: tuple[tuple[str, str], ...]
    """Framework and control id; sorted."""
    check: str
    """Check id; empty for a deviation."""
    targets: tuple[str, ...]
    """Sorted."""
    severity: str
    """Key of `DEADLINES`; empty for a deviation."""
    owner: str
    """`MISSING` if site.yaml names none."""
    detected: date
    """Day of the first failure of the targets, or of the report for a deviation."""
    deadline: date
    """Last day for closing it; the expiry of a waiver or deviation."""
    is_overdue: bool
    reasons: tuple[str, ...]
    remedy: str
    evidence: tuple[str, ...]
    """SHA-256 of the records, in the order of the targets; empty without records."""
    waiver: str
    """Id of the waiver; empty without one."""
    requested_by: str
    approved_by: str
    compensating: str
    simulated: bool

    def as_json(self) -> dict[str, Any]:
        """Return the row as plain JSON values."""
        values = asdict(self)
        values["kind"] = self.kind.value
        values["controls"] = [{"pack": pack, "control": control} for pack, control in self.controls]
        return values | {name: getattr(self, name).isoformat() for name in ("detected", "deadline")}


def plan_of_action(assessments: Iterable[Assessment], *, on: date, terms: Terms) -> tuple[PoamItem, ...]:
    """Return the rows of a run, the earliest deadline first.

    Args:
        assessments: of one run, one for each framework.
        on: today (UTC).
    """
    outcomes: dict[str, CheckOutcome] = {}
    controls: dict[str, set[tuple[str, str]]] = {}
    waivers: dict[str, dict[str, Waiver]] = {}
    needed: set[str] = set()
    for assessment in assessments:
        for result in assessment.results:
            for check in result.checks:
                outcomes[check.check_id] = check
                controls.setdefault(check.check_id, set()).add((assessment.pack.name, result.control.id))
                if result.state.is_decided:
                    needed.add(check.check_id)
            for waiver in result.waivers:
                waivers.setdefault(waiver.check, {})[waiver.id] = waiver
    rows = [_of_deviation(each, on) for each in terms.deviations]
    for check_id, outcome in outcomes.items():
        builder = _Builder(check_id, outcome, tuple(sorted(controls[check_id])), terms, on)
        rows += builder.rows(list(waivers.get(check_id, {}).values()))
        if not outcome.population and check_id in needed:
            rows.append(builder.row(PoamKind.UNMEASURED, [], missing=[]))
    return tuple(sorted(rows, key=lambda row: (row.deadline, _rank(row.severity), row.check, row.id)))


def _rank(severity: str) -> int:
    return list(DEADLINES).index(severity) if severity in DEADLINES else len(DEADLINES)


@dataclass(frozen=True)
class _Builder:
    check_id: str
    outcome: CheckOutcome
    controls: tuple[tuple[str, str], ...]
    terms: Terms
    on: date

    @property
    def facts(self) -> CheckFacts | None:
        return self.terms.facts.get(self.check_id)

    def rows(self, waivers: Sequence[Waiver]) -> list[PoamItem]:
        failed = {r.evidence.target: r for r in reversed(self.outcome.records) if r.evidence.verdict is Verdict.FAIL}
        found = []
        open_targets = set(failed)
        for waiver in sorted(waivers, key=lambda each: each.id):
            own = open_targets & set(waiver.targets)
            open_targets -= own
            if own:
                found.append(self.row(PoamKind.WAIVED, [failed[target] for target in sorted(own)], waiver=waiver))
        if open_targets:
            found.append(self.row(PoamKind.FINDING, [failed[target] for target in sorted(open_targets)]))
        unknown = {r.evidence.target: r for r in self.outcome.records if r.evidence.verdict is Verdict.UNKNOWN}
        expired = {r.evidence.target: r for r in self.outcome.stale}
        missing = set(self.outcome.missing) - expired.keys()
        if lacking := (unknown.keys() | expired.keys() | missing) - failed.keys():
            records = [record for target in sorted(lacking) if (record := unknown.get(target) or expired.get(target))]
            found.append(self.row(PoamKind.UNMEASURED, records, missing=tuple(sorted(missing - failed.keys()))))
        return found

    def row(
        self,
        kind: PoamKind,
        records: Sequence[StoredEvidence],
        *,
        waiver: Waiver | None = None,
        missing: Sequence[str] = (),
    ) -> PoamItem:
        targets = tuple(sorted({*missing, *(record.evidence.target for record in records)}))
        severity = self.facts.severity if self.facts else next(iter(DEADLINES))
        detected = min(
            [self.terms.first_failed.get((self.check_id, r.evidence.target), _day(r)) for r in records]
            + [self.terms.first_failed.get((self.check_id, target), self.on) for target in missing],
            default=self.on,
        )
        deadline = waiver.expires if waiver else deadline_of(severity, detected, self.terms.deadline_days)
        expired = {record.sha256 for record in self.outcome.stale}
        return PoamItem(
            id=_id(kind, self.check_id, targets),
            kind=kind,
            title=self.facts.title if self.facts else self.check_id,
            controls=self.controls,
            check=self.check_id,
            targets=targets,
            severity=severity,
            owner=self.terms.owner_of(self.check_id),
            detected=detected,
            deadline=deadline,
            is_overdue=deadline < self.on,
            reasons=(
                *(
                    f"{r.evidence.target}: evidence expired at {r.evidence.expires}"
                    if r.sha256 in expired
                    else f"{r.evidence.target}: {r.evidence.reason}"
                    for r in records
                ),
                *(f"{target}: no record" for target in missing),
                *(() if targets else ("the check was never run",)),
            ),
            remedy=self.facts.remedy if self.facts else "",
            evidence=tuple(record.sha256 for record in records),
            waiver=waiver.id if waiver else "",
            requested_by=waiver.requested_by if waiver else "",
            approved_by=waiver.approved_by if waiver else "",
            compensating=waiver.compensating if waiver else "",
            simulated=any(record.evidence.simulated for record in records),
        )


def _of_deviation(each: Deviation, on: date) -> PoamItem:
    return PoamItem(
        id=_id(PoamKind.DEVIATION, each.id, ()),
        kind=PoamKind.DEVIATION,
        title=each.title,
        controls=(),
        check="",
        targets=(),
        severity="",
        owner=each.owner or MISSING_OWNER,
        detected=on,
        deadline=each.expires,
        is_overdue=each.expires < on,
        reasons=(each.reason,),
        remedy="remove the exception from site.yaml, or have it approved again before it ends",
        evidence=(),
        waiver=each.id,
        requested_by=each.owner,
        approved_by=each.approved_by,
        compensating="",
        simulated=False,
    )


def _day(record: StoredEvidence) -> date:
    return date.fromisoformat(record.evidence.ended[:10])


def _id(kind: PoamKind, name: str, targets: Sequence[str]) -> str:
    return f"POAM-{digest({'kind': kind.value, 'name': name, 'targets': list(targets)})[:12]}"
