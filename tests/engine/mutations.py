"""Damaged forms of a text: cut, repeated, swapped and dropped lines, other digits, other characters, huge numbers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

HUGE = ("1" + "0" * 400, "9" * 5000, "-" + "9" * 5000, "1e999", "9" * 25)
"""Numbers that `int` or `float` rejects or turns into infinity, or that no tool prints."""
STRANGE = (
    "\x00",
    "\x1b[31m",
    "\u0663",
    "\u00b2",
    "\u2028",
    "\r",
    "\ufffd",
    "\U0001f600",
    "-",
    "nan",
    "inf",
    "0x",
    ":",
    "\t",
)
"""Characters of other alphabets, control characters, and words that `float` accepts."""
_NUMBER = re.compile(r"\d+")


def _cut(text: str, source: random.Random) -> str:
    return text[: source.randrange(len(text) + 1)]


def _cut_start(text: str, source: random.Random) -> str:
    return text[source.randrange(len(text) + 1) :]


def _repeat(text: str, source: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    at = source.randrange(len(lines))
    count = source.randint(1, 3)
    return "".join([*lines[: at + count], *lines[at : at + count], *lines[at + count :]])


def _swap(text: str, source: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    one, other = source.randrange(len(lines)), source.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "".join(lines)


def _drop(text: str, source: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    del lines[source.randrange(len(lines))]
    return "".join(lines)


def _digits(text: str, source: random.Random) -> str:
    rate = source.choice((0.02, 0.2, 1.0))
    return "".join(
        source.choice("0123456789") if each in "0123456789" and source.random() < rate else each for each in text
    )


def _number(text: str, source: random.Random) -> str:
    found = list(_NUMBER.finditer(text))
    if not found:
        return text + source.choice(HUGE)
    match = source.choice(found)
    return text[: match.start()] + source.choice(HUGE) + text[match.end() :]


def _characters(text: str, source: random.Random) -> str:
    for _ in range(source.randint(1, 4)):
        at = source.randrange(len(text) + 1)
        text = text[:at] + source.choice(STRANGE) + text[at + source.randint(0, 3) :]
    return text


def _nested(text: str, source: random.Random) -> str:
    at = source.randrange(len(text) + 1)
    return text[:at] + source.choice(("[", '{"a":', "<gpu>")) * 20_000 + text[at:]


WAYS: Mapping[str, Callable[[str, random.Random], str]] = {
    "cut": _cut,
    "cut at the start": _cut_start,
    "lines repeated": _repeat,
    "lines swapped": _swap,
    "line dropped": _drop,
    "other digits": _digits,
    "huge number": _number,
    "other characters": _characters,
    "nested": _nested,
}


def mutated(text: str, source: random.Random, *, times: int = 1) -> str:
    """Return the text with damage of random kinds. An empty text stays empty."""
    for _ in range(times):
        if text:
            text = WAYS[source.choice(sorted(WAYS))](text, source)
    return text
