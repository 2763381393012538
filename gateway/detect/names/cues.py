"""Cues: what stands beside a name, read from `cues.txt`.

Every phrase hangs on its rarest word, so that looking for a thousand phrases is one intersection of two sets of words
(`reading.words_of(CUE_WORDS, found)`); only then is the whole phrase looked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sovctl.gateway.detect.everyday_words import GROUP_OF
from sovctl.gateway.detect.names.given_names import GIVEN_NAMES, GIVEN_WORDS


class Place(StrEnum):
    """What a cue says about the word after it."""

    TITLE = "title"
    INTRODUCTION = "introduction"
    WEAK_INTRODUCTION = "weak introduction"
    GREETING = "greeting"
    CLOSING = "closing"
    ROLE = "role"
    GIVEN = "given"  # the word itself is a given name


@dataclass(frozen=True, slots=True)
class Cue:
    """One phrase."""

    place: Place
    language: str
    """ISO 639-1; empty for a given name."""
    phrase: bytes
    """As it stands in `Reading.folded`, with a space at both ends."""
    length: int
    """Characters, without those spaces."""
    only_capital: bool = False
    only_abbreviated: bool = False
    only_next_line: bool = False
    takes_lower: bool = False
    """A name behind it may be without capitals."""


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
    """Its forms within a sentence, at the beginning and in capitals; ASCII is in lower case in any of them."""
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
    rows += [(Place.GIVEN, "", name, "") for name in sorted(GIVEN_NAMES | GIVEN_WORDS)]
    found: dict[bytes, dict[bytes, dict[Place, Cue]]] = {}
    for section, language, phrase, marks in rows:
        for form in _with_prefixes(language, phrase):
            for written in _written(form):
                words = written.split()
                key = max(reversed(words), key=lambda word: (word not in GROUP_OF, len(word)))
                spaced = b" " + b" ".join(words) + b" "
                flags = {_MARKS[mark]: True for mark in marks}
                cue = Cue(Place(section), language, spaced, len(form), **flags)
                found.setdefault(key, {}).setdefault(spaced, {}).setdefault(cue.place, cue)
    return {
        key: tuple(cue for by_place in phrases.values() for cue in by_place.values()) for key, phrases in found.items()
    }


def _section(name: str) -> frozenset[str]:
    return frozenset(phrase for section, _, phrase, _ in _read() if section == name)


CUES: dict[bytes, tuple[Cue, ...]] = _cues()
"""The word that a phrase hangs on -> the phrases."""
JOINTS = frozenset((b"bin", b"ibn", b"bint", b"binti", "بن".encode(), "بنت".encode(), "ابن".encode()))
"""What joins the names of a person and of the father."""
CUE_WORDS = frozenset(CUES) | JOINTS
"""Every word beside which a name may stand, for one look at a text."""

TITLES = frozenset(phrase for phrase in _section("title") if " " not in phrase)
"""Titles of one word, in lower case."""

FIELDS = _section("field")
"""What stands before a colon and a name, in lower case, one space between words."""
WEAK_FIELDS = _section("weak field")
"""Those of them that hold other things as often."""
OTHER_FIELDS = _section("other")
"""What makes a `name` field somebody else's: `product`."""
PARTICLES = _section("particle")
"""Lower-case words within a name."""
SURNAMES = _section("surname")
"""What makes a word that is a given name as well one."""
COMPANIES = _section("company")
"""What follows a name that is no person's."""
SAINTS = _section("saint")
"""What makes a given name a place's."""
PERSON_WORDS = frozenset(
    phrase
    for section, _, phrase, _ in _read()
    if section in ("title", "role") and " " not in phrase and len(phrase) > 1
)
"""Titles and roles of one word: who stands behind one is a person."""
