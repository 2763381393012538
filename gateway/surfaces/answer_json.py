"""Reads the JSON of an upstream's answer, or of an event of it.

read_json(b'{"choices":[]}')      # {"choices": []}
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from ..domain.errors import UpstreamFailed

_LEVELS_WRITTEN = 254  # of nesting: orjson reads 1,024, and writes no more than these (3.11, measured 2026-11)
# Escapes, whole; JSON has them in strings alone. Left over by the group are halves of surrogate pairs.
_ESCAPE = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\[^u]|\\u(?![dD][89a-fA-F]))"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


def mended(data: bytes) -> bytes:
    """JSON with U+FFFD in the place of every half of a surrogate pair.

    Servers that cut their text anywhere write such halves, and orjson reads no string with one.
    """
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _ESCAPE.sub(lambda escape: escape[1] or rb"\ufffd", data)


def loaded(data: bytes) -> Any:
    """What JSON says, also such JSON.

    Raises:
        JSONDecodeError: it is none.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return orjson.loads(mended(data))


def read_json(data: bytes) -> Any:
    """What it says.

    Raises:
        UpstreamFailed: it is no JSON, or nests deeper than it can be written again.
    """
    try:
        said = loaded(data)
        if len(data) > 2 * _LEVELS_WRITTEN:  # a shorter one has no room for so many; to count brackets takes longer
            orjson.dumps(said)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        raise UpstreamFailed("protocol") from None
    return said
