"""Answers of people to fields of documents: a YAML file that `compliance.answers_file` names.

    answers:
      - document: gdpr-art-30
        field: controller.contact
        value: Example Bank AG, Main Street 1, privacy@bank.example
        by: data protection officer
        date: 2026-11-01
      - document: dora-register
        field: contract.reference
        of: sovereign-cloud                # the subject of a repeated section
        value: C-17
        by: purchasing
        date: 2026-11-02

- Only fields that sovctl cannot fill have answers. An answer to a machine-filled field is a problem.
- All problems are reported together, with file, line and remedy. Messages never contain the text of an answer, because
  answers can name persons.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from sovctl.support.atomic_files import read_error_reason
from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.strict_yaml import MAX_BYTES, YamlSyntaxError, read_text

from ..controls.model_problems import path_of, problem_of, unknown_name
from .template import Template

_WHAT = "the answers"
_PAGE = "docs/documents.md"
_Text = Annotated[str, StringConstraints(min_length=1, max_length=10_000, strip_whitespace=True)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Answer(_Model):
    """The answer of a person to one field."""

    document: str
    field: str
    """Id such as `controller.contact`."""
    of: str = ""
    """Subject of a repeated section, such as the name of a cloud; empty otherwise."""
    value: _Text
    by: Annotated[str, StringConstraints(min_length=3, max_length=100, strip_whitespace=True)]
    """Role or person."""
    date: date
    """Day of the answer."""


class Answers(_Model):
    """Content of a file of answers."""

    answers: tuple[Answer, ...] = ()

    def of_document(self, document: str) -> dict[tuple[str, str], Answer]:
        """Return the answers of a document by field id and subject."""
        return {(each.field, each.of): each for each in self.answers if each.document == document}


Subjects = Mapping[str, Collection[str]]
"""Names of the site's clouds, models and nodes, by kind."""


def load_answers(path: Path, *, templates: Sequence[Template], subjects: Subjects, today: date) -> Answers:
    """Read answers.

    Args:
        templates: documents whose fields can be answered.
        today: current day (UTC); later answers are rejected.

    Raises:
        InputError: unreadable file.
        SpecError: all problems of the file.
    """
    try:
        text = read_text(read_bounded(path, MAX_BYTES))
    except OSError as error:
        hint = "correct `compliance.answers_file` of site.yaml"
        raise InputError(f"unreadable: {read_error_reason(error)}", where=str(path), hint=hint) from None
    except YamlSyntaxError as error:
        raise SpecError([error.placed(path)], what=_WHAT) from None
    found, problems = answers_of({} if text.value is None else text.value, templates, subjects, today)
    problems = sorted([*text.problems, *problems], key=lambda problem: text.line(problem.where))
    if problems:
        raise SpecError([text.placed(path, each) for each in problems], what=_WHAT)
    return found


def answers_of(
    value: Any, templates: Sequence[Template], subjects: Subjects, today: date
) -> tuple[Answers, list[Problem]]:
    """Parse the content of a file, and return its problems. Pure."""
    try:
        found = Answers.model_validate_json(json.dumps(value))
    except ValidationError as error:
        return Answers(), [_problem(each) for each in error.errors(include_url=False, include_input=False)]
    return found, list(_problems(found.answers, templates, subjects, today))


def _problem(error: Mapping[str, Any]) -> Problem:
    if error["type"] in ("missing", "extra_forbidden"):
        known = list(Answers.model_fields if len(error["loc"]) == 1 else Answer.model_fields)
        return problem_of(error, known=known, page=_PAGE)
    return Problem(
        f"invalid value: {error['msg'][:1].lower()}{error['msg'][1:]}",
        where=path_of(error["loc"]),
        hint=f"compare with {_PAGE}",
    )


def _problems(
    answers: Sequence[Answer], templates: Sequence[Template], subjects: Subjects, today: date
) -> Iterator[Problem]:
    by_name = {template.document: template for template in templates}
    seen: set[tuple[str, str, str]] = set()
    for index, answer in enumerate(answers):
        where = f"answers[{index}]"
        template = by_name.get(answer.document)
        if template is None:
            yield unknown_name("document", answer.document, by_name, f"{where}.document")
            continue
        yield from _field_problems(answer, template, subjects, where)
        key = (answer.document, answer.field, answer.of)
        if key in seen:
            yield Problem("second answer to the field", where=f"{where}.field", hint="remove one of the two")
        seen.add(key)
        if answer.date > today:
            yield Problem(
                f"expected a day until today, {today}, got {answer.date}",
                where=f"{where}.date",
                hint="correct the date, or the clock of this machine",
            )


def _field_problems(answer: Answer, template: Template, subjects: Subjects, where: str) -> Iterator[Problem]:
    fields = template.human_fields()
    if answer.field in template.machine_fields():
        hint = "remove the answer; `sovctl report documents` shows the source of the value"
        yield Problem(f"field {answer.field} is filled by sovctl", where=f"{where}.field", hint=hint)
        return
    if answer.field not in fields:
        yield unknown_name(f"field of {template.document}", answer.field, fields, f"{where}.field")
        return
    kind = fields[answer.field]
    if kind is None:
        if answer.of:
            hint = "remove `of`"
            yield Problem(f"field {answer.field} is not repeated", where=f"{where}.of", hint=hint)
    elif answer.of not in subjects.get(kind, ()):
        yield unknown_name(kind, answer.of or "(none)", subjects.get(kind, ()), f"{where}.of")
