"""Postal addresses by language, and texts with streets and numbers that contain none.

    for document in addresses("de", documents=60, seed=7): ...     # one span of type ADDRESS in each
    for document in streets("de", documents=60, seed=7): ...       # no spans

Streets, cities and sentences are in `words/addresses.yaml`; numbers and postcodes are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from bench.pii_sets.documents import Page
from bench.pii_sets.words.reader import words_of

_LETTERS = "ABDEFGHJLNPRSTUWXYZ"


def languages() -> tuple[str, ...]:
    """Return the languages, sorted."""
    return tuple(sorted(words_of("addresses")))


def addresses(language: str, *, documents: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield documents with one address each."""
    known, dice = words_of("addresses")[language], Random(f"{seed} addresses {language}")
    for _ in range(documents):
        page = Page(language)
        start, _, end = dice.choice(known["sentences"]).partition("{x}")
        page.say(start)
        page.add("{value}", _address(known, dice), "ADDRESS")
        page.say(end)
        yield page.document()


def streets(language: str, *, documents: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield documents without addresses."""
    known, dice = words_of("addresses")[language], Random(f"{seed} streets {language}")
    for _ in range(documents):
        page = Page(language)
        page.say(" ".join(dice.sample(known["clean"], 3)))
        yield page.document()


def _address(known: dict[str, list[str]], dice: Random) -> str:
    values = {
        "s": dice.choice(known["streets"]),
        "n": str(dice.randrange(1, 180)),
        "l": dice.choice(("", "a", "b")),
        "a": str(dice.randrange(1, 60)),
        "c": dice.choice(known["cities"]),
        "z": _code(dice.choice(known["codes"]), dice),
    }
    return dice.choice(known["forms"]).format_map(values)


def _code(form: str, dice: Random) -> str:
    def digits(number: int) -> str:
        return str(dice.randrange(1, 10)) + "".join(str(dice.randrange(10)) for _ in range(number - 1))

    def letters(number: int) -> str:
        return "".join(dice.choice(_LETTERS) for _ in range(number))

    match form:
        case "gb":
            return f"{letters(dice.randrange(1, 3))}{digits(1)} {digits(1)}{letters(2)}"
        case "nl":
            return f"{digits(4)} {letters(2)}"
        case "pl":
            return f"{digits(2)}-{digits(3)}"
        case "pt":
            return f"{digits(4)}-{digits(3)}"
    return digits(int(form))
