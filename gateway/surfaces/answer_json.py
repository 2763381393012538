"""Reads the JSON of an upstream's answer, or of an event of it.

read_json(b'{"choices":[]}')      # {"choices": []}
"""

from __future__ import annotations

from typing import Any

import orjson

from sovctl.gateway.errors import UpstreamFailed

_LEVELS_WRITTEN = 254  # of nesting: orjson reads 1,024, and writes no more than these (3.11, measured 2026-11)


def read_json(data: bytes) -> Any:
    """What it says.

    Raises:
        UpstreamFailed: it is no JSON, or nests deeper than it can be written again.
    """
    try:
        said = orjson.loads(data)
        if len(data) > 2 * _LEVELS_WRITTEN and (_are_many(data, b"{") or _are_many(data, b"[")):
            orjson.dumps(said)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        raise UpstreamFailed("protocol") from None
    return said


def _are_many(data: bytes, mark: bytes) -> bool:
    """True when there are half as many as levels can be written; no more than these are looked for."""
    return len(data.split(mark, _LEVELS_WRITTEN // 2)) > _LEVELS_WRITTEN // 2
