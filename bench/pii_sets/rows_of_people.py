"""Listed people in rows, without capitals, after joined prefixes, and with one surname for several.

    for document in rows_of_people("en", seed=7): ...     # spans of type PERSON~row, PERSON~lower, PERSON~joint, ...

The people are those of `names.customers`. A row also contains people that are not on the list; these have no span.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from bench.pii_sets import names
from bench.pii_sets.documents import Page

LANGUAGES = names.LANGUAGES

_AND = {
    "ar": "و", "de": "und", "en": "and", "es": "y", "fr": "et", "id": "dan", "it": "e", "kk": "мен", "nl": "en",
    "pl": "i", "pt": "e", "ru": "и", "tr": "ve",
}  # fmt: skip
_STRANGERS = ("Bartleby", "Ottoline", "Quentin")
_PREFIXES = ("و", "ل", "ب", "ف", "ول", "وب", "فب")
_OPENINGS = ("", "1. ", "* ", "(2024) ")
_MOST = 12  # rows of each form


def rows_of_people(language: str, *, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the documents of a language."""
    people, dice = names.people(language, seed=seed), Random(f"{seed} rows {language}")
    for form in ("row", "initials-row", "reversed-row"):
        if language != "ar" or form == "row":
            for _ in range(_MOST):
                yield _row(language, form, people, dice)
    for given, surname in people:
        if language != "ar":
            yield _sentence(language, "lower", f"{given} {surname}".lower(), dice)
        partner = dice.choice([other for other, _ in people if other != given])
        yield _joint(language, given, partner, surname, dice)
        if language == "ar":
            for prefix in _PREFIXES:
                written = f"{given} {surname}"
                yield _sentence(language, "glued", written, dice, before=prefix)


def _row(language: str, form: str, people: list[tuple[str, str]], dice: Random) -> dict[str, Any]:
    page = Page(language)
    page.say(dice.choice(_OPENINGS))
    chosen = dice.sample(people, 4)
    written = [_written(form, given, surname, dice) for given, surname in chosen]
    comma = {"reversed-row": "; "}.get(form, "، " if language == "ar" else ", ")
    stranger = dice.randrange(5)
    for number, name in enumerate(written):
        if number == stranger and language != "ar":
            page.say(_written(form, dice.choice(_STRANGERS), dice.choice(people)[1], dice) + comma)
        page.add("{value}", name, f"PERSON~{form}")
        page.say(comma if number < len(written) - 1 else "")
    return page.document()


def _written(form: str, given: str, surname: str, dice: Random) -> str:
    middle = dice.choice("ABDEGHKLMNPRSTW")
    if form == "initials-row":
        return f"{given[0]}. {surname}"
    if form == "reversed-row":
        return f"{surname}, {given} {middle}."
    return f"{given} {middle}. {surname}" if given.isascii() and dice.random() < 0.7 else f"{given} {surname}"


def _sentence(language: str, form: str, name: str, dice: Random, *, before: str = "") -> dict[str, Any]:
    page = Page(language)
    sentence = dice.choice(names.sentences(language))
    start, _, end = sentence.partition("{name}")
    page.say((start.lower() if form == "lower" else start) + before)
    page.add("{value}", name, f"PERSON~{form}")
    page.say(end)
    return page.document()


def _joint(language: str, given: str, partner: str, surname: str, dice: Random) -> dict[str, Any]:
    page = Page(language)
    start, _, end = dice.choice(names.sentences(language)).partition("{name}")
    page.say(start)
    page.add("{value}", partner, "PERSON~joint")
    page.say(f" {_AND[language]}" + ("" if language == "ar" else " "))
    page.add("{value}", f"{given} {surname}", "PERSON~joint")
    page.say(end)
    return page.document()
