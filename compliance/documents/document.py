"""A document: sections with fields, and the origin of each field. Pure.

- Every field is `machine-filled` with its source, `human` with author and date, or `MISSING` with a reason.
- A value that was not collected is MISSING. No value is assumed.
- A document, section or field from simulated hardware is marked `simulated`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FieldState(StrEnum):
    """Origin of a field."""

    MACHINE = "machine-filled"
    HUMAN = "human"
    MISSING = "MISSING"


@dataclass(frozen=True)
class Value:
    """A value that sovctl collected.

    Args:
        text: one line, or several lines.
        source: such as `site.yaml: site.name`, or evidence with its digest and ledger index.
    """

    text: str
    source: str
    simulated: bool = False


@dataclass(frozen=True)
class NotCollected:
    """The reason why a value is absent, and the remedy."""

    reason: str
    remedy: str = ""


Collected = Value | NotCollected


@dataclass(frozen=True)
class Field:
    """One field of a document."""

    id: str
    """Unique in the document, such as `controller.contact`."""
    label: str
    article: str
    """Article or column that requires the field; empty without one."""
    state: FieldState
    value: str = ""
    """Empty if MISSING."""
    source: str = ""
    """Source of a machine-filled value."""
    by: str = ""
    """Author of a human answer."""
    date: str = ""
    """Day of a human answer, ISO 8601."""
    reason: str = ""
    """Reason why the field is MISSING, with the remedy."""
    unsure: str = ""
    """Doubt about the article number; empty if it was compared with the text of the law."""
    simulated: bool = False


@dataclass(frozen=True)
class Table:
    """A table that sovctl collected; cells are text, and unknown cells start with UNKNOWN."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    simulated: bool = False


@dataclass(frozen=True)
class Section:
    """Fields about one subject."""

    id: str
    title: str
    subject: str = ""
    """Name of the model, node or cloud of a repeated section; empty otherwise."""
    fields: tuple[Field, ...] = ()
    table: Table | None = None
    note: str = ""
    """Reason why the section has no fields."""


@dataclass(frozen=True)
class Finding:
    """A result of a gate, such as that of licences.

    Args:
        severity: `fail` or `unknown`.
    """

    severity: str
    subject: str
    message: str
    remedy: str


@dataclass(frozen=True)
class Origin:
    """Legal basis of a document, and the source of its list of fields."""

    basis: str
    source: str
    date: str
    """Day of publication, ISO 8601."""
    read: str
    """Day on which the source was read, ISO 8601."""
    licence: str
    note: str = ""


@dataclass(frozen=True)
class Document:
    """A filled document."""

    name: str
    title: str
    origin: Origin
    site: str
    sections: tuple[Section, ...]
    findings: tuple[Finding, ...] = ()
    simulated: bool = False

    def fields(self) -> tuple[tuple[Section, Field], ...]:
        """Return all fields with their sections, in order."""
        return tuple((section, field) for section in self.sections for field in section.fields)

    def missing(self) -> tuple[tuple[Field, tuple[str, ...]], ...]:
        """Return the MISSING fields with their subjects, in order. Fields with one reason are one item."""
        found: dict[tuple[str, str], tuple[Field, list[str]]] = {}
        for section, field in self.fields():
            if field.state is FieldState.MISSING:
                _, subjects = found.setdefault((field.id, field.reason), (field, []))
                subjects += [section.subject] if section.subject else []
        return tuple((field, tuple(subjects)) for field, subjects in found.values())

    def counts(self) -> dict[FieldState, int]:
        """Return the number of fields in each state."""
        states = [field.state for _, field in self.fields()]
        return {state: states.count(state) for state in FieldState}
