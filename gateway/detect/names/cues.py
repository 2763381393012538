"""Cues: words next to names, read from `cues.txt`; `clues` searches for all of them in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from .given_names import GIVEN_NAMES, GIVEN_WORDS


class Place(StrEnum):
    """Meaning of a cue for the word after it."""

    TITLE = "title"
    INTRODUCTION = "introduction"
    WEAK_INTRODUCTION = "weak introduction"
    GREETING = "greeting"
    CLOSING = "closing"
    ROLE = "role"
    LABEL = "label"  # the name can be on the line below
    GIVEN = "given"  # the word itself is a given name


@dataclass(frozen=True, slots=True)
class Cue:
    """One meaning of a phrase."""

    place: Place
    language: str
    """ISO 639-1; empty for a label and a given name."""
    length: int
    """Characters of the phrase."""
    only_capital: bool = False
    only_abbreviated: bool = False
    only_next_line: bool = False
    takes_lower: bool = False
    """Whether a name after it may be without capitals."""


# The marks of `cues.txt` at the end of a phrase.
_MARKS = {"^": "only_capital", ".": "only_abbreviated", "¶": "only_next_line", "~": "takes_lower"}


def _read() -> Iterator[tuple[str, str, str, str]]:
    """Section, language, phrase, marks."""
    section = ""
    for line in (Path(__file__).parent / "cues.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line:
            continue
        if line.startswith("["):
            section = line.strip("[]")
            continue
        language, _, phrases = line.partition(":")
        for phrase in phrases.split(","):
            stem, *endings = phrase.strip().split("|")
            marks = stem[len(stem.rstrip("^.¶~")) :]
            stem = stem.rstrip("^.¶~")
            if stem.endswith("-"):
                stem = stem[:-1]
            else:
                yield section, language, stem, marks
            for ending in endings:
                yield section, language, stem + ending.rstrip("~"), marks


def _written(phrase: str) -> set[bytes]:
    """Return the forms within a sentence, at its start and in capitals; ASCII letters are always in lower case."""
    forms = {phrase, phrase[0].upper() + phrase[1:], phrase.upper(), phrase.title()}
    return {form.encode().lower() for form in forms}  # of bytes, `lower` changes ASCII alone


def _with_prefixes(language: str, phrase: str) -> Iterator[str]:
    """Arabic writes `and`, `to`, `by` and `so` as a part of the word."""
    yield phrase
    if language == "ar" and phrase.startswith("ال"):
        yield from (f"و{phrase}", f"لل{phrase[2:]}", f"ب{phrase}", f"ف{phrase}", f"ولل{phrase[2:]}")


def _cues() -> dict[bytes, tuple[Cue, ...]]:
    places = set(Place)
    rows = [row for row in _read() if row[0] in places]
    rows += [(Place.LABEL, "", label, "") for label in sorted(FIELDS - WEAK_FIELDS)]
    rows += [(Place.GIVEN, "", name, "") for name in sorted(GIVEN_NAMES | GIVEN_WORDS)]
    found: dict[bytes, dict[Place, Cue]] = {}
    for section, language, phrase, marks in rows:
        for form in _with_prefixes(language, phrase):
            for written in _written(form):
                flags = {_MARKS[mark]: True for mark in marks}
                cue = Cue(Place(section), language, len(form), **flags)
                found.setdefault(b" %b " % b" ".join(written.split()), {}).setdefault(cue.place, cue)
    return {phrase: tuple(by_place.values()) for phrase, by_place in found.items()}


def _section(name: str) -> frozenset[str]:
    return frozenset(phrase for section, _, phrase, _ in _read() if section == name)


COLUMNS = _section("column")
"""Headers of columns that contain people, in lower case, one space between words."""
FIELDS = _section("field") | COLUMNS
"""Labels before a colon and a name, in lower case, one space between words."""
WEAK_FIELDS = _section("weak field")
"""Labels of fields that contain other values as often as names."""

CUES: dict[bytes, tuple[Cue, ...]] = _cues()
"""Phrase as in `Words.folded`, with a space at both ends -> its possible meanings."""
JOINTS = frozenset(f" {word} ".encode() for word in ("bin", "ibn", "bint", "binti", "بن", "بنت", "ابن"))
"""Words that join the names of a person and of the father, likewise."""

TITLES = frozenset(phrase for phrase in _section("title") if " " not in phrase)
"""Titles of one word, in lower case."""

OTHER_FIELDS = _section("other")
"""Words before `name` in a label that is not of a person: `product`."""
PARTICLES = _section("particle")
"""Lower-case words within a name."""
SURNAMES = _section("surname")
"""Words that make an adjacent ambiguous word a given name."""
COMPANIES = _section("company")
"""Words after a name that make it a company."""
SAINTS = _section("saint")
"""Words that make a given name the name of a place."""
PERSON_WORDS = frozenset(
    phrase
    for section, _, phrase, _ in _read()
    if section in ("title", "role") and " " not in phrase and len(phrase) > 1
)
"""Titles and roles of one word, which precede a person's name."""
