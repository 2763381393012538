"""Differences between two reports of one framework: controls by state, and results of checks by verdict. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sovctl.support.errors import InputError

from .document import FORMAT

Document = Mapping[str, Any]
_ABSENT = ""


@dataclass(frozen=True)
class Change:
    """One thing whose word differs.

    Args:
        name: id of a control, or check and target.
        before: state or verdict; empty if it is new.
        after: state or verdict; empty if it is gone.
        reasons: of the later report.
    """

    name: str
    before: str
    after: str
    reasons: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """`new`, `gone` or `changed`."""
        return "new" if not self.before else "gone" if not self.after else "changed"

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "name": self.name,
            "kind": self.kind,
            "before": self.before or None,
            "after": self.after or None,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True)
class Difference:
    """All changes between two reports."""

    before: Document
    after: Document
    controls: tuple[Change, ...]
    """In the order of the later report; gone controls last."""
    results: tuple[Change, ...]
    """By check and target."""

    @property
    def is_empty(self) -> bool:
        """Whether all states and verdicts are equal."""
        return not self.controls and not self.results

    def as_json(self) -> dict[str, Any]:
        """Return the document of `sovctl report diff --json`."""
        return {
            "before": _head(self.before),
            "after": _head(self.after),
            "controls": [each.as_json() for each in self.controls],
            "results": [each.as_json() for each in self.results],
        }


def difference(before: Document, after: Document) -> Difference:
    """Return the changes from one report to another.

    Raises:
        InputError: not a report, or reports of different frameworks.
    """
    for document in (before, after):
        if document.get("format") != FORMAT:
            raise InputError(f"expected a report of format {FORMAT}, got another file")
    names = [document["pack"]["name"] for document in (before, after)]
    if names[0] != names[1]:
        raise InputError(
            f"expected two reports of one framework, got {names[0]} and {names[1]}",
            hint="compare reports of the same framework; `pack` in report.json names it",
        )
    reasons = {each["id"]: tuple(each["reasons"]) for each in after["controls"]}
    return Difference(
        before,
        after,
        _changes(_states(before), _states(after), reasons),
        _changes(_verdicts(before), _verdicts(after), {}),
    )


def _changes(
    before: Mapping[str, str], after: Mapping[str, str], reasons: Mapping[str, tuple[str, ...]]
) -> tuple[Change, ...]:
    return tuple(
        Change(name, before.get(name, _ABSENT), after.get(name, _ABSENT), reasons.get(name, ()))
        for name in dict.fromkeys((*after, *before))
        if before.get(name) != after.get(name)
    )


def _states(document: Document) -> dict[str, str]:
    return {each["id"]: each["state"] for each in document["controls"]}


def _verdicts(document: Document) -> dict[str, str]:
    """Return the verdict by check and target; the record with the highest ledger index counts."""
    items = sorted(document["evidence"], key=lambda item: item["leaf_index"])
    found = {f"{each['record']['check_id']} on {each['record']['target']}": each["record"]["verdict"] for each in items}
    return dict(sorted(found.items()))


def _head(document: Document) -> dict[str, Any]:
    return {
        "run": document["run"]["id"],
        "generated": document["generated"],
        "pack": document["pack"]["name"],
        "pack_sha256": document["pack"]["sha256"],
        "summary": document["summary"],
        "simulated": document["simulated"],
    }
