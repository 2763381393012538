"""Models that fit on the nodes of a new site, in addition to the chosen ones, for its users."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from sovctl.support.errors import Problem, SpecError

from .answers import NewSite, choices
from .text import check


def fitting(answers: NewSite, chosen: list[str], *, today: date) -> list[str]:
    """Return the models of the catalogue with which the site is valid, in the order of the catalogue.

    Args:
        chosen: models that the site already serves.
    """
    others = [each for each in choices("models") if each not in chosen]
    return [each for each in others if not problems_of(answers, [*chosen, each], today=today)]


def problems_of(answers: NewSite, models: list[str], *, today: date) -> list[Problem]:
    """Return the problems of the site with these models, apart from the approval of their licences."""
    approval = {"licences_by": "not yet named", "licences_because": "not yet given"}
    tried = answers.model_copy(update={"models": models, **approval})
    try:
        check(tried, path=Path("site.yaml"), today=today)
    except SpecError as error:
        return error.problems
    return []
