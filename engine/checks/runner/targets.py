"""The targets of a site: every check on every node that it applies to, and on the controller."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from ...spec.verify import Verify
from ..model.check import Check, Level, SiteLimit
from ..model.check_context import CONTROLLER, CheckContext
from ..model.target import CheckTarget
from ..registry import CHECKS


def targets_of(site: CheckContext) -> tuple[CheckTarget, ...]:
    """Return every target, node by node in the order of site.yaml, the controller last."""
    limits = {check.id: _limits_of(check, site.context.spec.verify) for check in CHECKS}
    targets = [
        CheckTarget(check, node.name, replace(expectation, limits=limits[check.id]))
        for _, node in site.context.spec.nodes()
        for check in CHECKS
        for expectation in check.expect(site, node)
    ]
    targets += [
        CheckTarget(check, CONTROLLER, replace(expectation, limits=limits[check.id]))
        for check in CHECKS
        for expectation in check.expect_controller(site)
    ]
    return tuple(targets)


def _limits_of(check: Check[Any], verify: Verify) -> tuple[SiteLimit, ...]:
    """Return the site's values of limits of a check, or of all checks of its topic."""
    waivers = {each.limit: str(each) for each in verify.waivers}
    return tuple(
        SiteLimit(name, value, waivers.get(name, ""))
        for name, value in verify.limits.items()
        if name.rpartition(".")[0] in (check.id, check.id.partition(".")[0])
    )


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
