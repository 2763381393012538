"""Puts identifiers into the texts of a language: one line of JSON for each document, spans counted as it grows.

for document in structured("de", per_type=60, seed=7): ...      # {"text", "language", "spans"}
"""

from __future__ import annotations

import string
import uuid
from collections.abc import Iterator
from random import Random
from typing import Any

from bench.pii_sets import europe, world
from bench.pii_sets.europe import Draw
from bench.pii_sets.evasions import evasions_for
from bench.pii_sets.words.reader import languages_in, words_of

LANGUAGES = languages_in("languages")

# Recognizable without a word next to it.
_TELLING = frozenset({"EMAIL", "IBAN", "CARD", "SECRET", "IP", "MAC", "BITCOIN"})
_DISGUISED = ("EMAIL", "IBAN", "CARD")


class Page:
    """A text that grows, and remembers where its identifiers stand."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._text = ""
        self._spans: list[dict[str, Any]] = []

    def add(self, template: str, value: str, kind: str, **more: str) -> None:
        """Append a template with `{value}` in it, once or more often."""
        before, *rest = template.split("{value}")
        self._text += _filled(before, more)
        for piece in rest:
            start = len(self._text)
            self._text += value
            self._spans.append({"start": start, "end": len(self._text), "type": kind})
            self._text += _filled(piece, more)

    def say(self, text: str) -> None:
        """Append a text without identifiers."""
        self._text += text

    def document(self) -> dict[str, Any]:
        """Return the document as a line of JSON."""
        return {"text": self._text, "language": self._language, "spans": self._spans}


def structured(language: str, *, per_type: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield documents with one to three identifiers, each type of this language at least `per_type` times."""
    dice = Random(f"{seed} structured {language}")
    known = words_of(f"languages/{language}")
    draws = _draws(language)
    wanted = [kind for kind in draws for _ in range(per_type)]
    dice.shuffle(wanted)
    while wanted:
        page = Page(language)
        for number in range(dice.randrange(1, 4)):
            if not wanted:
                break
            if number:
                page.say(dice.choice((" ", "\n", "\n\n")))
            if dice.random() < 0.3:
                page.say(clean_sentence(known, dice) + " ")
            kind = wanted.pop()
            _place(page, known, kind, draws[kind](dice), kind, dice)
        yield page.document()


def disguised(language: str, *, per_type: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield documents with e-mail addresses, IBANs, cards and national numbers of this language in every disguise."""
    dice = Random(f"{seed} disguised {language}")
    known, draws = words_of(f"languages/{language}"), _draws(language)
    own = [kind for kind in draws if kind[:3] in {f"{region}_" for region in _regions(language)}]
    for kind in (*(each for each in _DISGUISED if each in draws), *own):
        for name, disguise in evasions_for(kind).items():
            for _ in range(per_type):
                page = Page(language)
                _place(page, known, kind, disguise(draws[kind](dice), dice), f"{kind}~{name}", dice)
                yield page.document()


def clean(language: str, *, documents: int, seed: int) -> Iterator[dict[str, Any]]:
    """Texts with many numbers that are not identifiers."""
    dice = Random(f"{seed} clean {language}")
    known = words_of(f"languages/{language}")
    for _ in range(documents):
        page = Page(language)
        page.say(" ".join(clean_sentence(known, dice) for _ in range(dice.randrange(2, 6))))
        yield page.document()


def clean_sentence(known: dict[str, Any], dice: Random) -> str:
    """Return one sentence without an identifier."""
    year = dice.randrange(1995, 2031)
    values = {f"n{count}": str(dice.randrange(10 ** (count - 1), 10**count)) for count in range(1, 9)}
    values |= {
        "year": str(year),
        "date": dice.choice((f"{dice.randrange(1, 29)}.{dice.randrange(1, 13)}.{year}", f"{year}-04-{values['n2']}")),
        "price": dice.choice((f"{values['n1']},{values['n3']}.00", f"{values['n3']}.{values['n2']}", values["n4"])),
        "hex40": "".join(dice.choices("0123456789abcdef", k=40)),
        "uuid": str(uuid.UUID(int=dice.getrandbits(128), version=4)),
    }
    return _filled(dice.choice(known["clean"]), values)


def _place(page: Page, known: dict[str, Any], kind: str, value: str, named: str, dice: Random) -> None:
    if kind in _TELLING and dice.random() < 0.3:
        page.add(dice.choice(known["bare"]), value, named)
        return
    label = dice.choice(known["labels"][kind])
    page.add(dice.choice(known["frames"]), value, named, label=dice.choice((label, label[:1].upper() + label[1:])))


def _filled(template: str, values: dict[str, str]) -> str:
    text = template.replace("{{", "\0").replace("}}", "\1")
    for _, name, _, _ in list(string.Formatter().parse(text)):
        if name:
            text = text.replace(f"{{{name}}}", values[name], 1)
    return text.replace("\0", "{").replace("\1", "}")


def _regions(language: str) -> set[str]:
    """Countries whose numbers have labels in this language."""
    return {kind[:2] for kind in words_of(f"languages/{language}")["labels"] if kind[2:3] == "_"}


def _draws(language: str) -> dict[str, Draw]:
    """Return the generator of each type of this language."""
    known = words_of(f"languages/{language}")
    own: dict[str, Draw] = {"PHONE": world.phone(language)}
    if known["ibans"]:
        by_country = [world.iban(country) for country in known["ibans"]]
        own["IBAN"] = lambda dice: dice.choice(by_country)(dice)
    draws = {**europe.NUMBERS, **world.NUMBERS, **own}
    return {kind: draws[kind] for kind in known["labels"]}
