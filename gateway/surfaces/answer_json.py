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
        if data.count(b"{") + data.count(b"[") > _LEVELS_WRITTEN:
            orjson.dumps(said)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        raise UpstreamFailed("protocol") from None
    return said
