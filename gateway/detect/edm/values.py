"""What supports a name: account, birth date, phone, e-mail, address, customer number; in a list and in a text.

Each value has one form however it is written, with a letter in front for what it is, so that a date is never taken for
an account.

    values_in_row({"birth_date": "03.02.1985"})          # {"d1985-02-03"}
    values_in_text("born 3 Feb, i.e. 1985-02-03")        # {"d1985-02-03", ...}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sovctl.gateway.detect.edm.table import date_of

_NOT_ALNUM = re.compile(r"[\W_]+")
_DATE = re.compile(r"(?<!\d)(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(?!\d)")
NUMBER = re.compile(r"(?<![\w])(?:[A-Za-z]{1,6}[-/ ]?)?\d(?:[\d./ \u00a0-]{2,32}[\dA-Za-z])?(?![\w])")
"""What could be a number of an account or a customer, as it may be written."""
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_STREET = re.compile(r"[^\W\d_][^\W_]{1,30}")
_HOUSE = re.compile(r"(?<!\w)\d{1,5}(?:[ ]?[A-Za-z])?(?!\w)")

_FEWEST_DIGITS = 4
_SHORTEST_NUMBER = 5  # characters; shorter ones are anybody's
_PHONE_DIGITS = 9  # the last ones; what is before them is written in several ways


def values_in_row(fields: Mapping[str, str]) -> set[str]:
    """Everything in a row that supports a name."""
    found = set(numbers_in_row(fields))
    if date := date_of(fields.get("birth_date", "")):
        found.add(f"d{date}")
    if email := fields.get("email"):
        found.add(f"e{email.casefold()}")
    if address := fields.get("address"):
        found.update(_addresses(address.partition(",")[0]))
    return found


def numbers_in_row(fields: Mapping[str, str]) -> set[str]:
    """Numbers that are themselves to be found in a text: of accounts, customers and telephones."""
    found = {form for field in ("account", "id") for form in _number_forms(fields.get(field, ""))}
    digits = "".join(filter(str.isdigit, fields.get("phone", "")))
    if len(digits) >= _PHONE_DIGITS:
        found.add(f"p{digits[-_PHONE_DIGITS:]}")
    return found


def numbers_in_text(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Start, end and forms of everything in a text that could be such a number."""
    for match in NUMBER.finditer(text):
        written = match.group()
        digits = "".join(filter(str.isdigit, written))
        forms = _number_forms(written)
        if len(digits) >= _PHONE_DIGITS:
            forms = (*forms, f"p{digits[-_PHONE_DIGITS:]}")
        if forms:
            yield match.start(), match.end(), forms


def values_in_text(text: str) -> set[str]:
    """Everything in a piece of text that could support a name."""
    found = {form for _, _, forms in numbers_in_text(text) for form in forms}
    found.update(f"d{date}" for match in _DATE.finditer(text) if (date := date_of(match.group())))
    found.update(f"e{match.group().casefold()}" for match in _EMAIL.finditer(text))
    found.update(_addresses(text))
    return found


def _number_forms(written: str) -> tuple[str, ...]:
    plain = _NOT_ALNUM.sub("", written).upper()
    digits = sum(map(str.isdigit, plain))
    return (f"n{plain}",) if digits >= _FEWEST_DIGITS and len(plain) >= _SHORTEST_NUMBER else ()


def _addresses(text: str) -> Iterator[str]:
    """House numbers with the word before and the word behind: `12 Elm Street`, `Lindenallee 12`."""
    for house in _HOUSE.finditer(text):
        number = house.group().replace(" ", "").lower()
        if before := [*_STREET.finditer(text, max(0, house.start() - 32), house.start())]:
            yield f"s{number} {before[-1].group().casefold()}"
        if behind := _STREET.search(text, house.end(), house.end() + 32):
            yield f"s{number} {behind.group().casefold()}"
