"""Asks the questions of `sovctl init` on a terminal. Nothing is written."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import typer

from sovctl.support.errors import InputError

from . import output

if TYPE_CHECKING:
    from sovctl.engine.new_site.answers import NewSite, Question


def ask(given: dict[str, Any], *, today: date) -> NewSite:
    """Return the answers of a person; a question is repeated until its answer is valid.

    Args:
        given: answers that are not asked, by field.

    Raises:
        typer.Abort: Ctrl-C, or the end of the input.
    """
    from sovctl.engine.new_site.answers import BY_FIELD, QUESTIONS, with_defaults

    values = dict(given)
    for question in QUESTIONS:
        if question.field in values or not question.applies(values):
            continue
        if question.field == "models":
            while not (offered := _offered(values, today)):
                output.problem(f"no model of the catalogue fits {values['users']} users on these nodes")
                values["users"] = _answer(BY_FIELD["users"], values)
            values["models"] = _models(question, values, offered, today)
        else:
            values[question.field] = _answer(question, values)
    return with_defaults(values)


def _answer(question: Question, values: dict[str, Any], *, proposed: str | None = None) -> Any:
    from sovctl.engine.new_site.answers import choices, default, parse

    if known := choices(question.field) if proposed is None else []:
        output.info(f"one of: {', '.join(known)}")
    start = default(question.field, values) if proposed is None else proposed
    while True:
        default_text = start if start or question.is_optional else None
        text = typer.prompt(question.text, default=default_text, show_default=bool(start), err=True)
        try:
            return parse(question.field, text)
        except InputError as error:
            output.problem(error.message, hint=error.hint)


def _offered(values: dict[str, Any], today: date) -> list[str]:
    from sovctl.engine.new_site.answers import with_defaults
    from sovctl.engine.new_site.offers import fitting

    return fitting(with_defaults(values), [], today=today)


def _models(question: Question, values: dict[str, Any], offered: list[str], today: date) -> list[str]:
    """Return models that fit together."""
    from sovctl.engine.new_site.answers import with_defaults
    from sovctl.engine.new_site.offers import problems_of

    output.info(f"models that fit on these nodes: {', '.join(offered)}")
    while True:
        start = "qwen3-8b" if "qwen3-8b" in offered else offered[0]
        models: list[str] = _answer(question, values, proposed=start)
        if not (problems := problems_of(with_defaults(values), models, today=today)):
            return models
        for each in problems:
            output.problem(str(each), hint=each.hint)
