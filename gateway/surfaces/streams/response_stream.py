"""Streams of OpenAI's responses.

A text occurs three times: in deltas, in the `.done` event of its part, and in the response at the end. It is restored
in
the same way in all three. Withheld text is emitted as an additional delta before the event that completes it;
later events are renumbered.

stream = ResponseStream(restoration, fields)
stream.feed(b'{"type":"response.output_text.delta","item_id":"msg_1","content_index":0,"delta":"Sent to IBAN_7K"}')
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from ...body.sse import DONE
from ...domain.errors import UPSTREAM_ERROR, UpstreamFailed
from ...tokens.restore import Restorer
from ..answers.answer_json import read_json
from ..answers.fields import Fields, restored
from ..answers.model_name import ModelName
from ..answers.restoration import Restoration

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_BINARY = frozenset({"response.audio.delta"})
_KIND = re.compile(r"[a-z_.]{1,80}")
_JSON = frozenset({"response.function_call_arguments.delta", "response.mcp_call_arguments.delta"})
_ANSWER = "response.output_text.delta"
_ANNOTATION = "response.output_text.annotation.added"
_PLACES = ("item_id", "output_index", "content_index", "summary_index", "command_index")
_OF_AN_ITEM = ("response.output_item.done", "response.content_part.done", "response.reasoning_summary_part.done")

_Channel = tuple[Any, ...]
"""Type of the delta, location of its item, index in it, and the field of a delta that is an object."""


class ResponseStream:
    """Restores one streamed response."""

    def __init__(self, restoration: Restoration, fields: Fields) -> None:
        self.is_finished = False
        self._restoration = restoration
        self._repeated = restoration.repeated()
        self._fields = fields
        self._name = ModelName(restoration.model)
        self._channels: dict[_Channel, Restorer] = {}
        self._deltas: dict[_Channel, dict[str, Any]] = {}  # the last delta of a channel, a template for one more
        self._added = 0  # number of added events
        self._last: list[bytes] = []

    def put(self, _events: bytes) -> None:
        return None

    def feed(self, data: bytes) -> list[bytes]:
        if self.is_finished:
            return []
        if data == DONE:
            raise UpstreamFailed("broken")  # before an event that ends it
        said = read_json(data)
        kind = said.get("type") if isinstance(said, dict) else None
        if not isinstance(kind, str) or not _KIND.fullmatch(kind):
            raise UpstreamFailed("protocol" if not isinstance(said, dict) or "error" not in said else "error-event")
        if kind == "error":
            raise UpstreamFailed("error-event")
        response = said.get("response")
        if isinstance(response, dict):
            data = self._prepared(said, response) or data
        if self._restoration.issued:
            events = self._restored(kind, said)
        else:
            events = [_framed(kind, self._name.put(data, said, response))]
        if kind in _ENDS:
            self.is_finished, self._last = True, events[-1:]
            return events[:-1]
        return events

    def last(self) -> list[bytes]:
        return self._last

    def _restored(self, kind: str, said: dict[str, Any]) -> list[bytes]:
        if kind.endswith(".delta") and kind not in _BINARY:
            self._feed_delta(kind, said)
            return [self._numbered(kind, said)]
        before = self._before(kind, said)
        if isinstance(response := said.get("response"), dict) and "model" in response:
            response["model"] = self._restoration.model
        if kind not in _BINARY:
            said = restored(said, self._fields, self._repeated)
        if kind == _ANNOTATION:
            text = self._channels.get((_ANSWER, *map(said.get, _PLACES)))
            if text is not None:
                text.offsets.move([said.get("annotation")])
        return [*before, self._numbered(kind, said)]

    def _prepared(self, said: dict[str, Any], response: dict[str, Any]) -> bytes | None:
        """Change the fields of a response that are not restored, in place; return the new data if any changed."""
        kept, error = self._restoration.kept, response.get("error")
        if isinstance(error, dict):
            response["error"] = UPSTREAM_ERROR  # the upstream's message may repeat the prompt
        elif not kept:
            return None
        response.update(kept)
        return orjson.dumps(said)

    def _feed_delta(self, kind: str, said: dict[str, Any]) -> None:
        delta = said.get("delta")
        place = (kind, *map(said.get, _PLACES))
        if isinstance(delta, str):
            said["delta"] = self._restorer(place, said).feed(delta)
        elif isinstance(delta, dict):
            said["delta"] = {
                field: self._restorer((*place, field), said).feed(text) if isinstance(text, str) else text
                for field, text in delta.items()
            }

    def _restorer(self, channel: _Channel, said: dict[str, Any]) -> Restorer:
        self._deltas[channel] = said
        restorer = self._channels.get(channel)
        if restorer is None:
            is_json = channel[0] in _JSON or (self._restoration.is_json and channel[0] == _ANSWER)
            restorer = self._restoration.restorer(is_json=is_json)
            self._channels[channel] = restorer
        return restorer

    def _before(self, kind: str, said: dict[str, Any]) -> list[bytes]:
        """Return the withheld text that must precede this event."""
        if kind in _ENDS:
            ending = list(self._channels)
        elif kind in _OF_AN_ITEM:
            ending = [channel for channel in self._channels if channel[2] == said.get("output_index")]
        elif kind.endswith(".done"):
            place = (kind.removesuffix("done") + "delta", *map(said.get, _PLACES))
            ending = [channel for channel in self._channels if channel[: len(place)] == place]
        else:
            return []
        events = []
        for channel in ending:
            last, held = self._deltas.pop(channel), self._channels.pop(channel).flush()
            if held:
                delta: Any = {channel[-1]: held} if isinstance(last["delta"], dict) else held
                # Gets the number of the event that it precedes.
                number = {"sequence_number": said["sequence_number"]} if "sequence_number" in said else {}
                more = {**{key: value for key, value in last.items() if key != "logprobs"}, **number, "delta": delta}
                if "logprobs" in last:
                    more["logprobs"] = []
                events.append(self._numbered(channel[0], more))
                self._added += 1
        return events

    def _numbered(self, kind: str, said: dict[str, Any]) -> bytes:
        number = said.get("sequence_number")
        if self._added and isinstance(number, int):
            said = {**said, "sequence_number": number + self._added}
        return _framed(kind, orjson.dumps(said))


def _framed(kind: str, data: bytes) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"
