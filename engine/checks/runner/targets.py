"""Which check looks at what: every (check, target) of a site, and the population of each check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ..definitions.registry import CHECKS
from ..model.check import Check, Expectation
from ..model.check_context import CONTROLLER, Estate


@dataclass(frozen=True)
class Case:
    """One check of one target.

    Args:
        node: name of a node, or `CONTROLLER`.
    """

    check: Check[Any]
    node: str
    expectation: Expectation

    @property
    def target(self) -> str:
        """Node, or `node/subject` where a check looks at one of several things on it: unique within a check."""
        return f"{self.node}/{self.expectation.subject}" if self.expectation.subject else self.node

    @property
    def id(self) -> str:
        """Unique within a site; also the name of the test."""
        return f"{self.target}-{self.check.id}"

    @property
    def is_here(self) -> bool:
        """True when it looks at this controller."""
        return self.node == CONTROLLER


def all_cases(estate: Estate) -> tuple[Case, ...]:
    """Every case, node by node in the order of the file, this controller last."""
    cases = [
        Case(check, node.name, expectation)
        for _, node in estate.context.spec.nodes()
        for check in CHECKS
        for expectation in check.expect(estate, node)
    ]
    cases += [Case(check, CONTROLLER, expectation) for check in CHECKS for expectation in check.expect_here(estate)]
    return tuple(cases)


def populations(cases: Iterable[Case]) -> dict[str, list[str]]:
    """Targets by check id, sorted: all of them, whatever part of them a run looks at."""
    targets: dict[str, list[str]] = {}
    for case in cases:
        targets.setdefault(case.check.id, []).append(case.target)
    return {check_id: sorted(names) for check_id, names in targets.items()}


def choose(cases: Iterable[Case], *, nodes: Iterable[str] = (), checks: Iterable[str] = ()) -> tuple[Case, ...]:
    """Cases of the named nodes whose check id fits one of the patterns; everything where nothing is named.

    Args:
        nodes: names; `site` is this controller.
        checks: patterns with `*`, such as `perimeter.*`.
    """
    names, patterns = set(nodes), tuple(checks)
    return tuple(
        case
        for case in cases
        if (not names or case.node in names)
        and (not patterns or any(fnmatchcase(case.check.id, pattern) for pattern in patterns))
    )
