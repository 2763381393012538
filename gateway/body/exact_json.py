"""JSON that is sent as it was inspected: duplicate keys are noticed, and numbers keep all of their digits.

A parser keeps the last of two equal keys, and reads a number of twenty digits as a float. So a document that is sent as
it was received may contain values that were not inspected. `loads` keeps such a number as its text (`NumberText`), and
`dumps` writes it without quotes, as it was. `has_duplicates` finds documents that must be written again.

    dumps(loads('{"account": 61109010140000071219812874}'))     # b'{"account":61109010140000071219812874}'

RFC 8259, 4 and 6, leaves equal keys and the range of numbers to the parser. Most bodies contain neither, so both are
searched for in a fast way first.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import orjson

_LONG = 17  # digits and dots from which a number may have more digits than a float holds
_LONG_NUMBER = re.compile(rb"(?<![^:,\[\- \t\r\n])[0-9.]{%d}" % _LONG)  # not within a string: after a sign of JSON
_STEP = 5  # bytes
_DIGIT = ord("0")
_DIGITS = bytes(_DIGIT if byte in b"0123456789." else ord("x") for byte in range(256))
_SAMPLED = b"0" * (_LONG // _STEP)
_SAFE_DIGITS = 15  # significant digits that any float keeps (IEEE 754, binary64)
_MOST_ZEROS = 64  # of a number with an exponent that is read written out
_INT64, _UINT64 = -(1 << 63), (1 << 64) - 1
_KEY_END = re.compile(r'"[ \t\r\n]*:')


class NumberText(str):
    """A number that no type of this program holds exactly, as it is written."""

    __slots__ = ()


def loads(data: bytes | str) -> Any:
    """Parse a document; the last of equal keys counts.

    Raises:
        orjson.JSONDecodeError: the document is invalid.
    """
    decoded = orjson.loads(data)
    if not _may_lose_digits(data):
        return decoded
    return json.loads(data, parse_int=_integer, parse_float=_decimal)


def dumps(value: Any) -> bytes:
    """Return the document of a parsed value."""
    return orjson.dumps(value, default=_as_written, option=orjson.OPT_PASSTHROUGH_SUBCLASS)


def has_duplicates(text: str, keys: int) -> bool:
    """Return whether an object in a valid document contains a key twice.

    Args:
        keys: number of keys of the parsed document.
    """
    # Every key ends so, and a string may; equal numbers prove that no key was dropped.
    if len(_KEY_END.findall(text)) == keys:
        return False
    found = False

    def noted(pairs: list[tuple[str, Any]]) -> None:
        nonlocal found
        found = found or len(dict(pairs)) < len(pairs)

    json.loads(text, object_pairs_hook=noted)
    return found


def number_text(number: float | NumberText) -> str:
    """Return the number as a person would write it: without an exponent, and without a fraction of zero."""
    if isinstance(number, NumberText):
        exact = Decimal(number)
        exponent = exact.as_tuple().exponent
        if isinstance(exponent, int) and "e" in number.lower() and abs(exponent) <= _MOST_ZEROS:
            return f"{exact:f}"
        return str(number)
    if isinstance(number, float) and number.is_integer() and abs(number) < 10**_LONG:
        return str(int(number))
    return str(number)


def _may_lose_digits(data: bytes | str) -> bool:
    """Return False if no number outside of strings is so long."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    # Every fifth byte: a number of `_LONG` digits has three of these in a row.
    samples = raw[_STEP - 1 :: _STEP].translate(_DIGITS)
    place = samples.find(_SAMPLED)
    while place >= 0:
        end = place + len(_SAMPLED)
        while end < len(samples) and samples[end] == _DIGIT:
            end += 1
        if _LONG_NUMBER.search(raw, place * _STEP, (end + 1) * _STEP):
            return True
        place = samples.find(_SAMPLED, end)
    return False


def _integer(literal: str) -> int | NumberText:
    if len(literal) > _LONG + 3:  # more than a number of 64 bits has; Python refuses integers of 4,300 digits
        return NumberText(literal)
    number = int(literal)
    return number if _INT64 <= number <= _UINT64 else NumberText(literal)


def _decimal(literal: str) -> float | NumberText:
    number = float(literal)
    digits = sum(map(str.isdigit, literal.lower().partition("e")[0].lstrip("-0.")))
    return number if digits <= _SAFE_DIGITS or repr(number) == literal else NumberText(literal)


def _as_written(value: Any) -> orjson.Fragment:
    if isinstance(value, NumberText):
        return orjson.Fragment(value.encode())
    raise TypeError(f"not a JSON value: {type(value).__name__}")
