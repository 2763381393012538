"""The targets of a site: every check on every node that it applies to, and on the controller."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from ..model.check import Check, Level
from ..model.check_context import CONTROLLER, CheckContext
from ..model.target import CheckTarget
from ..registry import CHECKS


def targets_of(site: CheckContext) -> tuple[CheckTarget, ...]:
    """Return every target, node by node in the order of site.yaml, the controller last."""
    targets = [
        CheckTarget(check, node.name, expectation)
        for _, node in site.context.spec.nodes()
        for check in CHECKS
        for expectation in check.expect(site, node)
    ]
    targets += [
        CheckTarget(check, CONTROLLER, expectation) for check in CHECKS for expectation in check.expect_controller(site)
    ]
    return tuple(targets)


def populations(targets: Iterable[CheckTarget]) -> dict[str, list[str]]:
    """Return the names of all targets by check id, sorted; evidence states them so that a missing record is found."""
    names: dict[str, list[str]] = {}
    for target in targets:
        names.setdefault(target.check.id, []).append(target.name)
    return {check_id: sorted(each) for check_id, each in names.items()}


def choose(
    targets: Iterable[CheckTarget],
    *,
    nodes: Iterable[str] = (),
    checks: Iterable[str] = (),
    level: Level | None = None,
) -> tuple[CheckTarget, ...]:
    """Return the targets on the named nodes whose check id matches a pattern; all if no node or pattern is named.

    Args:
        level: contains their checks; None: all checks of quick and full that put no load on a node.
        nodes: names; `site` is the controller. A check of several nodes needs all of them.
        checks: patterns with `*`, such as `perimeter.*`; former ids match too.
    """
    names, patterns = set(nodes), tuple(checks)
    return tuple(
        target
        for target in targets
        if (not names or names.issuperset(target.nodes))
        and (not patterns or _matches(target.check, patterns))
        and _is_of_level(target.check, level)
    )


def without_target(
    targets: Iterable[CheckTarget], *, checks: Iterable[str] = (), level: Level | None = None
) -> tuple[str, ...]:
    """Return the ids of the checks that `choose` would include, and that have no target on the site."""
    applicable, patterns = {target.check.id for target in targets}, tuple(checks)
    return tuple(
        check.id
        for check in CHECKS
        if check.id not in applicable and (not patterns or _matches(check, patterns)) and _is_of_level(check, level)
    )


def _is_of_level(check: Check[Any], level: Level | None) -> bool:
    if level is None:
        return not check.is_active and check.level is not Level.BURN_IN
    return level.contains(check.level)


def _matches(check: Check[Any], patterns: Iterable[str]) -> bool:
    ids = (check.id, *check.former_ids)
    return any(fnmatchcase(check_id, pattern) for pattern in patterns for check_id in ids)
