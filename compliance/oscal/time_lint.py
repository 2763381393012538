"""Lint of times in OSCAL documents: ranges are in order, and evidence is within its assessment. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from .names import FOREIGN_RESULT
from .package_index import Node, PackageIndex

_ORDER = (("start", "end"), ("published", "last-modified"), ("collected", "expires"))


def lint_times(index: PackageIndex) -> Iterator[str]:
    """Yield the times that are not in order."""
    for node in index.nodes:
        for first, second in _ORDER:
            if second in node.value and _is_before(node.value[second], node.value.get(first)):
                yield f"{node}.{second}: {node.value[second]} is before {first}, {node.value[first]}"
    for result in index.of_kind("results", root="assessment-results"):
        yield from _in_result(result, index)


def _in_result(result: Node, index: PackageIndex) -> Iterator[str]:
    start, end = result.value.get("start"), result.value.get("end")
    for number, each in enumerate(result.value.get("observations", ())):
        if FOREIGN_RESULT in each.get("types", ()):
            continue  # another tool measured it, before or after the run
        where = f"{result}.observations[{number}].collected"
        if _is_before(each["collected"], start):
            yield f"{where}: {each['collected']} is before the start of the result, {start}"
        if _is_before(end, each["collected"]):
            yield f"{where}: {each['collected']} is after the end of the result, {end}"
    modified = index.documents[result.file]["assessment-results"]["metadata"]["last-modified"]
    if _is_before(modified, end, whole_seconds=True):
        yield f"{result}.end: {end} is after the document, {modified}"
    for number, risk in enumerate(result.value.get("risks", ())):
        # The deadline of an open risk can be overdue; an expired waiver must not be in effect.
        if risk.get("status") == "deviation-approved" and _is_before(risk.get("deadline"), start):
            yield f"{result}.risks[{number}].deadline: {risk['deadline']} is before the result, {start}"


def _is_before(first: Any, second: Any, *, whole_seconds: bool = False) -> bool:
    """Return whether a time is before another one; False if one is absent."""
    if not isinstance(first, str) or not isinstance(second, str):
        return False
    early, late = _time(first), _time(second)
    return (early.replace(microsecond=0) < late.replace(microsecond=0)) if whole_seconds else early < late


def _time(text: str) -> datetime:
    """Return a time that the schema has validated; a date is its midnight."""
    found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return found if found.tzinfo else found.replace(tzinfo=UTC)
