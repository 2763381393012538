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
from ..answers.answer_json import read_json
from ..answers.channels import Channels, nested
from ..answers.fields import Channel, Fields
from ..answers.model_name import ModelName
from ..answers.restoration import Restoration

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_KIND = re.compile(r"[a-z_.]{1,80}")
_TEXT = "response.output_text.delta"
_ANNOTATION = "response.output_text.annotation.added"
_PLACES = ("item_id", "output_index", "content_index", "summary_index", "command_index")
_OF_AN_ITEM = ("response.output_item.done", "response.content_part.done", "response.reasoning_summary_part.done")


class ResponseStream:
    """Restores one streamed response.

    A channel is the type of the delta, the location of its item, the index in it, and the keys of a delta that is an
    object.
    """

    def __init__(self, restoration: Restoration, fields: Fields) -> None:
        self.is_finished = False
        self._restoration = restoration
        self._repeated = restoration.repeated()
        self._fields = fields
        self._name = ModelName(restoration.model)
        self._channels = Channels(fields, restoration, lambda channel: channel[2:3])
        self._deltas: dict[Channel, dict[str, Any]] = {}  # the last delta of a channel, a template for one more
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
        if kind.endswith(".delta"):
            fed: list[Channel] = []
            channel = (kind, *map(said.get, _PLACES))
            if (delta := said.get("delta")) is not None:
                said["delta"] = self._channels.grown(delta, channel, fed, key=self._fields.deltas.get(kind, ""))
            self._deltas.update(dict.fromkeys(fed, said))
            return [self._numbered(kind, said)]
        before = self._before(kind, said)
        item = said.get("item")
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            self._channels.call_begins((said.get("output_index"),), item["name"])
        if isinstance(response := said.get("response"), dict) and "model" in response:
            response["model"] = self._restoration.model
        repeated = Channels(self._fields, self._repeated)
        if (tool := self._channels.tool_of_call((said.get("output_index"),))) is not None:
            repeated.call_begins((), tool)
        said = repeated.restored(said)
        if kind == _ANNOTATION:
            self._channels.move([said.get("annotation")], (_TEXT, *map(said.get, _PLACES)))
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

    def _before(self, kind: str, said: dict[str, Any]) -> list[bytes]:
        """Return the withheld text that must precede this event."""
        if kind in _ENDS:
            ending = self._channels.under(())
        elif kind in _OF_AN_ITEM:
            ending = [channel for channel in self._channels.under(()) if channel[2] == said.get("output_index")]
        elif kind.endswith(".done"):
            ending = self._channels.under((kind.removesuffix("done") + "delta", *map(said.get, _PLACES)))
        else:
            return []
        events = []
        for channel in ending:
            last, held = self._deltas.pop(channel), self._channels.end(channel)
            if held:
                delta = nested(channel[1 + len(_PLACES) :], held)
                # Gets the number of the event that it precedes.
                number = {"sequence_number": said["sequence_number"]} if "sequence_number" in said else {}
                more = {**{key: value for key, value in last.items() if key != "logprobs"}, **number, "delta": delta}
                if "logprobs" in last:
                    more["logprobs"] = []
                events.append(self._numbered(last["type"], more))
                self._added += 1
        return events

    def _numbered(self, kind: str, said: dict[str, Any]) -> bytes:
        number = said.get("sequence_number")
        if self._added and isinstance(number, int):
            said = {**said, "sequence_number": number + self._added}
        return _framed(kind, orjson.dumps(said))


def _framed(kind: str, data: bytes) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"
