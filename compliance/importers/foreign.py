"""Results of another tool: typed, and always marked as foreign. Pure.

A foreign result is never evidence of a check of sovctl, and decides no control. An explicit mapping can name controls
that it is information for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from sovctl.support.errors import InputError

MAX_RESULTS = 200_000  # a scan of ComplianceAsCode has about 2,000 rules
_MAX_TEXT = 500  # characters of one field


class Outcome(StrEnum):
    """Result of one rule."""

    FAIL = "fail"
    ERROR = "error"
    UNKNOWN = "unknown"
    PASS = "pass"
    NOT_APPLICABLE = "not-applicable"
    NOT_CHECKED = "not-checked"
    INFORMATION = "information"


@dataclass(frozen=True)
class ForeignResult:
    """The result of one rule on one target.

    Args:
        rule: id of the rule in its tool.
        title: name of the rule; empty without one.
        severity: as the tool wrote it, lower case; empty without one.
        target: host, file or package.
    """

    rule: str
    outcome: Outcome
    title: str = ""
    severity: str = ""
    target: str = ""


@dataclass(frozen=True)
class ForeignFile:
    """The content of one file of another tool.

    Args:
        tool: such as `OpenSCAP`.
        version: of the tool; `unknown` if the file does not state it.
        content: name and version of the rules, such as a benchmark or a database; empty without one.
        started, ended: as the tool wrote them; empty without a time.
    """

    format: str
    tool: str
    version: str
    results: tuple[ForeignResult, ...]
    content: str = ""
    started: str = ""
    ended: str = ""

    def counts(self) -> dict[Outcome, int]:
        """Return the number of results by outcome, without zeros."""
        outcomes = [each.outcome for each in self.results]
        return {outcome: outcomes.count(outcome) for outcome in Outcome if outcome in outcomes}


def bounded(found: ForeignFile) -> ForeignFile:
    """Return the file with texts cut to 500 characters and results sorted.

    Raises:
        InputError: more than 200,000 results.
    """
    if len(found.results) > MAX_RESULTS:
        raise InputError(f"expected at most {MAX_RESULTS} results, got {len(found.results)}")
    results = sorted(map(_cut, found.results), key=lambda each: (each.rule, each.target, each.outcome))
    return replace(
        found,
        tool=found.tool[:_MAX_TEXT],
        version=found.version[:_MAX_TEXT],
        content=found.content[:_MAX_TEXT],
        started=found.started[:_MAX_TEXT],
        ended=found.ended[:_MAX_TEXT],
        results=tuple(results),
    )


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the worst outcome; NOT_CHECKED without one."""
    order = list(Outcome)
    return min(outcomes, key=order.index, default=Outcome.NOT_CHECKED)


def _cut(each: ForeignResult) -> ForeignResult:
    return ForeignResult(
        each.rule[:_MAX_TEXT],
        each.outcome,
        each.title[:_MAX_TEXT],
        each.severity[:_MAX_TEXT],
        each.target[:_MAX_TEXT],
    )
