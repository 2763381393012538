"""Names in fields (`Name: ...`, `"customer_name": ...`, `ФИО: ...`) and in rows with an identifier."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...domain.entities import EntityType
from ...domain.work import spend
from ..context.table_rows import rows_of
from ..findings.finding import Finding
from .companies import is_company
from .cues import FIELDS, OTHER_FIELDS, PARTICLES, WEAK_FIELDS
from .given_names import GIVEN_WORDS
from .non_names import is_common_word
from .shape import Name, is_lower, name_at

_SIGN_WORK = 4  # units of work: a sign that may end a label
_LONGEST_LABEL = 40  # characters
_LONGEST_SIDE = 200  # characters of a line on either side of its tab; a longer line is not a label with its value
_MOST_LABEL_WORDS = 4
_SIGNS = (":", "=", "|", "：", "\t")
_BEFORE_LABEL = "\n\t,;{|:>"
_LABEL_START = re.compile(f"[{_BEFORE_LABEL}]")
_LABEL_WORD = re.compile(r"[^\W\d_](?:[^\W\d_A-Z]|(?<![a-z])[A-Z])*")  # of `customerName` two
_BEFORE_VALUE = re.compile(r"[ \t\u00a0]{0,8}(?:\r?\n[ \t]{0,4})?[\"'“«*_]{0,2}[ \t]{0,2}")
_COMMA = re.compile(r",[ \t]{0,2}")
_ENDS = frozenset(f" {label}"[-2:] for label in FIELDS)
_LAST_WORDS = frozenset(label.split()[-1] for label in FIELDS)
_RULER = re.compile(r"\n[ \t]{0,8}(?:\|[ \t]{0,8})?:?---")
_VALUE_END = re.compile(r" *(?:$|[\t\n\r\"'”»,;|<(\[\])}*_/.،؛-])")

_SPEAKER = re.compile(
    r"[ \t>*-]{0,4}(?P<time>[\[(][^\])\n]{0,20}[0-9]:[0-9]{2}[^\])\n]{0,12}[\])][ \t]?"
    r"|[0-9]{1,2}:[0-9]{2}[^\w\n]{1,4})?[*_]{0,2}"
    r"(?P<name>[^\W\d_][^\n:;,()\[\]<>|*_]{1,40}?)(?:,? ?[(\[][^)\]\n]{1,40}[)\]])?[*_]{0,2}:[ \t\n]"
)
_LONGEST_SPEAKER = 100  # characters to the first colon, with the text next to the name
_ROW_KINDS = frozenset(EntityType) - {
    EntityType.PERSON,
    EntityType.ORG,
    EntityType.SECRET,
    EntityType.IP,
    EntityType.MAC,
    EntityType.SWIFT,
    EntityType.CRYPTO,
}
_BEFORE_CELL = r"[ \t]{0,4}(?:\d{1,4}[.)][ \t]{1,3}|[-*•][ \t]{1,3})?[\"']?"
_FIRST_CELL = re.compile(_BEFORE_CELL)
# One character first, so that most of a row is skipped in one step.
_CELL = re.compile(rf"[;|,<(:\s](?:(?<=[;|\t,<(:])|[-–—]\s){_BEFORE_CELL}")
_LABEL_END = re.compile(r"[\"']?[ \t]{0,4}:")
_CELL_END = re.compile(r"[\"']?[ \t]{0,4}(?:$|[;|\t,<(:]|\s[-–—]\s)")


def in_fields(text: str) -> Iterator[tuple[str, Name]]:
    """Yield names after a label of names, each with its rule."""
    for at in _signs(text):
        if not _ends_like_a_label(text, at):
            continue
        words = _label(text, at)
        label = field_at_end(words)
        if not label:
            continue
        before = words[: len(words) - len(label.split())]
        if before and before[-1] in OTHER_FIELDS:
            continue
        value = _BEFORE_VALUE.match(text, at + 1)
        assert value is not None  # it may be empty
        if text[at] == "\t" and not _is_all_of_a_line(text, at):
            continue  # the headers of a table
        if text[at] == "|" and _RULER.match(text, text.find("\n", at)):
            continue  # the headers of a table
        name = _with_given(text, name_at(text, value.end(), may_be_lower=True))
        is_cell = text[at] == "\t"
        if name is None or not _is_believed(text, name, label, is_cell=is_cell):
            continue
        if not is_company(text, name.start, name.end):
            yield "NAME_FIELD", name


def speakers(text: str) -> Iterator[tuple[str, Name]]:
    """Yield the speakers of a transcript: "[10:17] Anna: yes", "Anna Nordmann (sales): yes"."""
    spend(text.count("\n"))
    for start in _lines(text):
        if text.find(":", start, start + _LONGEST_SPEAKER) < 0:
            continue
        match = _SPEAKER.match(text, start)
        name = name_at(text, match.start("name")) if match is not None else None
        if match is None or name is None or name.end != match.end("name"):
            continue
        if name.given or (match["time"] and match["name"].lower() in GIVEN_WORDS):
            yield "NAME_SPEAKER", name


def _lines(text: str) -> Iterator[int]:
    """Return the starts of all lines; faster than a regular expression."""
    yield 0
    start = text.find("\n") + 1
    while start:
        yield start
        start = text.find("\n", start) + 1


def _with_given(text: str, name: Name | None) -> Name | None:
    """Return the name including a known given name after its comma: "Nordmann, Anna"."""
    comma = _COMMA.match(text, name.end) if name is not None else None
    given = name_at(text, comma.end()) if comma is not None else None
    if name is None or given is None or not given.given:
        return name
    return Name(name.start, given.end, name.words + given.words, name.initials + given.initials, given.given)


def _signs(text: str) -> list[int]:
    places: list[int] = []
    for sign in _SIGNS:
        place = text.find(sign)
        while place >= 0:
            places.append(place)
            place = text.find(sign, place + 1)
    spend(_SIGN_WORK * len(places))
    return places


def _ends_like_a_label(text: str, at: int) -> bool:
    """Return False if no label can end at `at`. Reads only the last letters and word, to save time."""
    last, first = at - 1, max(0, at - _LONGEST_LABEL)
    while last >= first and not text[last].isalpha():
        if text[last] in _BEFORE_LABEL:
            return False
        last -= 1
    if last < first:
        return False
    letter, before = text[last], text[last - 1] if last > first else " "
    if not before.isalpha() or (letter.isupper() and before.islower()):
        before = " "
    if (before + letter).lower() not in _ENDS:
        return False
    word = text[first : last + 1].rsplit(None, 1)[-1]
    return not (word.isalpha() and word[1:].islower()) or word.lower() in _LAST_WORDS


def field_at_end(words: Sequence[str]) -> str:
    """Return the longest label at the end of `words`; empty if they end with no known label."""
    for number in range(min(len(words), _MOST_LABEL_WORDS), 0, -1):
        label = " ".join(words[-number:])
        if label in FIELDS:
            return label
    return ""


def _label(text: str, at: int) -> list[str]:
    """Return the words before a sign."""
    return words_of_label(_LABEL_START.split(text[max(0, at - _LONGEST_LABEL) : at])[-1])


def words_of_label(label: str) -> list[str]:
    """Return the words of a label in lower case, without its signs; `customerName` has two words."""
    return [word.lower() for word in _LABEL_WORD.findall(label)]


def has_everyday_word(name: str) -> bool:
    """Return whether one of the words is one of any language, particles in lower case (`van der`) not counted."""
    words = words_of_label(name)
    return any(is_common_word(word) and not (word in PARTICLES and f" {word} " in name) for word in words)


def _is_all_of_a_line(text: str, at: int) -> bool:
    """Return whether a tab is the only one of its line and separates a label from its value, not two headers."""
    first, last = max(0, at - _LONGEST_SIDE), min(len(text), at + _LONGEST_SIDE)
    start, end = text.rfind("\n", first, at), text.find("\n", at, last)
    if (start < 0 < first) or (end < 0 and last < len(text)):
        return False
    end = last if end < 0 else end
    if text.count("\t", start + 1, end) > 1:
        return False
    cell, tab, _ = text[end + 1 : end + 1 + _LONGEST_LABEL].partition("\t")
    below = name_at(cell, 0)
    return not tab or below is None or below.end < len(cell) or not (below.given or below.words > 1)


def _is_believed(text: str, name: Name, label: str, *, is_cell: bool) -> bool:
    is_whole = _VALUE_END.match(text, name.end) is not None
    if is_cell and not name.given:  # it may be the second header of two
        written = text[name.start : name.end]
        is_two = len(words_of_label(written)) > 1
        return is_whole and label not in WEAK_FIELDS and is_two and not has_everyday_word(written)
    if text[name.start].islower():
        return is_whole and (name.words >= 2 or name.given > 0)
    if label in WEAK_FIELDS:
        return name.given > 0 or (name.words + name.initials >= 2 and is_whole)
    return is_whole or name.words + name.initials >= 2


def in_rows(text: str, found: Sequence[Finding]) -> Iterator[tuple[str, Name]]:
    """Yield names that fill a cell of a row with an identifier, each with its rule."""
    for start, done in rows_of(text, found, _ROW_KINDS):
        row = text[start:done]
        first = _FIRST_CELL.match(row)
        assert first is not None  # it may be empty
        for at in (first.end(), *(cell.end() for cell in _CELL.finditer(row, first.end()))):
            if not row[at : at + 1].isalnum() or is_lower(row, at):
                continue
            name = name_at(row, at)
            if name is None or name.start != at or _CELL_END.match(row, name.end) is None:
                continue
            if name.given or (name.words + name.initials >= 2 and not _LABEL_END.match(row, name.end)):
                yield "NAME_ROW", Name(start + name.start, start + name.end, name.words, name.initials, name.given)
