"""Roles of the words of a text in the list; each word is looked up once in the life of a process.

Of an unlisted word only Python's salted hash is kept; of a listed word also its numbers in the index. Both tables are
bounded, and cleared when they are full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...names.given_names import is_given_name
from ...names.non_names import common_word_languages, is_common_word
from ..forms.arabic_given_names import is_arabic_given
from ..forms.common_words import is_case_of_common, is_common
from ..forms.exact_forms import Form, across_forms, before_suffix, forms_of, romanised_forms
from ..forms.keys import initial_classes, text_keys
from ..forms.spelling import is_arabic
from ..forms.stems import stems
from ..index.index import Index, Role, initial_of

_SHORTEST_USER, _LONGEST_USER = 6, 32  # letters of a user name; a surname of four is in every other word
_SHORTEST_INITIALLED = 5  # letters of a surname after two initials in one word
_SHORTEST_GIVEN, _SHORTEST_WHOLE = 3, 8  # letters of a given name, and of it with a longer surname in one word
_SOFT_G = frozenset("gc")  # j of Arabic names in Egypt and Turkey: Nagla, Necla; and Alaoui is Alawi
_LONGEST_SOFT = 9  # letters; it takes time
_SHORTEST_ACROSS = 8  # characters of the key of an Arabic name in the other script, five of them letters
_WITH_ARTICLE = re.compile("([a-z]{3,16}?)((?:[ae]l|abou?|ben|bin|bou)[a-z]{4,24})")
"""A whole Arabic name in one word, cut where its surname may begin: karimelattar."""
_MOST_KNOWN = 1 << 17  # words of which a verdict is kept; some 10 MB when full


@dataclass(frozen=True, slots=True)
class Listed:
    """The roles of a word in the list; numbers as in `Index`."""

    sure: tuple[int, ...] = ()
    """Words that sound like it."""
    givens: tuple[int, ...] = ()
    """Given names that sound like it, or have its consonants."""
    surnames: tuple[int, ...] = ()
    """Likewise surnames."""
    exact: tuple[int, ...] = ()
    """Surnames that are written like it."""
    alone: tuple[int, ...] = ()
    """Words of `exact` that need no other word: neither a common word nor a very frequent surname."""
    form: Form = Form.SUFFIXED
    """The surest in which the word is one of `alone`."""
    exact_givens: tuple[int, ...] = ()
    """Given names that are written like it."""
    is_given: bool = False
    """A common given name, whatever the list has."""
    is_company: bool = False
    """A company is noticed by it."""
    is_common_word: bool = False
    everyday_in: frozenset[str] = frozenset()
    """The languages of which it is an everyday word, ISO 639-1."""
    capitals: tuple[str, str] = ("", "")
    """The word with a capital, and in capitals."""
    is_common: bool = False
    """A word that is not only a name."""
    is_user: bool = False
    """A surname with the given name or its initial in one word, as user names have them: akowalska, kowalskaanna."""
    is_listed: bool = False
    """Whether the word is in the list."""

    is_giver: bool = False
    """A given name that makes a name of an adjacent word, even without capitals."""

    @property
    def needs_context(self) -> bool:
        """Return whether it is a name only with a capital or next to an `is_giver`: most listed words of prose."""
        is_written_so = bool(self.exact) and not self.is_common_word
        return not (is_written_so or self.is_giver or self.is_company or self.is_user)


STRANGER = Listed()


def folded(word: str) -> bytes:
    """Return a word in the form used by `Words`: only ASCII letters are in lower case."""
    return word.encode("utf-8", "surrogatepass").lower()


class Vocabulary:
    """The words that were looked up, and their roles in the index."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._listed: dict[int, Listed] = {}
        self.strangers: set[int] = set()
        """Hashes of words and numbers that are in no list."""
        self.echoes: set[int] = set()
        """Hashes of listed words that need a capital to be a name."""

    def look_up(self, word: bytes) -> Listed:
        """Return the roles of a word, as `Words` contains it."""
        hashed = hash(word)
        if hashed in self.strangers:
            return STRANGER
        known = self._listed.get(hashed)
        if known is None:
            written = word.decode("utf-8", "surrogatepass")
            known = self._asked(written)
            if not known.is_listed:
                self.add_stranger(hashed)
                return STRANGER
            if len(self._listed) >= _MOST_KNOWN:
                self._listed, self.echoes = {}, set()
            self._listed[hashed] = known
            if known.needs_context and written[0].islower():
                self.echoes.add(hashed)
        return known

    def add_stranger(self, hashed: int) -> None:
        """Keep the hash of an unlisted word."""
        if len(self.strangers) >= _MOST_KNOWN:
            self.strangers = set()
        self.strangers.add(hashed)

    def _asked(self, word: str) -> Listed:
        index = self._index
        if len(word) < 2:
            return STRANGER
        sure: dict[int, None] = {}
        near: dict[int, None] = {}
        has_bones = False
        every: dict[int, None] = {}
        for key in text_keys(word, has_arabic_names=index.has_arabic_names):
            numbers = index.ids(key)
            if numbers:
                every.update(dict.fromkeys(numbers))
                if key[0] in "wa":
                    sure.update(dict.fromkeys(numbers))
                elif key[0] == "v":
                    near.update(dict.fromkeys(numbers))
                has_bones = has_bones or key[0] in "kK"
        is_soft = len(word) <= _LONGEST_SOFT and (not _SOFT_G.isdisjoint(word) or "aou" in word)
        if is_soft and index.has_arabic_names:
            for key in romanised_forms(word):
                every.update(dict.fromkeys((*index.ids(key), *index.ids(f"g{key[1:]}"))))
        across = dict.fromkeys(across_forms(word) if index.has_arabic_names else (), Form.AS_LISTED)
        if not has_bones:
            across = {key: form for key, form in across.items() if len(key) >= _SHORTEST_ACROSS}
        exact = dict.fromkeys((number for key in across for number in index.ids(key)), Form.AS_LISTED)
        given = (number for key in across for number in index.ids(f"g{key[1:]}"))
        every.update(dict.fromkeys((*exact, *given)))
        is_user = self._is_user_name(word)
        if not every:
            return Listed(is_user=True, is_listed=True) if is_user else STRANGER
        flags = index.flags
        forms = forms_of(word) if any(flags[number] & (Role.SURNAME | Role.GIVEN) for number in sure) else {}
        for key, form in forms.items():
            for number in index.ids(key):
                exact[number] = min(form, exact.get(number, form))
        if near:
            spellings = dict.fromkeys(romanised_forms(word), Form.AS_LISTED)
            others = {number for key in spellings for number in index.ids(key) if number not in exact}
            sure.update(dict.fromkeys(number for number in others if number in near))
            if "e" not in word.replace("ee", "i"):  # it may stand for two vowels: any other word is written like a name
                exact |= dict.fromkeys(others, Form.AS_LISTED)
                forms |= spellings
        forms |= across
        exact_givens = dict.fromkeys(
            number for key, form in forms.items() if form < Form.SUFFIXED for number in index.ids(f"g{key[1:]}")
        )
        common = is_common(word)
        alone = tuple(n for n in exact if not common and not flags[n] & Role.FREQUENT)
        form = min(map(exact.__getitem__, alone), default=Form.SUFFIXED)
        if form > Form.POSSESSIVE and (is_case_of_common(word) or any(map(is_common, before_suffix(word)))):
            alone = ()
        givens = tuple(number for number in every if flags[number] & Role.GIVEN)
        surnames = tuple(number for number in every if flags[number] & Role.SURNAME)
        is_given = any(map(is_given_name, stems(word) if is_arabic(word) else (word,)))
        is_given = is_given or (index.has_arabic_names and is_arabic_given(word))
        return Listed(
            sure=tuple(sure),
            givens=givens,
            surnames=surnames,
            exact=tuple(exact),
            exact_givens=tuple(exact_givens),
            alone=alone,
            form=form,
            is_given=is_given,
            is_giver=is_given or bool(exact_givens),
            is_company=any(flags[number] & Role.COMPANY for number in sure),
            is_common_word=is_common_word(word.lower()),
            everyday_in=common_word_languages(word.lower()),
            capitals=(word.capitalize(), word.upper()),
            is_common=common,
            is_user=is_user,
            is_listed=bool(sure or givens or surnames or is_user),
        )

    def _is_user_name(self, word: str) -> bool:
        if not (_SHORTEST_USER <= len(word) <= _LONGEST_USER and word.isascii()) or is_common_word(word):
            return False
        if len(word) >= _SHORTEST_WHOLE and self._is_whole_name(word):
            return True
        for letters, surname in ((word[0], word[1:]), (word[-1], word[:-1]), (word[:2], word[2:])):
            numbers = self._surnames_in(surname)
            if (
                numbers
                and len(surname) >= _SHORTEST_INITIALLED * (len(letters) > 1)
                and not is_common(surname)
                and all(self._index.has_pair(map(initial_of, initial_classes(each)), numbers) for each in letters)
            ):
                return True
        return False

    def _surnames_in(self, word: str) -> list[int]:
        """Return the surnames that equal a part of a user name."""
        numbers = self._index.ids(f"f{word}|x")
        if numbers or not self._index.has_arabic_names:
            return numbers
        return [number for key in across_forms(word) for number in self._index.ids(key)]

    def _is_whole_name(self, word: str) -> bool:
        """Return whether a word is a given name and a surname of one person, in either order."""
        ids = self._index.ids
        if self._index.has_arabic_names and (match := _WITH_ARTICLE.fullmatch(word)):
            named = self._asked(match[1]).exact_givens
            if named and self._index.has_pair(named, self._surnames_in(match[2])):
                return True
        for cut in range(_SHORTEST_GIVEN, len(word) - _SHORTEST_GIVEN):
            for given, surname in ((word[:cut], word[cut:]), (word[-cut:], word[:-cut])):
                givens = ids(f"g{given}|x")
                if givens and self._index.has_pair(givens, ids(f"f{surname}|x")):
                    return True
        return False
