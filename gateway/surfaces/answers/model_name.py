"""Replaces the model name in JSON that is otherwise passed byte for byte.

name = ModelName("assistant")
name.put(b'{"id":"x","model":"big"}', parsed, parsed)      # b'{"id":"x","model":"assistant"}'

Writing JSON costs more than reading it. In most answers nothing else changes.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

_PAIR = re.compile(rb'"model"\s*:\s*"(?:[^"\\]|\\.)*"')


class ModelName:
    """Model name of one answer. Caches the upstream's spelling of the pair, which is the same in every event."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._new = b'"model":' + orjson.dumps(model)
        self._pair = b""
        self._old = ""

    def put(self, data: bytes, parsed: Any, holder: Any) -> bytes:
        """Return `data` with the client's model name in `holder`.

        Args:
            parsed: the parsed `data`.
            holder: the object in it whose `model` is replaced; without a `model` nothing changes.
        """
        old = holder.get("model") if type(holder) is dict else None
        if old is None and b"\n" not in data:
            return data
        if self._pair and old == self._old:
            head, pair, tail = data.partition(self._pair)
            if pair and self._pair not in tail:
                return head + self._new + tail
        pairs = _PAIR.findall(data)
        if len(pairs) == 1 and b"\n" not in data and isinstance(old, str):  # an event's data is one line
            self._pair, self._old = pairs[0], old
            return data.replace(pairs[0], self._new, 1)
        if old is not None:
            holder["model"] = self._model
        return orjson.dumps(parsed)
