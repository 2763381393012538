"""Finds postal addresses: street, house number, postcode and city, as one finding.

The words of streets and the order of their parts are in `street_words.txt`, the forms of postcodes in `postcodes.txt`.
One scan finds street words with a number near, and house numbers before a postcode; only those places are parsed. A
city is known by its place next to a postcode or after a house number, not by a list.

    finder = AddressFinder()
    list(finder.find(NormalizedText("Lindenstraße 12, 10969 Berlin"), []))     # one finding of the whole text

A street needs a number or a postcode: people walk along Baker Street.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...domain.entities import EntityType
from ..findings.finding import Finding
from ..names.non_names import NON_NAMES, is_common_word
from ..text.scanner import Pattern, Scanner
from ..text.view import NormalizedText
from .address_forms import (
    ASCII_PATTERNS,
    BEFORE_JOINED,
    BOX_NUMBER,
    CAPITAL_AFTER,
    CITY_CODE,
    CITY_ONLY,
    CITY_WORDS,
    CODE_CITY,
    CODE_HEAD,
    CODE_ONLY,
    COMPOUND,
    DIRECTION,
    GAP,
    HEAD,
    HOUSE_AT_END,
    JOINED,
    LAST_DIGIT,
    LONGEST_HEAD,
    LONGEST_WORD,
    NAME_WORD,
    NUMBER_AFTER,
    NUMBER_BEFORE,
    PARTED,
    PARTICLES,
    PATTERNS,
    REGION_CODE,
    STREET,
    TOWN,
    UNIT_BEFORE,
    UNITS_AFTER,
    WITH_NUMBER,
    WORD_AFTER,
    WORD_BEFORE,
    YEAR,
    YEAR_AT,
)

_SCORE = 0.8
_DIGIT = re.compile("[0-9]")
_MOST_NAME_WORDS = 5
_SHORTEST_NAME = 4  # letters of a street's name before a postcode that looks like a year
_FEWEST_CODE = 4  # characters of a postcode without a city, at most: a year has as many
_NO_CITIES = frozenset(("euro", "euros", "dollar", "dollars", "franken", "stück", "exemplare", "mark", "uhr"))
"""Nouns with a capital that follow a number of five digits."""


class AddressFinder:
    """Finds postal addresses; see `detect.finder.Finder`."""

    rules = ("ADDRESS",)

    def __init__(self) -> None:
        self._orders = tuple(PATTERNS)
        self._scanner, self._ascii_scanner = (
            Scanner([Pattern(expression) for expression in patterns.values()])
            for patterns in (PATTERNS, ASCII_PATTERNS)
        )

    def find(self, view: NormalizedText, _found: Sequence[Finding]) -> Iterator[Finding]:
        """Yield the addresses in a view, none overlapping."""
        text = view.text
        if _DIGIT.search(text) is None:
            return  # neither a house number nor a postcode
        scanner = self._ascii_scanner if text.isascii() else self._scanner
        if not (places := scanner.scan(text)):
            return
        hits = sorted((start, end, self._orders[pattern]) for end, start, pattern in places)
        spans = (span for start, end, order in hits for span in [_address(text, start, end, order)] if span)
        for start, end in _merged(sorted(spans)):
            yield Finding(start, end, EntityType.ADDRESS, _SCORE, _value(text[start:end]), "ADDRESS")


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _value(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def _address(text: str, start: int, end: int, order: str) -> tuple[int, int] | None:
    """Return the span of the address around a hit of an order; None without an address."""
    if order == "code":
        return _before_code(text, start)
    if order == "joined":
        street = _joined(text, start)
    elif order == "box":
        street = _box(text, start, end)
    else:
        word = STREET[order].search(text, max(0, start - (order not in WITH_NUMBER)), end + 2)
        while order in WITH_NUMBER and word and (later := STREET[order].search(text, word.end(), end + 2)):
            word = later
        street = _PARSERS[order](text, *word.span()) if word else None
    if street is None:
        return None
    first, last, has_number = street
    whole = _with_tail(text, last, has_number=has_number)
    opening = _with_head(text, first)
    is_alone = whole == last and (opening == first or not has_number)
    if is_alone and not (has_number and _is_believed(text, first, last, order)):
        return None
    return opening, whole


def _is_believed(text: str, first: int, last: int, order: str) -> bool:
    """Return whether a street with a number is believed without a postcode and a city."""
    if order in ("weak", "weak-word"):
        return False
    if order == "weak-before":
        return text[first].isupper() and not YEAR.search(text, first, last)
    if order == "number-name":
        return not YEAR_AT.match(text, first) and not CAPITAL_AFTER.match(text, last)  # "2 kilos St. Louis"
    return not YEAR.search(text, first, last)


def _joined(text: str, start: int) -> tuple[int, int, bool] | None:
    word = COMPOUND.match(text, _word_start(text, start))
    if word is None or not _is_capital(word.group()) or not JOINED.search(word.group()) or len(word.group()) < 6:
        return None
    number = NUMBER_AFTER.match(text, word.end())
    return (_name_before(text, word.start(), is_joined=True), number.end(), True) if number else None


def _after(text: str, start: int, end: int) -> tuple[int, int, bool] | None:
    first = _name_before(text, start)
    number = NUMBER_AFTER.match(text, end + (text[end : end + 1] == "."))
    if first == start or number is None:
        return None
    return first, number.end(), True


def _before(text: str, start: int, end: int, *, may_be_followed: bool = True) -> tuple[int, int, bool] | None:
    """Return the street whose word is at `text[start:end]`, before its name.

    Args:
        may_be_followed: a house number may follow.
    """
    last, words = end, 0
    if text[max(0, start - 3) : start] == "et ":  # "et al. Kowalska 2004"
        return None
    for _ in range(_MOST_NAME_WORDS):
        word = WORD_AFTER.match(text, last)
        if word is None or not (_is_capital(word["word"]) or word["word"].lower() in PARTICLES):
            break
        words += _is_capital(word["word"])
        last = word.end()
        if word["word"].endswith((".", ",")) and len(word["word"]) > 4:
            last -= 1
            break
        if NUMBER_AFTER.match(text, last):
            break
    if not words:
        return None
    number = NUMBER_AFTER.match(text, last) if may_be_followed else None
    return (start, number.end(), True) if number else (start, last, False)


def _number_name(text: str, start: int, end: int) -> tuple[int, int, bool] | None:
    first = _name_before(text, start)
    number = NUMBER_BEFORE.search(text, max(0, first - 14), first)
    if first == start or number is None:
        return None
    last = end + (text[end : end + 1] == "." and text[end : end + 3] != ". ")
    direction = DIRECTION.match(text, last)
    last = direction.end() if direction else last
    units = UNITS_AFTER.match(text, last)
    return number.start(), units.end() if units else last, True


def _number_word(text: str, start: int, end: int) -> tuple[int, int, bool] | None:
    number = NUMBER_BEFORE.search(text, max(0, start - 14), start)
    street = _before(text, start, end, may_be_followed=False)
    return (number.start(), street[1], True) if number and street else None


def _box(text: str, start: int, end: int) -> tuple[int, int, bool] | None:
    word = STREET["box"].search(text, start, end)
    number = BOX_NUMBER.match(text, word.end()) if word else None
    return (word.start(), number.end(), True) if word and number else None


_PARSERS = {
    "after": _after,
    "before": _before,
    "number-name": _number_name,
    "number-word": _number_word,
    "weak": _number_name,
    "weak-before": _before,
    "weak-word": _number_word,
}


def _before_code(text: str, start: int) -> tuple[int, int] | None:
    """Return an address whose street has no street word: "Dlouhá 12, 110 00 Praha"."""
    number = LAST_DIGIT.match(text, start)
    end = number.end() if number else start
    house = HOUSE_AT_END.search(text, max(0, end - 24), end)
    tail = CODE_CITY.match(text, end)
    if house is None or tail is None or not _is_city(tail["city"]):
        return None
    if not PARTED.search(text, house.end(), tail.start("code")) or len(house["number"]) > 4 or tail["city"].isupper():
        return None
    before = GAP.search(text, max(0, house.start() - 3), house.start())
    first = _name_before(text, house.start()) if before else house.start()
    words = NAME_WORD.findall(text[first : house.start()].casefold())
    if not words or words[-1] in NON_NAMES or tail["city"].split()[0].casefold() in _NO_CITIES:
        return None
    if YEAR_AT.fullmatch(tail["code"]) and (YEAR_AT.fullmatch(house["number"]) or len("".join(words)) < _SHORTEST_NAME):
        return None  # "Copyright 2002, 2003 Quandt", "Oct 15, 2000 Quandt"
    return first, _city_end(text, tail)


def _name_before(text: str, start: int, *, is_joined: bool = False) -> int:
    """Return the start of the street's name that ends at `start`: words with capitals, and particles between them."""
    first = at = start
    for _ in range(_MOST_NAME_WORDS - 1 - 3 * is_joined):
        word = WORD_BEFORE.search(text, max(0, at - LONGEST_WORD - 4), at)
        if word is None:
            break
        at = word.start()
        if word["word"].endswith((".", ",")) and len(word["word"]) > 4:
            break
        lowered = word["word"].lower()
        if is_joined and lowered not in BEFORE_JOINED and (lowered in NON_NAMES or is_common_word(lowered)):
            break
        if _is_capital(word["word"]):
            first = at
        elif word["word"].lower() not in PARTICLES:
            break
    return first


def _with_tail(text: str, last: int, *, has_number: bool) -> int:
    """Return the end of the address including postcode and city after the street."""
    if (tail := CODE_CITY.match(text, last)) and _is_city(tail["city"]):
        return _city_end(text, tail)
    if (tail := CITY_CODE.match(text, last)) and _is_city(tail["city"]):
        return tail.end()
    if has_number and (city := CITY_ONLY.match(text, last)) and _is_city(city["city"]):
        end = _city_end(text, city)
        code = CODE_ONLY.match(text, end) or REGION_CODE.match(text, end)
        if code:
            return code.end()
        further = CITY_ONLY.match(text, end)
        if further and _is_city(further["city"]):
            code = REGION_CODE.match(text, _city_end(text, further))
            return code.end() if code else end
        return end
    if (code := CODE_ONLY.match(text, last)) and len(code["code"]) > _FEWEST_CODE:
        return code.end()
    return last


def _with_head(text: str, first: int) -> int:
    """Return the start of the address including unit, postcode and city before the street."""
    if unit := UNIT_BEFORE.search(text, max(0, first - 24), first):
        first = unit.start()
    head = HEAD.search(text, max(0, first - LONGEST_HEAD), first)
    if (
        head
        and _is_city(head["city"])
        and (head["code"] or head["place"] or head["town"] or head["city"].endswith(TOWN))
    ):
        return head.start()
    code = CODE_HEAD.search(text, max(0, first - 12), first)
    return code.start() if code else first


def _is_city(words: str) -> bool:
    return _is_capital(words)


def _city_end(text: str, match: re.Match[str]) -> int:
    """Return the end of a city: its words with capitals, particles between them."""
    end = start = match.start("city")
    for word in CITY_WORDS.finditer(text, start, match.end("city")):
        if not (_is_capital(word.group()) or word.group().isdigit()):
            if word.group().lower() in PARTICLES:
                continue
            break
        end = word.end()
        if word.group().endswith(".") and len(word.group()) > 3:
            end -= 1
            break
    return end


def _is_capital(word: str) -> bool:
    letter = next((letter for letter in word if letter.isalpha()), " ")
    return letter.isupper() or (letter.isalpha() and not letter.islower())


def _word_start(text: str, at: int) -> int:
    while at > 0 and (text[at - 1].isalpha() or text[at - 1] in "-'’"):
        at -= 1
    return at
