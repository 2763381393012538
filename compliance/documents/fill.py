"""Fills a template with collected values and answers. Pure: equal inputs give equal documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .answers import Answer, Answers
from .document import Collected, Document, Field, FieldState, Finding, NotCollected, Origin, Section, Table, Value
from .template import FieldText, SectionText, Template


@dataclass(frozen=True)
class Collection:
    """Everything that sovctl collected about a site.

    Args:
        values: values of the site by name, such as `site.name`.
        subjects: values of each subject: by kind, name of the subject, and name of the value.
        tables: by name.
        findings: by gate, such as `licences`.
    """

    values: Mapping[str, Collected]
    subjects: Mapping[str, Mapping[str, Mapping[str, Collected]]]
    tables: Mapping[str, Table] = field(default_factory=dict)
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    simulated: bool = False
    """Whether any collected fact or evidence is from simulated hardware."""

    def subject_names(self) -> dict[str, tuple[str, ...]]:
        """Return the names of all subjects by kind."""
        return {kind: tuple(named) for kind, named in self.subjects.items()}


def fill(template: Template, collection: Collection, answers: Answers) -> Document:
    """Return the document of a template.

    Raises:
        KeyError: the template names a value that the collection does not define.
    """
    given = answers.of_document(template.document)
    sections = tuple(
        made for name, text in template.sections.items() for made in _sections(name, text, collection, given)
    )
    site = collection.values["site.name"]
    return Document(
        name=template.document,
        title=template.title,
        origin=Origin(
            basis=template.basis,
            source=template.source,
            date=template.date,
            read=template.read,
            licence=template.licence,
            note=template.note,
        ),
        site=site.text if isinstance(site, Value) else "",
        sections=sections,
        findings=collection.findings[template.gate] if template.gate else (),
        simulated=collection.simulated,
    )


def _sections(
    name: str, text: SectionText, collection: Collection, answers: Mapping[tuple[str, str], Answer]
) -> Iterator[Section]:
    table = collection.tables[text.table] if text.table else None
    if text.for_each is None:
        yield Section(name, text.title, "", tuple(_fields(name, text, "", collection.values, answers)), table)
        return
    named = collection.subjects[text.for_each]
    for subject, values in named.items():
        known = {**collection.values, **{f"{text.for_each}.{key}": value for key, value in values.items()}}
        yield Section(name, text.title, subject, tuple(_fields(name, text, subject, known, answers)), table)
    if not named:
        yield Section(name, text.title, note=text.if_none)


def _fields(
    section: str,
    text: SectionText,
    subject: str,
    values: Mapping[str, Collected],
    answers: Mapping[tuple[str, str], Answer],
) -> Iterator[Field]:
    for name, each in text.fields.items():
        field_id = f"{section}.{name}"
        if each.value:
            yield _machine(field_id, each, values[each.value])
        else:
            yield _human(field_id, each, answers.get((field_id, subject)))


def _machine(field_id: str, text: FieldText, value: Collected) -> Field:
    if isinstance(value, NotCollected):
        return Field(
            id=field_id,
            label=text.label,
            article=text.article,
            state=FieldState.MISSING,
            reason="; ".join(filter(None, (f"not collected: {value.reason}", value.remedy))),
            unsure=text.unsure,
        )
    return Field(
        id=field_id,
        label=text.label,
        article=text.article,
        state=FieldState.MACHINE,
        value=value.text,
        source=value.source,
        unsure=text.unsure,
        simulated=value.simulated,
    )


def _human(field_id: str, text: FieldText, answer: Answer | None) -> Field:
    if answer is None:
        return Field(
            id=field_id,
            label=text.label,
            article=text.article,
            state=FieldState.MISSING,
            reason=f"requires a person: {text.hint}",
            unsure=text.unsure,
        )
    return Field(
        id=field_id,
        label=text.label,
        article=text.article,
        state=FieldState.HUMAN,
        value=answer.value,
        by=answer.by,
        date=answer.date.isoformat(),
        unsure=text.unsure,
    )
