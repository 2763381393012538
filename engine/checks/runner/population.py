"""Populations of a run: declared, sampled and discovered targets of each check. Pure."""

from __future__ import annotations

from collections.abc import Collection

from sovctl.compliance.evidence.record import WHOLE, Population

from ..model.target import CheckTarget
from . import fleet
from .run import RunResult

QUERY = "targets that the declaration of the check expects in site.yaml; run again by `sovctl evidence rerun`"
DISCOVERY = (
    "targets whose nodes answered a probe of this run, and nodes that sovctl manages and site.yaml no longer declares"
)


def populations_of(run: RunResult, *, removed: Collection[str]) -> dict[str, Population]:
    """Return the population by check id.

    Args:
        removed: nodes that sovctl manages and site.yaml no longer declares.
    """
    answered = {
        node
        for target, result in zip(run.targets, run.results, strict=True)
        # The exit code of a comparison of nodes does not state whether all of them answered.
        if result.exit_code is not None and not fleet.is_fleet(target)
        for node in target.nodes
    }
    by_check: dict[str, list[CheckTarget]] = {}
    for target in run.targets:
        by_check.setdefault(target.check.id, []).append(target)
    return {check_id: _population(run, check_id, targets, answered, removed) for check_id, targets in by_check.items()}


def _population(
    run: RunResult, check_id: str, targets: Collection[CheckTarget], answered: set[str], removed: Collection[str]
) -> Population:
    declared, sampled = tuple(run.populations[check_id]), tuple(sorted(target.name for target in targets))
    discovered = {target.name for target in targets if answered.issuperset(target.nodes)}
    if any(target.nodes == (target.name,) and not target.is_controller for target in targets):
        discovered |= set(removed)
    return Population.of(
        query=QUERY,
        declared=declared,
        sample_rule=_rule(run, is_whole=sampled == declared),
        sampled=sampled,
        discovery=DISCOVERY,
        discovered=tuple(sorted(discovered)),
    )


def _rule(run: RunResult, *, is_whole: bool) -> str:
    if is_whole:
        return WHOLE
    return f"targets on {', '.join(run.nodes)}" if run.nodes else "targets that the chosen checks compare"
