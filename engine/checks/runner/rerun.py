"""Runs the population query and the check of a record again, for an auditor. Stores no evidence.

    found = rerun(site, old, raw, today=..., on_nodes=True)
    found.new.verdict, found.is_changed

With `on_nodes` the check runs on the nodes of the target. Otherwise the current declaration of the check judges the
recorded raw output again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from sovctl.compliance.evidence.record import Evidence
from sovctl.compliance.verdict import Verdict
from sovctl.support.errors import InputError

from ...site.site import Site
from ..model.check import Judgement, judge
from ..model.result import output_of, utc_now
from ..model.target import CheckTarget
from ..registry import FORMER_IDS
from .build_context import build_context
from .declaration import declaration_sha256
from .run import run
from .targets import targets_of


@dataclass(frozen=True)
class Rerun:
    """The old and the new result of a record.

    Args:
        declared: targets of the check in the current site.yaml; sorted.
        new: None if site.yaml no longer declares the target.
        ended: UTC.
        is_same_declaration: whether the check has the digest of the record.
        is_same_spec: whether site.yaml has the digest of the record.
    """

    old: Evidence
    declared: tuple[str, ...]
    new: Judgement | None
    ended: str
    is_same_declaration: bool
    is_same_spec: bool

    @property
    def added(self) -> list[str]:
        """Targets that are declared now, and were not."""
        return sorted({*self.declared} - {*self.old.population.declared})

    @property
    def removed(self) -> list[str]:
        """Targets that were declared, and are not now."""
        return sorted({*self.old.population.declared} - {*self.declared})

    @property
    def is_changed(self) -> bool:
        """Whether verdict or population differ from the record."""
        verdict = self.new.verdict if self.new else None
        return verdict is not self.old.verdict or self.declared != self.old.population.declared

    @property
    def blocks(self) -> bool:
        """Whether the new verdict is FAIL or UNKNOWN."""
        return self.new is not None and self.new.verdict.blocks

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "check": self.old.check_id,
            "target": self.old.target,
            "old": {"verdict": self.old.verdict.value, "reason": self.old.reason, "ended": self.old.ended},
            "new": self.new and {"verdict": self.new.verdict.value, "reason": self.new.reason, "ended": self.ended},
            "population": {"declared": list(self.declared), "added": self.added, "removed": self.removed},
            "is_changed": self.is_changed,
            "is_same_declaration": self.is_same_declaration,
            "is_same_spec": self.is_same_spec,
        }


def rerun(site: Site, old: Evidence, raw: bytes, *, today: date, on_nodes: bool) -> Rerun:
    """Return the new result.

    Args:
        raw: raw output of the record.

    Raises:
        InputError: this sovctl has no such check, or the check puts load on a node that serves.
    """
    check_id = FORMER_IDS.get(old.check_id, old.check_id)
    everything = [each for each in targets_of(build_context(site, today=today)) if each.check.id == check_id]
    target = next((each for each in everything if each.name == old.target), None)
    if not everything:
        raise InputError(
            f"no check {old.check_id} with a target in site.yaml",
            where=f"{old.check_id} on {old.target}",
            hint="run `sovctl verify`, which states the checks without a target",
        )
    new = None if target is None else _measured(site, target, today) if on_nodes else _judged(target, raw)
    return Rerun(
        old=old,
        declared=tuple(sorted(each.name for each in everything)),
        new=new,
        ended=utc_now(),
        is_same_declaration=declaration_sha256(type(everything[0].check)) == old.check_sha256,
        is_same_spec=site.loaded.spec_sha256 == old.spec_sha256,
    )


def _judged(target: CheckTarget, raw: bytes) -> Judgement:
    return judge(target.check, output_of(raw), target.expectation)


def _measured(site: Site, target: CheckTarget, today: date) -> Judgement:
    found = run(site, today=today, nodes=target.nodes, checks=[target.check.id], level=target.check.level)
    results = dict(zip((each.id for each in found.targets), found.results, strict=True))
    result = results.get(target.id)
    if found.interrupted:
        raise KeyboardInterrupt
    if result is None:
        return Judgement(Verdict.UNKNOWN, "expected a result of the target, got none")
    return Judgement(result.verdict, result.reason, result.rule)
