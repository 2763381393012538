"""Renders a document as JSON and as Markdown. Deterministic: equal documents give equal bytes.

MISSING fields come first. Both renderings state `simulated` at the head, and that a document is not a statement that a
law is fulfilled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from .document import Document, Field, FieldState, Section, Table

FORMAT = "sovctl-document-v1"
STATEMENT = (
    "This document gathers what sovctl collected and what people answered. It is not a statement that any law, "
    "standard or contract is fulfilled; that judgement is made by people."
)
SIMULATED = "SIMULATED: values from simulated hardware prove nothing about a real site."
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


def json_bytes(document: Document) -> bytes:
    """Return the JSON rendering: sorted keys, one field per line, UTF-8."""
    value = {
        "format": FORMAT,
        "statement": STATEMENT,
        "document": document.name,
        "title": document.title,
        "site": document.site,
        "simulated": document.simulated,
        "origin": vars(document.origin) | {},
        "counts": {state.value: number for state, number in document.counts().items()},
        "missing": [
            {"field": field.id, "of": list(subjects), "label": field.label, "reason": field.reason}
            for field, subjects in document.missing()
        ],
        "findings": [vars(each) | {} for each in document.findings],
        "sections": [_section(each) for each in document.sections],
    }
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _section(section: Section) -> dict[str, Any]:
    return {
        "id": section.id,
        "title": section.title,
        "of": section.subject,
        "note": section.note,
        "fields": [vars(each) | {"state": each.state.value} for each in section.fields],
        "table": _table(section.table) if section.table else None,
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "columns": list(table.columns),
        "rows": [list(row) for row in table.rows],
        "simulated": table.simulated,
    }


def markdown(document: Document) -> str:
    """Return the Markdown rendering."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Document) -> Iterator[str]:
    counts, origin = document.counts(), document.origin
    yield f"# {_escaped(document.title)}: {_escaped(document.site)}"
    yield ""
    if document.simulated:
        yield f"> **{SIMULATED}**"
        yield ""
    yield f"> {STATEMENT}"
    yield ""
    yield f"- Basis: {_escaped(origin.basis)}"
    yield f"- List of fields: {_escaped(origin.source)} (published {origin.date}, read {origin.read})"
    if origin.note:
        yield f"- Limits: {_escaped(origin.note)}"
    yield f"- Fields: {sum(counts.values())}, of which " + ", ".join(
        f"{counts[state]} {state.value}" for state in (FieldState.MISSING, FieldState.MACHINE, FieldState.HUMAN)
    )
    yield ""
    yield f"## MISSING: {counts[FieldState.MISSING]} fields"
    yield ""
    yield from _missing(document)
    if document.findings:
        yield f"## Findings: {len(document.findings)}"
        yield ""
        yield from _rows(
            ("severity", "subject", "finding", "remedy"),
            ((each.severity, each.subject, each.message, each.remedy) for each in document.findings),
        )
    for section in document.sections:
        yield f"## {_escaped(section.title)}" + (f": {_escaped(section.subject)}" if section.subject else "")
        yield ""
        yield from _section_lines(section)


def _missing(document: Document) -> Iterator[str]:
    missing = document.missing()
    if not missing:
        yield "None."
        yield ""
        return
    yield from _rows(
        ("field", "of", "content", "reason"),
        ((field.id, ", ".join(subjects), field.label, field.reason) for field, subjects in missing),
    )


def _section_lines(section: Section) -> Iterator[str]:
    if section.note:
        yield _escaped(section.note[:1].upper() + section.note[1:]) + "."
        yield ""
    if section.fields:
        yield from _rows(("article", "content", "value", "state", "source"), map(_row, section.fields))
    if section.table:
        if section.table.simulated:
            yield f"**{SIMULATED}**"
            yield ""
        yield from _rows(section.table.columns, section.table.rows)


def _row(field: Field) -> tuple[str, ...]:
    article = f"{field.article} (unsure: {field.unsure})" if field.unsure else field.article
    state = f"{field.state.value}, simulated" if field.simulated else field.state.value
    origin = field.source or (f"{field.by}, {field.date}" if field.by else field.reason)
    return (article, field.label, field.value, state, origin)


def _rows(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    head = list(columns)
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(_escaped(cell).replace("\n", "<br>") for cell in row) + " |"
    yield ""


def _escaped(text: str) -> str:
    """Return text without effect as Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", text).replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\r", "")
