"""Types of the table of first steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from .situation import Situation


class State(StrEnum):
    """State of an item, from best to worst."""

    DONE = "done"
    NOT_MEASURED = "not measured"
    NOT_YET = "not yet possible"  # an earlier item is missing
    MISSING = "missing"


class Person(StrEnum):
    """Person of the first week who provides an item."""

    ENGINEER = "platform engineer"
    SECURITY = "security officer"
    NETWORK = "network engineer"


class Need(StrEnum):
    """First command that needs an item."""

    PLAN = "plan"
    APPLY = "apply"


@dataclass(frozen=True)
class Finding:
    """State of one file or host.

    Args:
        subject: file, host or place in site.yaml.
        reason: in lower case, without full stop.
        remedy: command, or act of a person; empty if nothing is to do.
    """

    state: State
    subject: str
    reason: str
    remedy: str = ""


Measure = Callable[[Situation], Iterable[Finding]]


@dataclass(frozen=True)
class Item:
    """One step of the first week.

    Args:
        name: for `--json`, and for `after`.
        day: of the first week, from 0.
        place: `outside`, or `inside` of the closed site.
        after: items without which a missing item is not yet possible.
        measure: yields at least one finding.
        is_replaced_by_lab: whether `sovctl lab up` replaces the item, so that it is omitted for a lab.
    """

    name: str
    title: str
    day: int
    place: str
    person: Person
    needed_for: Need
    measure: Measure
    after: tuple[str, ...] = ()
    is_replaced_by_lab: bool = False


def done(subject: str, reason: str) -> Finding:
    """Return the finding of a complete file or host."""
    return Finding(State.DONE, subject, reason)


def missing(subject: str, reason: str, remedy: str) -> Finding:
    """Return the finding of a missing file or host."""
    return Finding(State.MISSING, subject, reason, remedy)


def not_measured(subject: str, reason: str, remedy: str) -> Finding:
    """Return the finding of a file or host whose state is unknown."""
    return Finding(State.NOT_MEASURED, subject, reason, remedy)


def later(subject: str, reason: str, remedy: str) -> Finding:
    """Return the finding of a file that a later command creates."""
    return Finding(State.NOT_YET, subject, reason, remedy)
