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
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from operator import attrgetter, methodcaller

from ..detect.edm.forms.common_words import DETERMINERS, is_common
from ..detect.edm.forms.keys import initial_classes, text_keys
from ..detect.edm.forms.spelling import is_arabic
from ..detect.edm.index.people import JOINTS
from ..detect.findings.finding import Finding
from ..detect.names.cues import PARTICLES, TITLES
from ..detect.names.given_names import is_given_name
from ..detect.names.non_names import is_common_word
from ..domain.entities import EntityType
from ..domain.work import spend
from .known_values import is_search_faster, is_word
from .name_part import LONGEST_ENDING, SHORTEST, NamePart, WordForms, is_cyrillic

RULE = "NAME_PART"

_PART = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SHORTEST_SOUND = 6  # letters of a part that is known by its sound alone in another script
_SHORTEST_LOWER = 6  # letters of a part that is known in lower case by its stem
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]+")
_APOSTROPHES = ("'", "’")
_BETWEEN_PARTS = (" ", "-", ", ", "\u00a0")
_TWO_INITIALS = re.compile(r"(?=([^\W\d_]\. ?[^\W\d_]\.))")
_start_of = methodcaller("start")
_order_of = attrgetter("order")
# Units of work, measured 2026-11.
_PLACE_WORK = 2  # a place where a beginning of a name was found
_FOUND_WORK = 5  # a finding
_PART_WORK = 15  # spellings of a part
_KEYS_WORK = 60  # keys of a word in Arabic script
_LONG_WORD = 16  # characters; a longer word costs a unit for each of so many
_CHARACTERS_OF_UNIT = 25  # of a text whose words are looked up
_LATIN_WORD = re.compile(r"(?<![^\W_])[A-ZÀ-ÞŁŚŻŹĆ][a-zß-ÿąćęłńóśźż'’-]{2,}")
_CYRILLIC_WORD = re.compile(r"(?<![^\W_])[\u0400-\u042f][\u0430-\u052f-]{2,}")
_CYRILLIC = re.compile("[\u0400-\u052f]")
_INITIALS_BEFORE = re.compile(r"(?<![^\W_])((?:[^\W\d_]\.[ \u00a0]?){1,2})\Z")
_INITIALS_BEHIND = re.compile(r",?[ \u00a0]((?:[^\W\d_]\.[ \u00a0]?){0,1}[^\W\d_]\.)")
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n\r>•*«“\"(-])[ \t]{0,4}\Z")
_WORD_BEFORE = re.compile(r"([^\W\d_]+)[ \t]{1,2}\Z")
# English only: in German and Spanish, people say "die Kowalska".
_ARTICLE = re.compile(
    r"(?<![^\W_])(?:the|a|an|this|these|each|every|any|its|our|their|your)[ \t\n]{1,2}\Z", re.IGNORECASE
)
_ARTICLE_WITHIN = 8  # characters
_ABBREVIATIONS = frozenset(
    """
    u.s. u.k. u.n. e.u. p.s. a.m. p.m. d.c. n.b. a.g. s.a. n.v. b.v. e.v. i.e. e.g. z.b. d.h. u.a. p.o. l.p. т.е. т.д.
    """.split()  # noqa: SIM905 - a table is read more easily than a list of quoted words
)
_DIGRAPHS = {"х": frozenset("k"), "ц": frozenset("tk")}
"""Letters that are written with two in Latin: Kh, Ts."""
_NO_PARTS = PARTICLES | TITLES | JOINTS


class Aliases:
    """Known names, and their other forms in a text.

    For few names, a text is searched for each of them. For many names, each word of the text is looked up.
    """

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        """All names, in the order in which they were learned."""
        self._parts: dict[str, NamePart] = {}
        self._with_given_name: set[str] = set()
        """Parts that were learned next to a given name, so certainly of a person."""
        self._initials: set[str] = set()
        self._long_initials: set[str] = set()
        """Those whose capitals are several letters, such as those of a sharp s."""
        self._index = _Index()
        self._words: dict[str, WordForms] = {}

    def __bool__(self) -> bool:
        return bool(self._parts)

    def learn(self, name: str) -> None:
        """Add a person's name as written in a text."""
        if name in self.names:
            return
        self.names[name] = None
        every = _PART.findall(name)
        spend(len(every))
        words = [word for word in every if len(word) >= SHORTEST and word.casefold() not in _NO_PARTS]
        if len(every) > 1 and every[0].istitle() and every[0].casefold() in PARTICLES and len(every[0]) >= SHORTEST:
            words.insert(0, every[0])  # Ben means "son of" only within a name
        known = [word for word in words if word[0].isupper() or _may_be_known(word)]
        for word in known:
            folded = word.casefold()
            part = self._parts.get(folded)
            if part is None:
                part = self._parts[folded] = NamePart(folded, len(self._parts))
            others = [other for other in every if other != word]
            part.letters.update([other[0].upper() for other in others])
            if any(is_given_name(other.casefold()) for other in others):
                self._with_given_name.add(folded)
        if len(words) == len(known) == 2:
            first, second = (word[0].upper() for word in words)
            initials = (f"{first}.{second}.", f"{first}. {second}.")
            (self._initials if len(first + second) == len(words) else self._long_initials).update(initials)

    def find(self, text: str, *, is_search_wanted: bool | None = None) -> list[Finding]:
        """Return the findings of known names and parts of them; adjacent parts are one finding.

        Args:
            is_search_wanted: True searches for each name, False looks up each word; None chooses the faster way.
        """
        if not self._parts:
            return []
        index = self._index
        index.add(self._parts)
        if is_search_wanted is None:
            is_search_wanted = is_search_faster(index.spellings, len(text))
        found: dict[tuple[int, int], NamePart] = {}
        for start, end, part in self._searched(text) if is_search_wanted else self._looked_up(text):
            if (start, end) not in found or text[start:end].casefold() == part.word:
                found[start, end] = part
        self._drop_ordinary(text, found)
        if not text.isascii() or index.has_marks:
            for start, end, part in self._of_another_script(text):
                found.setdefault((start, end), part)
        return [*self._joined(text, found), *self._bare_initials(text, is_search_wanted=is_search_wanted)]

    def _drop_ordinary(self, text: str, found: dict[tuple[int, int], NamePart]) -> None:
        """Remove parts in lower case that an article shows to be words: "the equity" after "Mr. Equity"."""
        lower = {span: part for span, part in found.items() if text[span[0]].islower()}
        ordinary = {
            part
            for (start, _), part in lower.items()
            if not (part.word in self._with_given_name or is_given_name(part.word))
            and _ARTICLE.search(text, max(0, start - _ARTICLE_WITHIN), start)
        }
        for span, part in lower.items() if ordinary else ():
            if part in ordinary:
                del found[span]

    def _word(self, word: str) -> WordForms:
        forms = self._words.get(word)
        if forms is None:
            forms = self._words[word] = WordForms(word)
        return forms

    def _searched(self, text: str) -> Iterator[tuple[int, int, NamePart]]:
        """Yield the forms of every part, searching for one part after the other."""
        for part in self._parts.values():
            is_joined = part.forms.is_arabic  # to articles and prepositions
            for spelling in part.spellings():
                place = text.find(spelling)
                while place >= 0:
                    spend(_PLACE_WORK)
                    if is_joined or not is_word(text[place - 1 : place]):
                        word = _word_at(text, place)
                        if (
                            word
                            and part.is_case(self._word(text[slice(*word)].casefold()))
                            and _is_name_here(text, *word, part)
                        ):
                            yield *word, part
                    place = text.find(spelling, place + 1)

    def _looked_up(self, text: str) -> Iterator[tuple[int, int, NamePart]]:
        """Yield the same, looking up one word of the text after the other; parts in the order in which they came."""
        index = self._index
        shortest, lengths, beginnings = index.shortest, index.lengths, index.beginnings
        spend(len(text) // _CHARACTERS_OF_UNIT)
        matching: dict[str, Sequence[NamePart]] = {}
        for place in map(_start_of, _WORD.finditer(text)):
            if text[place : place + shortest] not in beginnings:
                continue
            spend(_PLACE_WORK)
            word = _word_at(text, place)
            if word is None:
                continue
            raw = text[slice(*word)]
            # Beginnings consist of letters and apostrophes, so that none of them is longer than such a word.
            is_whole = text[word[1] : word[1] + 1] not in _APOSTROPHES
            parts = matching.get(raw) if is_whole else None
            if parts is None:
                spend(len(lengths) // 2)
                some = {part for length in lengths for part in index.get(text[place : place + length])}
                spend(len(some))
                forms = self._word(raw.casefold())
                parts = [part for part in sorted(some, key=_order_of) if part.is_case(forms)]
                if is_whole:
                    matching[raw] = parts
            for part in parts:
                if _is_name_here(text, *word, part):
                    yield *word, part
        if index.has_arabic and not text.isascii():
            yield from self._looked_up_arabic(text)

    def _looked_up_arabic(self, text: str) -> Iterator[tuple[int, int, NamePart]]:
        for run in _LETTERS.finditer(text):
            word = _word_at(text, run.start())
            if word is None:
                continue
            raw = text[slice(*word)]
            forms = self._word(raw.casefold())
            if not forms.is_arabic:
                continue
            spend(_PLACE_WORK)
            some = {part for stem in forms.stems if (part := self._parts.get(stem)) is not None}
            for part in sorted(some, key=_order_of):
                if part.forms.is_arabic and any(spelling in raw for spelling in part.spellings()):
                    yield *word, part

    def _of_another_script(self, text: str) -> Iterator[tuple[int, int, NamePart]]:
        has_cyrillic = not text.isascii() and _CYRILLIC.search(text) is not None
        index = self._index
        if index.has_arabic:
            yield from self._of_arabic(text)
        for pattern, is_cyrillic_word in ((_CYRILLIC_WORD, True), (_LATIN_WORD, False)):
            by_class = index.latin if is_cyrillic_word else index.cyrillic
            if not by_class.parts or (is_cyrillic_word and not has_cyrillic):
                continue
            transliterated: dict[str, NamePart | None] = {}
            for match in pattern.finditer(text):
                word = match.group().casefold()
                if word not in transliterated:
                    spend(_PLACE_WORK)
                    is_known = not is_common_word(word)
                    transliterated[word] = self._transliterated(word, by_class) if is_known else None
                part = transliterated[word]
                if part is not None:
                    yield *match.span(), part

    def _transliterated(self, word: str, by_class: _ByClass) -> NamePart | None:
        """Return the first part that is this word of another script."""
        classes = _classes(word[0])
        if classes.isdisjoint(by_class.classes):
            return None
        forms = self._word(word)
        by_form, by_sound = by_class.by_form(), by_class.by_sound()
        some = {part for key in forms.in_text for part in by_form.get(key, ())}
        if len(word) >= _SHORTEST_SOUND:
            sounding = {part for key in forms.sounds for part in by_sound.get(key, ())}
            some.update([part for part in sounding if len(part.word) >= _SHORTEST_SOUND])
        spend(len(some))
        for part in sorted(some, key=_order_of):
            if abs(len(word) - len(part.word)) <= LONGEST_ENDING and not classes.isdisjoint(_classes(part.word[0])):
                return part
        return None

    def _of_arabic(self, text: str) -> Iterator[tuple[int, int, NamePart]]:
        """Yield names known in Arabic script that a text contains in Latin letters."""
        keys_of: dict[str, Collection[str]] = {}
        by_key = self._index.arabic_keys(self._parts.values())
        for match in _LATIN_WORD.finditer(text):
            word = match.group()
            if word not in keys_of:
                spend(_KEYS_WORK)
                keys_of[word] = () if is_common_word(word.casefold()) else text_keys(word)
            parts = {part for key in keys_of[word] for part in by_key.get(key, ())}
            yield from ((*match.span(), part) for part in sorted(parts, key=_order_of))

    def _joined(self, text: str, found: dict[tuple[int, int], NamePart]) -> Iterator[Finding]:
        """Yield one finding for parts separated by a space, a comma or a hyphen, including adjacent initials."""
        spans = sorted(found)
        place = 0
        while place < len(spans):
            spend(_FOUND_WORK)
            start, end = spans[place]
            place += 1
            parts = {found[start, end]: None}
            last = found[start, end]
            while place < len(spans) and (spans[place][0] < end or text[end : spans[place][0]] in _BETWEEN_PARTS):
                first, following_end = spans[place]
                following = found[first, following_end]
                if first >= end:
                    if following in parts:
                        break
                    parts[following] = None
                    last = following
                end = max(end, following_end)
                place += 1
            letters = next(iter(parts)).letters | last.letters
            before = _INITIALS_BEFORE.search(text, max(0, start - 8), start)
            if before is not None and _is_initial_of(before[1][0], letters):
                start = before.start()
            behind = _INITIALS_BEHIND.match(text, end)
            if behind is not None and _is_initial_of(behind[1][0], letters):
                end = behind.end()
            yield Finding(start, end, EntityType.PERSON, 0.5, " ".join(part.word for part in parts), RULE)

    def _bare_initials(self, text: str, *, is_search_wanted: bool) -> Iterator[Finding]:
        if is_search_wanted:
            for initials in (*self._initials, *self._long_initials):
                yield from self._initials_at(text, initials)
            return
        for match in _TWO_INITIALS.finditer(text):
            if match[1] in self._initials:
                yield from self._initials_at(text, match[1], match.start(), match.end(1))
        for initials in self._long_initials:
            yield from self._initials_at(text, initials)

    @staticmethod
    def _initials_at(text: str, initials: str, first: int = 0, last: int | None = None) -> Iterator[Finding]:
        """Yield the initials that are not a part of a word, from `first` to `last`."""
        place = text.find(initials, first, last)
        while place >= 0:
            end = place + len(initials)
            is_own = not text[place - 1 : place].isalnum() and not text[end : end + 1].isalnum()
            if is_own and initials.replace(" ", "").lower() not in _ABBREVIATIONS:
                spend(_FOUND_WORK)
                yield Finding(place, end, EntityType.PERSON, 0.5, initials.replace(" ", "").casefold(), RULE)
            place = text.find(initials, end, last)


class _ByClass:
    """Parts of one script, by forms and sounds, which are computed when they are first needed."""

    def __init__(self) -> None:
        self.parts: list[NamePart] = []
        self.classes: set[str] = set()
        """Classes of their first letters in other scripts."""
        self._by_form: dict[str, list[NamePart]] = {}
        self._by_sound: dict[str, list[NamePart]] = {}
        self._formed = self._sounded = 0

    def add(self, part: NamePart) -> None:
        """Add a part."""
        self.parts.append(part)
        self.classes |= _classes(part.word[0])

    def by_form(self) -> Mapping[str, Sequence[NamePart]]:
        """Return the parts by their forms."""
        for part in self.parts[self._formed :]:
            for key in part.forms.listed:
                self._by_form.setdefault(key, []).append(part)
        self._formed = len(self.parts)
        return self._by_form

    def by_sound(self) -> Mapping[str, Sequence[NamePart]]:
        """Return the parts by their sounds."""
        for part in self.parts[self._sounded :]:
            for key in part.forms.listed_sounds:
                self._by_sound.setdefault(key, []).append(part)
        self._sounded = len(self.parts)
        return self._by_sound


class _Index:
    """Parts by their beginnings, and by the classes of their first letters in other scripts."""

    def __init__(self) -> None:
        self.spellings = 0
        """Number of beginnings of all parts."""
        self.shortest = 1 << 30
        """Characters of the shortest beginning."""
        self.lengths: list[int] = []
        self.beginnings: set[str] = set()
        """Beginnings of this shortest length of all beginnings."""
        self.has_arabic = self.has_marks = False
        """`has_marks`: a part contains other characters than ASCII."""
        self.latin = _ByClass()
        """Parts that are neither Arabic nor Cyrillic."""
        self.cyrillic = _ByClass()
        self._by_beginning: dict[str, list[NamePart]] = {}
        self._parts = 0
        self._by_arabic_key: dict[str, list[NamePart]] = {}
        self._with_arabic_keys = 0

    def add(self, parts: Mapping[str, NamePart]) -> None:
        """Add the parts that came after those of the last call."""
        if len(parts) == self._parts:
            return
        for part in islice(parts.values(), self._parts, None):
            spend(_PART_WORK)
            spellings = part.spellings()
            self.spellings += len(spellings)
            self.has_marks = self.has_marks or not part.word.isascii()
            if part.forms.is_arabic:
                self.has_arabic = True
                continue
            for spelling in spellings:
                self._by_beginning.setdefault(spelling, []).append(part)
            (self.cyrillic if part.forms.is_cyrillic else self.latin).add(part)
        self._parts = len(parts)
        self.lengths = sorted({len(spelling) for spelling in self._by_beginning})
        self.shortest = self.lengths[0] if self.lengths else 1
        self.beginnings = {spelling[: self.shortest] for spelling in self._by_beginning}

    def get(self, beginning: str) -> Sequence[NamePart]:
        """Return the parts with this beginning."""
        return self._by_beginning.get(beginning, ())

    def arabic_keys(self, parts: Collection[NamePart]) -> Mapping[str, Sequence[NamePart]]:
        """Return the Arabic parts by their keys in Latin letters."""
        for part in islice(parts, self._with_arabic_keys, None):
            if part.forms.is_arabic:
                for key in part.forms.arabic_keys:
                    self._by_arabic_key.setdefault(key, []).append(part)
        self._with_arabic_keys = len(parts)
        return self._by_arabic_key


def _may_be_known(word: str) -> bool:
    """Return False for a word without a capital that could be any; in Arabic script every word is one."""
    return not is_common_word(word) if is_arabic(word) and is_given_name(word) else not is_common(word)


def _is_initial_of(letter: str, letters: set[str]) -> bool:
    if letter.upper() in letters or not letters:
        return bool(letters)
    return any(is_cyrillic(each) != is_cyrillic(letter) and _classes(each) & _classes(letter) for each in letters)


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
    if (length := (place if match is None else match.end()) - start) > _LONG_WORD:
        spend(length // _LONG_WORD)
    if match is None or is_word(text[start - 1 : start]) or is_word(text[match.end() : match.end() + 1]):
        return None
    end = match.end()
    cut = max(match.group().find("'"), match.group().find("’"))
    return (start, start + cut) if cut >= SHORTEST and end - start - cut <= LONGEST_ENDING + 1 else (start, end)


def _is_name_here(text: str, start: int, end: int, part: NamePart) -> bool:
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
