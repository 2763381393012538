"""Puts the client's name for a model into JSON that is otherwise passed on byte for byte.

name = ModelName("assistant")
name.put(b'{"id":"x","model":"big"}', parsed, parsed)      # b'{"id":"x","model":"assistant"}'

Writing JSON anew costs more than reading it; where nothing else has to change, this is all that is done to an answer.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

_PAIR = re.compile(rb'"model"\s*:\s*"(?:[^"\\]|\\.)*"')


class ModelName:
    """One answer's; it remembers how the upstream writes the pair, which is the same in every event."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._new = b'"model":' + orjson.dumps(model)
        self._pair = b""
        self._old = ""

    def put(self, data: bytes, parsed: Any, holder: Any) -> bytes:
        """`data` with our name in `holder`.

        Args:
            parsed: what `data` says.
            holder: the object in it whose `model` is renamed; anything without a `model` is left as it is.
        """
        old = holder.get("model") if type(holder) is dict else None
        if old is None and b"\n" not in data:
            return data
        if old == self._old:
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
