"""A template of a document: its sections and fields as data, with the article of each. Pure.

document: gdpr-art-30                  # the name of the file
title: Record of processing activities
basis: GDPR Art. 30(1)
source: OJ L 119 of 2016-05-04, compared with a public copy
date: 2016-05-04
read: 2026-11-28
licence: article numbers are facts; labels are our own words under Apache-2.0
sections:
  controller:
    title: Controller
    fields:
      contact: {label: Name and contact, article: Art. 30(1)(a), hint: name, address and e-mail}   # people answer
      country: {label: Country, article: Art. 30(1)(a), value: site.jurisdiction}                  # sovctl fills
  providers:
    title: Provider
    for_each: cloud                    # one section for each cloud of site.yaml
    if_none: site.yaml names no cloud
    fields: {}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from sovctl.support.errors import Problem

from ..controls.model_problems import problem_of

Text = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{0,60}$")]
SubjectKind = Literal["cloud", "model", "node"]
_PAGE = "docs/documents.md"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class FieldText(_Model):
    """One field: `value` names a collected value; without it, people answer the field."""

    label: Text
    article: str = ""
    value: str = ""
    """Name of a collected value, such as `site.name` or `cloud.jurisdiction`."""
    hint: str = ""
    """Expected content of an answer."""
    unsure: str = ""

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if bool(self.value) == bool(self.hint):
            raise ValueError("expected either `value` or `hint`")
        return self


class SectionText(_Model):
    """One section; with `for_each`, one section for each subject of the site."""

    title: Text
    for_each: SubjectKind | None = None
    if_none: str = ""
    table: str = ""
    """Name of a collected table."""
    fields: dict[Name, FieldText] = {}

    @model_validator(mode="after")
    def _says_if_none(self) -> Self:
        if bool(self.for_each) != bool(self.if_none):
            raise ValueError("`for_each` and `if_none` belong together")
        return self


class Template(_Model):
    """One template."""

    document: Name
    title: Text
    basis: Text
    source: Text
    date: Day
    read: Day
    licence: Text
    note: str = ""
    gate: Literal["licences"] | None = None
    """Collected findings that the document lists."""
    sections: Annotated[dict[Name, SectionText], Field(min_length=1)]

    def human_fields(self) -> dict[str, SubjectKind | None]:
        """Return the kind of subject of each field that people answer, by field id."""
        return {
            f"{section_name}.{name}": section.for_each
            for section_name, section in self.sections.items()
            for name, field in section.fields.items()
            if not field.value
        }

    def machine_fields(self) -> tuple[str, ...]:
        """Return the ids of the fields that sovctl fills."""
        return tuple(
            f"{section_name}.{name}"
            for section_name, section in self.sections.items()
            for name, field in section.fields.items()
            if field.value
        )


def template_of(value: Any, *, stem: str) -> tuple[Template | None, list[Problem]]:
    """Return the template of a file's content, and its problems.

    Args:
        stem: name of the file without its ending; the document must have this name.
    """
    if not isinstance(value, Mapping):
        return None, [Problem("expected a mapping", hint=f"compare with {_PAGE}")]
    try:
        found = Template.model_validate_json(json.dumps(value))
    except ValidationError as error:
        known = [*Template.model_fields, *SectionText.model_fields, *FieldText.model_fields]
        return None, [problem_of(each, known=known, page=_PAGE) for each in error.errors(include_url=False)]
    if found.document != stem:
        message = f"expected the name of the file, {stem}, got {found.document}"
        return found, [Problem(message, where="document", hint="rename the file, or correct `document`")]
    return found, []
