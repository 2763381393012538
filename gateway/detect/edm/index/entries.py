"""Entries of an index: words with numbers and keys, and the words of each person and company.

    listing = Listing(Hasher(key))
    listing.add({"given_name": "Anna", "surname": "Kowalska", "birth_date": "1985-02-03"})
    write_index(path, key, listing.contents(), built_at=...)

While an index is built, names are in memory in clear; they are discarded afterwards. Accounts, dates and addresses are
hashed immediately, because there are many more of them than names.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from itertools import pairwise

from ..forms.common_words import is_common
from ..forms.exact_forms import listed_forms
from ..forms.keys import initial_classes, listed_keys
from .index import Contents, Hasher, Role, initial_of, mixed, pair
from .people import Person, company_words, person_of
from .values import numbers_in_row, values_in_row

_FREQUENT = 200  # people of one surname, and this share of the list; below either, a surname alone identifies a person
_FREQUENT_SHARE = 0.002
_MOST_COMPANY_WORDS = 8


class Listing:
    """Collects rows.

    Args:
        hasher: of the index that they are for.
    """

    def __init__(self, hasher: Hasher) -> None:
        self.people = 0
        self.companies = 0
        self._hasher = hasher
        self._numbers: dict[tuple[str, ...], int] = {}
        self._number_of: dict[tuple[str, bool, bool, bool], int] = {}
        self._surnames: set[tuple[str, bool, bool]] = set()
        self._given_names: set[tuple[str, bool, bool]] = set()
        self._roles: list[Role] = []
        self._forms: dict[int, set[str]] = {}
        self._bearers: dict[int, int] = {}
        self._pairs = array("Q")
        self._rows_of_words: set[tuple[int, ...]] = set()
        self._supports = array("Q")
        self._supporting = array("Q")
        self._values = array("Q")
        self._initials: dict[str, frozenset[str]] = {}
        self._arabic_names = 0
        self._addresses = 0

    def add(self, fields: Mapping[str, str]) -> bool:
        """Add a row; return False if it contains no name."""
        company = company_words(fields.get("company", ""))[:_MOST_COMPANY_WORDS]
        is_company = fields.get("kind", "").lower() == "company"
        if is_company and not company:
            company = company_words(fields.get("full_name", "") or fields.get("surname", ""))[:_MOST_COMPANY_WORDS]
        person = None if is_company else person_of(fields)
        if person is None and not company:
            return False
        numbers: set[int] = set()
        if company:
            self._add_company(company)
        if person is not None:
            numbers = self._add_person(person)
        hashes = [self._hasher.value(number) for number in numbers_in_row(fields)]
        self._values.extend(hashes)
        hashes += [self._hasher.value(value) for value in values_in_row(fields)]
        self._addresses += "address" in fields
        self._supporting.extend(hashes)
        self._supports.extend(mixed(hashed, number) for hashed in hashes for number in numbers)
        return True

    def contents(self) -> Contents:
        """Everything taken so far, for `write_index`."""
        people = max(self.people, 1)
        for number, bearers in self._bearers.items():
            if bearers >= _FREQUENT and bearers >= _FREQUENT_SHARE * people:
                self._roles[number] |= Role.FREQUENT
        keys: dict[str, list[int]] = {}
        for of, number in (*self._numbers.items(), *((forms, number) for number, forms in self._forms.items())):
            for key in of:
                keys.setdefault(key, []).append(number)
        counts = {
            "people": self.people,
            "companies": self.companies,
            "words": len(self._roles),
            "arabic_names": self._arabic_names,
            "addresses": self._addresses,
        }
        return Contents(
            keys=keys,
            roles=self._roles,
            pairs=self._pairs,
            companies=self._rows_of_words,
            supports=self._supports,
            supporting=self._supporting,
            values=self._values,
            counts=counts,
        )

    def _add_person(self, person: Person) -> set[int]:
        self.people += 1
        self._arabic_names += person.is_arabic
        is_arabic, is_baltic = person.is_arabic, person.is_baltic
        givens = {
            self._number(word, Role.GIVEN, is_arabic=is_arabic, is_baltic=is_baltic): word for word in person.givens
        }
        for number, word in givens.items():
            if (word, is_baltic, is_arabic) not in self._given_names:
                self._given_names.add((word, is_baltic, is_arabic))
                forms = listed_forms(word, is_baltic_name=is_baltic, is_arabic_name=is_arabic, is_given=True)
                self._forms.setdefault(number, set()).update(f"g{form[1:]}" for form in forms)
        surnames = [
            self._number(word, Role.SURNAME, is_arabic=is_arabic, is_baltic=is_baltic) for word in person.surnames
        ]
        for surname, word in zip(surnames, person.surnames, strict=True):
            if (word, is_baltic, is_arabic) not in self._surnames:
                self._surnames.add((word, is_baltic, is_arabic))
                self._forms.setdefault(surname, set()).update(
                    listed_forms(word, is_baltic_name=is_baltic, is_arabic_name=is_arabic)
                )
        order = {word: place for place, word in enumerate(person.either)}
        for surname, own in dict(zip(surnames, person.surnames, strict=True)).items():
            self._bearers[surname] = self._bearers.get(surname, 0) + 1
            for number, word in givens.items():
                if word in order and own in order and order[word] >= order[own]:
                    continue
                self._pairs.append(pair(number, surname))
                for letter in self._initials_of(word):
                    self._pairs.append(pair(initial_of(letter), surname))
        if person.either == person.givens:  # the order is unknown: either may be the initial
            for surname, own in zip(surnames, person.surnames, strict=True):
                letters = {letter for word in person.surnames if word != own for letter in self._initials_of(word)}
                self._pairs.extend(pair(initial_of(letter), surname) for letter in letters)
        for word in person.patronymics:
            patronymic = self._number(word, Role.GIVEN, is_arabic=is_arabic, is_baltic=is_baltic)
            self._pairs.extend(pair(number, patronymic) for number in givens if number != patronymic)
        for first, second in pairwise(surnames):
            self._pairs.append(pair(first, second))
        return {*givens, *surnames}

    def _initials_of(self, word: str) -> frozenset[str]:
        found = self._initials.get(word)
        if found is None:
            found = self._initials[word] = initial_classes(word)
        return found

    def _add_company(self, words: tuple[str, ...]) -> None:
        self.companies += 1
        anchor = next((word for word in words if not is_common(word)), words[0])
        numbers = [self._number(w, Role.COMPANY if w == anchor else Role(0), is_arabic=False) for w in words]
        self._rows_of_words.add(tuple(numbers))

    def _number(self, word: str, role: Role, *, is_arabic: bool, is_baltic: bool = False) -> int:
        is_given = role is Role.GIVEN
        number = self._number_of.get((word, is_arabic, is_given, is_baltic))
        if number is None:
            found = listed_keys(word, is_arabic_name=is_arabic, is_given=is_given, is_baltic_name=is_baltic)
            keys = tuple(sorted(found)) or (f"x{word}",)
            number = self._numbers.setdefault(keys, len(self._roles))
            if number == len(self._roles):
                self._roles.append(Role(0))
            self._number_of[word, is_arabic, is_given, is_baltic] = number
        self._roles[number] |= role
        return number
