"""Sentences about special categories of personal data next to a person, and sentences with the same words otherwise.

    for document in mentions("de", documents=60, seed=7): ...      # {..., "categories": ["HEALTH"]}
    for document in others("de", documents=60, seed=7): ...        # the same, "categories": []
    for document in nameless("de", documents=60, seed=7): ...      # the first ones without a person, "categories": []

Sentences are in `words/special_categories.yaml`. Every second document is dirty: in capitals, without accents,
with marks, line breaks or double spaces, or with an identifier instead of a name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from bench.pii_sets.documents import Page
from bench.pii_sets.words.reader import words_of
from bench.pii_sets.world import iban

_PERSON = "{p}"
_WORDS: dict[str, dict[str, list[str]]] = words_of("special_categories")


def languages() -> tuple[str, ...]:
    """Return the languages, sorted."""
    return tuple(sorted(_WORDS))


def mentions(language: str, *, documents: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield documents that mention one category; each sentence occurs if there are enough documents."""
    dice = Random(f"{seed} special {language}")
    sentences = [(name, each) for name, written in _WORDS[language].items() if name.isupper() for each in written]
    for number in range(documents):
        category, sentence = sentences[number % len(sentences)]
        yield _document(language, sentence, dice, is_dirty=number % 2 == 1) | {"categories": [category]}


def others(language: str, *, documents: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield documents with a person that mention no category."""
    dice = Random(f"{seed} not special {language}")
    for number in range(documents):
        sentences = " ".join(dice.sample(_WORDS[language]["clean"], 2))
        yield _document(language, sentences, dice, is_dirty=number % 2 == 1) | {"categories": []}


def nameless(language: str, *, documents: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the sentences of all categories without a person."""
    dice = Random(f"{seed} nameless {language}")
    written = [each for name, sentences in _WORDS[language].items() if name.isupper() for each in sentences]
    for _ in range(documents):
        page = Page(language)
        page.say(" ".join(" ".join(each.replace(_PERSON, "").split()) for each in dice.sample(written, 2)))
        yield page.document() | {"categories": []}


def _document(language: str, sentences: str, dice: Random, *, is_dirty: bool) -> dict[str, Any]:
    title, _, name = dice.choice(_WORDS[language]["people"]).partition("|")
    page, kind = Page(language), "PERSON~special"
    bend: Callable[[str], str] = _as_it_is
    if is_dirty:
        bend = dice.choice((str.upper, _without_accents, _emphasized, _broken, _spaced, _as_it_is))
        if bend is _as_it_is:
            title, name, kind = "", iban("DE")(dice), "IBAN~special"
    pieces = sentences.split(_PERSON)
    page.say(bend(pieces[0]))
    for piece in pieces[1:]:
        page.say(title)
        page.add("{value}", name, kind)
        page.say(bend(piece))
    return page.document()


def _as_it_is(text: str) -> str:
    return text


def _without_accents(text: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFD", text) if not unicodedata.combining(each))


def _emphasized(text: str) -> str:
    return re.sub(r"(\w{6,})", r"**\1**", text)


def _broken(text: str) -> str:
    return re.sub(r"(\w{5,}) ", "\\1\n", text)


def _spaced(text: str) -> str:
    return text.replace(" ", "  ")


__all__ = ["languages", "mentions", "nameless", "others"]
