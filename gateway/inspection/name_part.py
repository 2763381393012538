"""One word of a known name, and whether a word of a text is a form of it.

part = NamePart("kowalska", 0)
part.spellings()                           # {"kowa", "Kowa", "KOWA"}: beginnings of all its forms
part.is_case(WordForms("kowalskiej"))      # True
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ..detect.edm.forms.common_words import is_common
from ..detect.edm.forms.exact_forms import listed_forms, text_forms, without_marks
from ..detect.edm.forms.keys import listed_keys, text_keys
from ..detect.edm.forms.spelling import is_arabic
from ..detect.edm.forms.stems import stems
from ..domain.work import spend

SHORTEST = 3  # letters; shorter parts of a name are initials and particles
LONGEST_ENDING = 4  # letters by which two cases of a name differ at its end
_FORMS_WORK = 40  # units for the forms or the keys of a word


class WordForms:
    """A word of a text or of a name, with its forms and keys, which are computed when they are first needed."""

    def __init__(self, word: str) -> None:
        self.word = word
        """In lower case."""

    @cached_property
    def in_text(self) -> frozenset[str]:
        """Forms of a word of a text."""
        spend(_FORMS_WORK)
        return text_forms(self.word)

    @cached_property
    def listed(self) -> frozenset[str]:
        """Forms of a word of a listed name."""
        spend(_FORMS_WORK)
        return listed_forms(self.word)

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of a word of a text."""
        return frozenset(stems(self.word))

    @cached_property
    def sounds(self) -> frozenset[str]:
        """Keys of a word of a text, by its sound."""
        spend(_FORMS_WORK)
        return frozenset(text_keys(self.word, has_arabic_names=False))

    @cached_property
    def listed_sounds(self) -> frozenset[str]:
        """Keys of a word of a listed name, by its sound."""
        spend(_FORMS_WORK)
        return frozenset(listed_keys(self.word, is_arabic_name=False, is_given=False))

    @cached_property
    def arabic_keys(self) -> frozenset[str]:
        """Keys of a name in Arabic script."""
        spend(_FORMS_WORK)
        return frozenset(listed_keys(self.word, is_arabic_name=True, is_given=False))

    @property
    def is_arabic(self) -> bool:
        """Whether the word is in Arabic script."""
        return is_arabic(self.word)

    @property
    def is_cyrillic(self) -> bool:
        """Whether the word is in Cyrillic script."""
        return is_cyrillic(self.word)


@dataclass(slots=True, eq=False)
class NamePart:
    """One word of a known name."""

    word: str
    """In lower case."""
    order: int
    """Number of parts that were known before it."""
    letters: set[str] = field(default_factory=set)
    """First letters of the other parts of the names that contain it."""
    forms: WordForms = field(init=False)
    beginnings: frozenset[str] = frozenset()
    """Computed on first use."""
    is_ordinary: bool | None = None
    """Whether it also has another meaning; computed on first use."""

    def __post_init__(self) -> None:
        self.forms = WordForms(self.word)

    def spellings(self) -> frozenset[str]:
        """Common prefixes of all its inflected forms, as written and without marks, in all letter cases."""
        if not self.beginnings:
            self.beginnings = frozenset(self._spellings())
        return self.beginnings

    def _spellings(self) -> Iterator[str]:
        if is_arabic(self.word):
            plain = self.word.removeprefix("ال") if len(self.word) > 4 else self.word
            yield plain[: max(SHORTEST, len(plain) - LONGEST_ENDING)]
            return
        every = {self.word, self.word.replace("ss", "ß"), self.word.replace("'", "’")}  # case folding has made ss of ß
        every |= {self.word.replace("е", "ё")} if is_cyrillic(self.word) else without_marks(self.word)
        shortest = SHORTEST - (len(self.word) == SHORTEST and is_cyrillic(self.word))
        for each in every:
            prefix = each[: max(shortest, len(each) - LONGEST_ENDING)]
            yield from (prefix, prefix.capitalize(), prefix.title(), prefix.upper())

    def is_common(self) -> bool:
        """Return whether a word also has another meaning than a name."""
        if self.is_ordinary is None:
            self.is_ordinary = is_common(self.word)
        return self.is_ordinary

    def is_case(self, word: WordForms) -> bool:
        """Return whether a word is this one, in this case or another."""
        own = self.forms
        if word.word == self.word:
            return True
        if word.is_arabic:
            return self.word in word.stems
        if word.is_cyrillic and own.is_cyrillic:
            return not (own.in_text.isdisjoint(word.in_text) and own.listed.isdisjoint(word.in_text))
        return not (own.listed.isdisjoint(word.in_text) and own.in_text.isdisjoint(word.listed))


def is_cyrillic(word: str) -> bool:
    """Return whether a word begins with a Cyrillic letter."""
    return "\u0400" <= word[:1] <= "\u052f"
