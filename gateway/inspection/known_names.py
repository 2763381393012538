"""Finds other forms of a name that was found before: "Kowalskiej", "A. Kowalska", "kowalska" after "Anna Kowalska".

The detector cannot find them, because it scans one text at a time and requires a cue. After the full name, a text may
contain the surname or given name alone, inflected, with initials, or transliterated.

| form | when |
|---|---|
| a part of the name, as it was written | with a capital, or in capitals; in lower case unless it is a common word |
| the same part inflected | if its ending belongs to the part's declension (`edm.forms.exact_forms`) |
| the same part in Cyrillic or Latin letters | by a standard transliteration, or by its sound from six letters on |
| initials next to a part, both initials alone | if they are those of the same person |

A common word ("Will", "May") is not a name at the beginning of a sentence or after an article. A form has the value of
the part it was derived from: two people of one surname share its tokens, but not those of their given names.
All this holds for one request, or one named conversation. This module is pure.

    aliases = Aliases()
    aliases.learn("Anna Kowalska")
    [text[f.start : f.end] for f in aliases.find(text)]       # text: "Kowalskiej nie ma": ["Kowalskiej"]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from ..detect.edm.forms.common_words import DETERMINERS, is_common
from ..detect.edm.forms.exact_forms import listed_forms, text_forms, without_marks
from ..detect.edm.forms.keys import initial_classes, listed_keys, text_keys
from ..detect.edm.forms.spelling import is_arabic
from ..detect.edm.forms.stems import stems
from ..detect.edm.index.people import JOINTS
from ..detect.findings.finding import Finding
from ..detect.names.cues import PARTICLES, TITLES
from ..detect.names.given_names import is_given_name
from ..detect.names.non_names import is_common_word
from ..domain.entities import EntityType

RULE = "NAME_PART"

_PART = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SHORTEST = 3  # letters; shorter parts of a name are initials and particles
_SHORTEST_SOUND = 6  # letters of a part that is known by its sound alone in another script
_SHORTEST_LOWER = 6  # letters of a part that is known in lower case by its stem
_LONGEST_ENDING = 4  # letters by which two cases of a name differ at its end
_LATIN_WORD = re.compile(r"(?<![^\W_])[A-ZÀ-ÞŁŚŻŹĆ][a-zß-ÿąćęłńóśźż'’-]{2,}")
_CYRILLIC_WORD = re.compile(r"(?<![^\W_])[\u0400-\u042f][\u0430-\u052f-]{2,}")
_CYRILLIC = re.compile("[\u0400-\u052f]")
_INITIALS_BEFORE = re.compile(r"(?<![^\W_])((?:[^\W\d_]\.[ \u00a0]?){1,2})\Z")
_INITIALS_BEHIND = re.compile(r",?[ \u00a0]((?:[^\W\d_]\.[ \u00a0]?){0,1}[^\W\d_]\.)")
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n\r>•*«“\"(-])[ \t]{0,4}\Z")
_WORD_BEFORE = re.compile(r"([^\W\d_]+)[ \t]{1,2}\Z")
_ABBREVIATIONS = frozenset(
    """
    u.s. u.k. u.n. e.u. p.s. a.m. p.m. d.c. n.b. a.g. s.a. n.v. b.v. e.v. i.e. e.g. z.b. d.h. u.a. p.o. l.p. т.е. т.д.
    """.split()  # noqa: SIM905 - a table is read more easily than a list of quoted words
)
_DIGRAPHS = {"х": frozenset("k"), "ц": frozenset("tk")}
"""Letters that are written with two in Latin: Kh, Ts."""
_NO_PARTS = PARTICLES | TITLES | JOINTS


@dataclass(slots=True)
class _Part:
    """One word of a name."""

    word: str
    """In lower case."""
    letters: set[str] = field(default_factory=set)
    """First letters of the other parts of the names that contain it."""
    forms: frozenset[str] = frozenset()
    """Keys of the name as a listed name; computed on first use."""
    own_forms: frozenset[str] = frozenset()
    """Keys of the name as a word of a text; computed on first use."""
    keys: frozenset[str] = frozenset()
    """Likewise."""
    beginnings: frozenset[str] = frozenset()
    """Likewise."""
    is_ordinary: bool | None = None

    def spellings(self) -> frozenset[str]:
        """Common prefixes of all its inflected forms, as written and without marks, in all letter cases."""
        if not self.beginnings:
            self.beginnings = frozenset(self._spellings())
        return self.beginnings

    def _spellings(self) -> Iterator[str]:
        if is_arabic(self.word):
            plain = self.word.removeprefix("ال") if len(self.word) > 4 else self.word
            yield plain[: max(_SHORTEST, len(plain) - _LONGEST_ENDING)]
            return
        every = {self.word, self.word.replace("ss", "ß"), self.word.replace("'", "’")}  # case folding has made ss of ß
        every |= {self.word.replace("е", "ё")} if _is_cyrillic(self.word) else without_marks(self.word)
        shortest = _SHORTEST - (len(self.word) == _SHORTEST and _is_cyrillic(self.word))
        for each in every:
            prefix = each[: max(shortest, len(each) - _LONGEST_ENDING)]
            yield from (prefix, prefix.capitalize(), prefix.title(), prefix.upper())

    def is_common(self) -> bool:
        """Return whether a word also has another meaning than a name."""
        if self.is_ordinary is None:
            self.is_ordinary = is_common(self.word)
        return self.is_ordinary

    def is_case(self, word: str) -> bool:
        """Return whether a word is this one, in this case or another."""
        if word == self.word:
            return True
        if is_arabic(word):
            return self.word in stems(word)
        if _is_cyrillic(word) and _is_cyrillic(self.word):
            forms = text_forms(word)
            return not (text_forms(self.word) | listed_forms(self.word)).isdisjoint(forms)
        if not self.forms:
            self.forms = listed_forms(self.word)
        if not self.forms.isdisjoint(text_forms(word)):
            return True
        if not self.own_forms:
            self.own_forms = text_forms(self.word)
        return not self.own_forms.isdisjoint(listed_forms(word))

    def is_transliteration(self, word: str) -> bool:
        """Return whether a word of another script is this one."""
        if abs(len(word) - len(self.word)) > _LONGEST_ENDING or _classes(word[0]).isdisjoint(_classes(self.word[0])):
            return False
        if not self.forms:
            self.forms = listed_forms(self.word)
        if not self.forms.isdisjoint(text_forms(word)):
            return True
        if min(len(word), len(self.word)) < _SHORTEST_SOUND:
            return False
        keys = listed_keys(self.word, is_arabic_name=False, is_given=False)
        return not set(keys).isdisjoint(text_keys(word, has_arabic_names=False))

    def arabic_keys(self) -> frozenset[str]:
        """Return the keys of a name in Arabic script."""
        if not self.keys:
            self.keys = frozenset(listed_keys(self.word, is_arabic_name=True, is_given=False))
        return self.keys


class Aliases:
    """Names that are known, and where else they stand."""

    def __init__(self) -> None:
        self._parts: dict[str, _Part] = {}
        self._initials: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._parts)

    def learn(self, name: str) -> None:
        """Add a person's name as written in a text."""
        every = _PART.findall(name)
        words = [word for word in every if len(word) >= _SHORTEST and word.casefold() not in _NO_PARTS]
        if len(every) > 1 and every[0].istitle() and every[0].casefold() in PARTICLES and len(every[0]) >= _SHORTEST:
            words.insert(0, every[0])  # Ben means "son of" only within a name
        known = [word for word in words if word[0].isupper() or _may_be_known(word)]
        for word in known:
            part = self._parts.setdefault(word.casefold(), _Part(word.casefold()))
            part.letters.update(other[0].upper() for other in every if other != word)
        if len(words) == len(known) == 2:
            first, second = (word[0].upper() for word in words)
            self._initials.update((f"{first}.{second}.", f"{first}. {second}."))

    def find(self, text: str) -> list[Finding]:
        """Return the findings of known names and parts of them; adjacent parts are one finding."""
        if not self._parts:
            return []
        found: dict[tuple[int, int], _Part] = {}
        for part in self._parts.values():
            for start, end in self._cases(text, part):
                if (start, end) not in found or text[start:end].casefold() == part.word:
                    found[start, end] = part
        if not text.isascii() or any(not part.word.isascii() for part in self._parts.values()):
            for start, end, part in self._of_another_script(text):
                found.setdefault((start, end), part)
        return [*self._joined(text, found), *self._bare_initials(text)]

    def _cases(self, text: str, part: _Part) -> Iterator[tuple[int, int]]:
        is_joined = is_arabic(part.word)  # to articles and prepositions
        for spelling in part.spellings():
            place = text.find(spelling)
            while place >= 0:
                if is_joined or not _is_word(text[place - 1 : place]):
                    word = _word_at(text, place)
                    if word and part.is_case(text[slice(*word)].casefold()) and _is_name_here(text, *word, part):
                        yield word
                place = text.find(spelling, place + 1)

    def _of_another_script(self, text: str) -> Iterator[tuple[int, int, _Part]]:
        has_cyrillic = not text.isascii() and _CYRILLIC.search(text) is not None
        if any(is_arabic(part.word) for part in self._parts.values()):
            yield from self._of_arabic(text)
        for pattern, is_cyrillic in ((_CYRILLIC_WORD, True), (_LATIN_WORD, False)):
            parts = [p for p in self._parts.values() if not is_arabic(p.word) and _is_cyrillic(p.word) != is_cyrillic]
            if not parts or (is_cyrillic and not has_cyrillic):
                continue
            for match in pattern.finditer(text):
                word = match.group().casefold()
                if is_common_word(word):
                    continue
                for part in parts:
                    if part.is_transliteration(word):
                        yield *match.span(), part
                        break

    def _of_arabic(self, text: str) -> Iterator[tuple[int, int, _Part]]:
        """Yield names known in Arabic script that a text contains in Latin letters."""
        parts = [part for part in self._parts.values() if is_arabic(part.word)]
        for match in _LATIN_WORD.finditer(text):
            keys = () if is_common_word(match.group().casefold()) else text_keys(match.group())
            yield from ((*match.span(), part) for part in parts if not part.arabic_keys().isdisjoint(keys))

    def _joined(self, text: str, found: dict[tuple[int, int], _Part]) -> Iterator[Finding]:
        """Yield one finding for parts separated by a space, a comma or a hyphen, including adjacent initials."""
        spans = sorted(found)
        while spans:
            start, end = spans.pop(0)
            parts = [found[start, end]]
            while spans and (spans[0][0] < end or text[end : spans[0][0]] in (" ", "-", ", ", "\u00a0")):
                following = found[spans[0]]
                if spans[0][0] >= end:
                    if following in parts:
                        break
                    parts.append(following)
                end = max(end, spans.pop(0)[1])
            letters = parts[0].letters | parts[-1].letters
            before = _INITIALS_BEFORE.search(text, max(0, start - 8), start)
            if before is not None and _is_initial_of(before[1][0], letters):
                start = before.start()
            behind = _INITIALS_BEHIND.match(text, end)
            if behind is not None and _is_initial_of(behind[1][0], letters):
                end = behind.end()
            yield Finding(start, end, EntityType.PERSON, 0.5, " ".join(part.word for part in parts), RULE)

    def _bare_initials(self, text: str) -> Iterator[Finding]:
        for initials in self._initials:
            place = text.find(initials)
            while place >= 0:
                end = place + len(initials)
                is_own = not text[place - 1 : place].isalnum() and not text[end : end + 1].isalnum()
                if is_own and initials.replace(" ", "").lower() not in _ABBREVIATIONS:
                    yield Finding(place, end, EntityType.PERSON, 0.5, initials.replace(" ", "").casefold(), RULE)
                place = text.find(initials, end)


def _may_be_known(word: str) -> bool:
    """Return False for a word without a capital that could be any; in Arabic script every word is one."""
    return not is_common_word(word) if is_arabic(word) and is_given_name(word) else not is_common(word)


def _is_initial_of(letter: str, letters: set[str]) -> bool:
    if letter.upper() in letters or not letters:
        return bool(letters)
    return any(_is_cyrillic(each) != _is_cyrillic(letter) and _classes(each) & _classes(letter) for each in letters)


@cache
def _classes(letter: str) -> frozenset[str]:
    """Return the classes of a first letter in other scripts; the cache is bounded by the number of letters."""
    return initial_classes(letter) | _DIGRAPHS.get(letter.lower(), frozenset())


def _word_at(text: str, place: int) -> tuple[int, int] | None:
    """Return the word at `place`; None if it is part of a string with digits."""
    start = place
    while start > 0 and text[start - 1].isalpha():
        start -= 1
    match = _PART.match(text, start)
    if match is None or _is_word(text[start - 1 : start]) or _is_word(text[match.end() : match.end() + 1]):
        return None
    end = match.end()
    cut = max(match.group().find("'"), match.group().find("’"))
    return (start, start + cut) if cut >= _SHORTEST and end - start - cut <= _LONGEST_ENDING + 1 else (start, end)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _is_name_here(text: str, start: int, end: int, part: _Part) -> bool:
    """Return False if the word is more likely a word of the language than a name."""
    word = text[start:end].casefold()
    if is_arabic(word):
        return True
    if not text[start].isupper():
        return (word == part.word or len(part.word) >= _SHORTEST_LOWER) and not part.is_common()
    before = _WORD_BEFORE.search(text, max(0, start - 14), start)
    if before is not None and before[1].casefold() in DETERMINERS:
        return not part.is_common()
    is_first = _SENTENCE_START.search(text, max(0, start - 6), start) is not None
    return not is_first or not (is_common_word(part.word) or is_common_word(word))


def _is_cyrillic(word: str) -> bool:
    return "\u0400" <= word[:1] <= "\u052f"
