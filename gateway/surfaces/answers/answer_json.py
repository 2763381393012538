"""Parses the JSON of an upstream's answer, or of an event of it.

read_json(b'{"choices":[]}')      # {"choices": []}
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from ...domain.errors import UpstreamFailed

_LEVELS_WRITTEN = 254  # levels of nesting: orjson reads 1,024 and writes 254 (3.11, measured 2026-11)
# Whole escapes, which JSON has in strings only. Those outside the group are lone surrogates.
_ESCAPE = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\[^u]|\\u(?![dD][89a-fA-F]))"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


def without_lone_surrogates(data: bytes) -> bytes:
    """Replace every lone surrogate in JSON by U+FFFD.

    Servers that split text at any position write lone surrogates, and orjson rejects strings with them.
    """
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _ESCAPE.sub(lambda escape: escape[1] or rb"\ufffd", data)


def loaded(data: bytes) -> Any:
    """Parse JSON, with or without lone surrogates.

    Raises:
        JSONDecodeError: it is invalid.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return orjson.loads(without_lone_surrogates(data))


def read_json(data: bytes) -> Any:
    """Parse JSON that can be written again.

    Raises:
        UpstreamFailed: it is invalid, or nested too deeply to be written.
    """
    try:
        said = loaded(data)
        if len(data) > 2 * _LEVELS_WRITTEN:  # shorter JSON cannot nest so deeply; counting brackets is slower
            orjson.dumps(said)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        raise UpstreamFailed("protocol") from None
    return said
