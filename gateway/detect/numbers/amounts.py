"""Recognizes numbers that are not identifiers: amounts, measurements, decimals, years, parts of UUIDs."""

from __future__ import annotations

import re

from .digit_runs import DigitRun

_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_LIKE_A_DATE = re.compile(
    r"(?:19|20)[0-9]{2}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./](?:[0-9]{2}){1,2}"
)
# Signs and codes of money and measures, directly before or after a number.
_BEFORE = re.compile(
    r"(?:[€$£¥₽₸₹₺₴₪]|\b(?:eur|usd|gbp|chf|pln|rub|kzt|aed|sar|inr|idr|try|brl|rp|rs|us))\.?\s?\Z", re.IGNORECASE
)
_AFTER = re.compile(
    r"\s?(?:[€$£¥₽₸₹₺₴₪%°]|(?:eur|euros?|usd|dollars?|gbp|pounds?|chf|pln|rub|kzt|aed|sar|inr|idr|brl|zł|złotych|руб|рублей"
    r"|тенге|тг|lei|kč|kr|tl|lira|reais|rupiah|درهم|ريال|ml|mg|kg|km|kwh|mwh|gb|mb|tb|ms|bytes|rows|units|pcs|шт|штук|кг|км"
    r"|million|mln|млн|tokens?|requests?|users?|people|records?|стр)\b)",
    re.IGNORECASE,
)
# "0.60185691", "1621717148.939014": identifiers are not written like this.
_DECIMAL = re.compile(
    r"(?<![0-9.,+])(?:[0-9]\.[0-9]{5,20}|[0-9]{2,8}\.[0-9]{9,20}|[0-9]{9,10}\.[0-9]{3,9})(?![0-9]|[.,-][0-9])"
)
_LONGEST_WHOLE = 11  # characters of a decimal before its fraction
_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_LONGEST_UUID = 36
_REACH = 6  # characters before a number in which a sign or code fits


def is_amount(text: str, start: int, end: int) -> bool:
    """Return whether money or a measure is next to `text[start:end]`, or the span is a decimal or a part of one."""
    if "." in (text[start - 1 : start], text[end : end + 1]) or text.find(".", start, end) >= 0:
        for decimal in _DECIMAL.finditer(text, max(0, start - _LONGEST_WHOLE), end + _LONGEST_WHOLE):
            if decimal.start() <= start and end <= decimal.end():
                return True
    return _AFTER.match(text, end) is not None or _BEFORE.search(text, max(0, start - _REACH), start) is not None


def is_of_uuid(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` is a piece of a UUID."""
    if "-" not in (text[start - 1 : start], text[end : end + 1]):
        return False
    found = _UUID.finditer(text, max(0, end - _LONGEST_UUID), start + _LONGEST_UUID)
    return any(uuid.start() <= start and end <= uuid.end() for uuid in found)


def are_years(run: DigitRun, first: int, last: int) -> bool:
    """Return whether the groups from `first` to `last` are years or look like a date: 2019-2020, 12.05.80."""
    lengths = run.lengths[first : last + 1]
    if lengths.count(4) == len(lengths):
        return all(map(_YEAR.fullmatch, run.groups[first : last + 1]))
    return len(lengths) == 3 and _LIKE_A_DATE.fullmatch(run.text, run.starts[first], run.ends[last]) is not None
