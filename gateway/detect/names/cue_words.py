"""Finds names next to cues: titles, introductions, greetings, closings, roles, labels, known given names.

Each sort of cue has one function that checks the place directly after it (the cue itself for a given name) and returns
the name there, if any. They differ in the text allowed in between and in their requirements on the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from ...domain.work import spend
from ..text.words import Words
from .clues import Clue
from .companies import is_company
from .cues import CUES, SAINTS, SURNAMES, Cue, Place
from .given_names import GIVEN_WORDS
from .label_below import name_below
from .shape import LOWER, Name, ends_like_surname, is_lower, is_non_name, name_at, word_before

_LOWER_BEHIND = re.compile(f" {LOWER}")  # after most cues: "the customer asked"
_AFTER_TITLE = re.compile(r"\.?[ \t\u00a0]{1,3}|\.(?=\w)")
_AFTER_WORDS = re.compile(r"[ \t]?[,:–—-]?[ \t\u00a0]{1,3}[\"'“«]?|[ \t]?:[ \t]?[\"'“«]?")
_AFTER_GREETING = re.compile(r"[,!،]?[ \t\u00a0]{1,3}")
_AFTER_CLOSING = re.compile(r"(?P<mark>[ \t]?[,.!،]{1,3})?(?P<gap>\s{1,8})(?:[-–—*_]{1,3}\s{0,4})?")
_LINE_END = re.compile(r"[ \t]*(?:[.,،][ \t]*)?(?:$|[\n,(|–—-])")
_LINE_START = re.compile(r"(?:^|[\n.!?:>\"«“(*-])[ \t>]{0,4}\Z")
# A colon within the line makes it a label: "Guten Tag, AHV: 756...".
_AFTER_ADDRESSEE = re.compile(r"[ \t]?(?:$|[,!;\n–—-]|\.(?!:)|:[ \t]*(?:\n|$))")
_OWNS = re.compile(r"['’]s [a-z]")
# Words directly before the name of the addressee in a chat.
_SPOKEN_TO = re.compile(
    r"(?<![^\W_])(?:thanks|thank you|thx|sure|yes|yeah|no|ok|okay|wow|great|sorry|morning|congratulations|congrats"
    r"|perfect|please|welcome|bye|goodbye|well done|of course|absolutely|right|you|danke|ja|nein|klar|merci|oui|non"
    r"|gracias|sí|dziękuję|tak|nie|dzięki|спасибо|да|нет|конечно|makasih|terima kasih|ya|tidak|grazie|bedankt"
    r"|obrigad[oa]),? \Z",
    re.IGNORECASE,
)
_CUE_WORK, _NAME_WORK = 3, 30  # units of work: a cue, and a name next to one
_LONGEST_CALL = 20  # characters
_CALL_END = re.compile(r"[!?.,](?![\w])")
_NUMBER_BEFORE = re.compile(r"[0-9][ \t\u00a0]?\Z")


def by_cue(text_words: Words, clues: Sequence[Clue]) -> Iterator[tuple[str, Name]]:
    """Yield names next to cues, each with its rule.

    Args:
        clues: in the text.
    """
    hits: list[tuple[int, int, Cue]] = []
    given = Place.GIVEN  # once: an enum's members take long to get
    for end, phrase in clues:
        for cue in CUES.get(phrase, ()):
            hits.append((end - len(phrase) + 1 if cue.place is given else end - 1, len(hits), cue))
    spend(_CUE_WORK * len(hits))
    hits.sort()
    for at, (_, _, cue) in zip(text_words.characters([hit[0] for hit in hits]), hits, strict=True):
        rule, look = _LOOKS[cue.place]
        name = look(text_words.text, at, cue)
        if name is not None:
            spend(_NAME_WORK)
            if not is_company(text_words.text, name.start, name.end):
                yield rule, name


def _titled(text: str, at: int, cue: Cue) -> Name | None:
    if not cue.takes_lower and _LOWER_BEHIND.match(text, at):
        return None
    match = _AFTER_TITLE.match(text, at)
    if match is None:
        return None
    if cue.only_abbreviated and not match[0].startswith("."):
        return None
    start = at - cue.length
    if cue.only_capital and not text[start].isupper():
        return None
    if text[start].islower() and _NUMBER_BEFORE.search(text, max(0, start - 2), start):
        return None  # "12 ms": a unit
    name = name_at(text, match.end())
    if name is not None and cue.length == 1 and match[0] == "." and text[name.start : name.end].isupper():
        return None  # "P.IVA": an abbreviation goes on
    if name is None and cue.takes_lower and text[at - cue.length].islower():
        name = name_at(text, match.end(), may_be_lower=True, most=2)
        if name is not None and name.given == 0:
            name = name_at(text, match.end(), may_be_lower=True, most=1)
    return name


def _introduced(text: str, at: int, cue: Cue) -> Name | None:
    if not cue.takes_lower and _LOWER_BEHIND.match(text, at):
        return None
    match = _AFTER_WORDS.match(text, at)
    return None if match is None else name_at(text, match.end(), may_be_lower=cue.takes_lower)


def _weakly_introduced(text: str, at: int, cue: Cue) -> Name | None:
    match = _AFTER_WORDS.match(text, at)
    name = None if match is None else name_at(text, match.end(), may_be_lower=True)
    if name is None:
        return None
    is_lower = text[name.start].islower()
    enough = (
        name.given > 0 if is_lower or cue.language in ("ar", "de") else name.given or name.words + name.initials >= 2
    )
    return name if enough else None


def _greeted(text: str, at: int, cue: Cue) -> Name | None:
    start = at - cue.length
    match = _AFTER_GREETING.match(text, at)
    if match is None or _LINE_START.search(text, max(0, start - 6), start) is None:
        return None
    name = name_at(text, match.end(), may_be_lower=True)
    if name is None:
        return None
    if name.given:
        return name
    return (
        name
        if not text[name.start].islower() and cue.language != "ar" and _AFTER_ADDRESSEE.match(text, name.end)
        else None
    )


def _closing(text: str, at: int, cue: Cue) -> Name | None:
    match = _AFTER_CLOSING.match(text, at)
    if match is None:
        return None
    is_next_line = "\n" in match["gap"]
    if not is_next_line and cue.only_next_line:
        return None
    name = name_at(text, match.end(), may_be_lower=True)
    if name is None or _LINE_END.match(text, name.end) is None:
        return None
    if text[name.start].islower() or not (is_next_line or match["mark"]):
        return name if name.given else None
    return name


def _by_role(text: str, at: int, cue: Cue) -> Name | None:
    if _LOWER_BEHIND.match(text, at):
        return None
    match = _AFTER_WORDS.match(text, at)
    name = None if match is None else name_at(text, match.end())
    if match is None or name is None:
        return name_below(text, at)
    if name.given:
        return name
    if cue.language == "ar":
        return None
    if cue.language == "de":
        return name if name.words >= 2 or name.initials else None
    if name.words + name.initials >= 2 or ends_like_surname(text[name.start : name.end]):
        return name
    # "customer Smith asked": one word with a capital after a cue without one, so this is not a heading.
    return name if text[at - cue.length].islower() and not match[0].strip() and cue.language == "en" else None


def _labelled(text: str, at: int, _: Cue) -> Name | None:
    return name_below(text, at)


def _given(text: str, at: int, cue: Cue) -> Name | None:
    if is_lower(text, at):
        return None
    if _OWNS.match(text, at + cue.length):  # "Anna's account"
        return Name(at, at + cue.length, 1, 0, 1) if text[at : at + cue.length].lower() not in GIVEN_WORDS else None
    name = name_at(text, at)
    if name is None:
        return None
    if not name.given:
        rest = text[at : name.end].lower().split()[1:]
        return name if rest and rest[-1] in SURNAMES else None
    if not text[at].isupper():  # Arabic script: two names, or a name and a nisba
        rest = text[name.start : name.end].split()
        is_certain = (
            name.given >= 2 or any(word.startswith("ال") and word.endswith("ي") for word in rest[1:]) or "بن" in rest
        )
        return name if name.words >= 2 and is_certain else None
    before = word_before(text, at)
    if before is not None and before[1].lower() in SAINTS:
        return None
    if name.words + name.initials >= 2:
        return name
    if _is_called(text, at, name.end):
        return name
    # "Kowalska Anna": the surname is first, within a sentence or with a surname's ending.
    if before is None or not before[1][0].isupper() or is_non_name(before[1], before[1].lower()) or len(before[1]) < 3:
        return None
    if ends_like_surname(before[1]) or _LINE_START.search(text, max(0, before[0] - 6), before[0]) is None:
        return Name(before[0], name.end, 2, 0, 1)
    return None


def _is_called(text: str, start: int, end: int) -> bool:
    """Return whether the name addresses a person: "Thanks, Anna.", "well done, Anna!"."""
    if text[end : end + 1] == "!" and text[max(0, start - 2) : start] == ", ":
        return True
    return bool(_CALL_END.match(text, end) and _SPOKEN_TO.search(text, max(0, start - _LONGEST_CALL), start))


_LOOKS: dict[Place, tuple[str, Callable[[str, int, Cue], Name | None]]] = {
    Place.TITLE: ("NAME_TITLE", _titled),
    Place.INTRODUCTION: ("NAME_INTRODUCED", _introduced),
    Place.WEAK_INTRODUCTION: ("NAME_INTRODUCED", _weakly_introduced),
    Place.GREETING: ("NAME_GREETING", _greeted),
    Place.CLOSING: ("NAME_CLOSING", _closing),
    Place.ROLE: ("NAME_ROLE", _by_role),
    Place.LABEL: ("NAME_FIELD", _labelled),
    Place.GIVEN: ("NAME_GIVEN", _given),
}
