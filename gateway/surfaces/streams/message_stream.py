"""Streams of Anthropic's messages: consecutive blocks with deltas.

Every field of a block's deltas is a channel. Withheld text is emitted as an additional delta before the block stops.

stream = MessageStream(restoration, fields)
stream.feed(b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Sent to IBAN_7K2"}}')
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from ...body.sse import DONE
from ...domain.errors import UpstreamFailed
from ..answers.answer_json import read_json
from ..answers.channels import Channels, nested
from ..answers.fields import Channel, Fields
from ..answers.model_name import ModelName
from ..answers.restoration import Restoration
from .event_form import EventForms

_KIND = re.compile(r"[a-z_]{1,80}")
_DELTA, _END = "content_block_delta", "message_stop"
_DELTA_LINE = b"event: content_block_delta\n"


class MessageStream:
    """Restores one streamed message. A channel is the index of a block, then the key of its deltas.

    Args:
        forms: event forms, shared with other streams of the answer.
    """

    def __init__(self, restoration: Restoration, fields: Fields, *, forms: EventForms | None = None) -> None:
        self.is_finished = False
        self._restoration = restoration
        self._fields = fields
        self._name = ModelName(restoration.model)
        self._channels = Channels(fields, restoration, lambda channel: channel[:1])
        self._deltas: dict[Channel, dict[str, Any]] = {}  # the last event of a channel, a template for one more
        self._forms = forms if forms is not None else EventForms()
        self._last: list[bytes] = []

    def put(self, events: bytes) -> bytes | None:
        written = self._forms.put(events if events.startswith(_DELTA_LINE) else _DELTA_LINE + events)
        if written is not None:
            channel, last = self._forms.memo
            self._deltas[channel] = last
        return written

    def feed(self, data: bytes) -> list[bytes]:
        if self.is_finished:
            return []
        if data == DONE:
            raise UpstreamFailed("broken")  # before the message stopped
        said = read_json(data)
        kind = said.get("type") if isinstance(said, dict) else None
        if not isinstance(kind, str) or not _KIND.fullmatch(kind):
            raise UpstreamFailed("protocol")
        if kind == "error":
            raise UpstreamFailed("error-event")
        if self._restoration.issued:
            events = self._restored(kind, said, data)
        else:
            events = [_framed(kind, self._name.put(data, said, said.get("message")))]
        if kind == _END:
            self.is_finished, self._last = True, events[-1:]
            self._forms.forget()
            return events[:-1]
        return events

    def last(self) -> list[bytes]:
        return self._last

    def _learn(self, data: bytes, said: dict[str, Any], delta: dict[str, Any]) -> None:
        """Learn the form of a delta with one string."""
        fields = [field for field in delta if field not in self._fields.left_alone]
        if len(fields) == 1 and isinstance(delta[fields[0]], str):
            channel = said.get("index"), fields[0]
            restorer = self._channels.restorer(channel, is_json=self._channels.is_json(fields[0]))
            self._forms.learn(
                data,
                said,
                holder=delta,
                field=fields[0],
                change=restorer.feed,
                write=lambda _, other: _framed(_DELTA, orjson.dumps(other)),
                memo=(channel, said),
                lead=_DELTA_LINE,
            )

    def _restored(self, kind: str, said: dict[str, Any], data: bytes) -> list[bytes]:
        if kind == _DELTA and isinstance(delta := said.get("delta"), dict):
            self._learn(data, said, delta)
            fed: list[Channel] = []
            said["delta"] = self._channels.grown(delta, (said.get("index"),), fed)
            self._deltas.update(dict.fromkeys(fed, said))
            return [_framed(kind, orjson.dumps(said))]
        block = said.get("content_block")
        if isinstance(block, dict) and isinstance(block.get("name"), str):
            self._channels.call_begins((said.get("index"),), block["name"])
        if kind == "content_block_stop":
            before = self._flush(said.get("index"))
        else:
            before = self._flush() if kind in ("message_delta", _END) else []
        if isinstance(message := said.get("message"), dict) and "model" in message:
            message["model"] = self._restoration.model
        return [*before, _framed(kind, orjson.dumps(self._channels.restored(said)))]

    def _flush(self, index: Any = None) -> list[bytes]:
        """Return an additional delta for every channel with withheld text: of one block, or of all."""
        events = []
        for channel in self._channels.under(() if index is None else (index,)):
            self._forms.forget()
            last, held = self._deltas.pop(channel, {}), self._channels.end(channel)
            if held:
                delta = {"type": last["delta"].get("type"), **nested(channel[1:], held)}
                events.append(_framed(_DELTA, orjson.dumps({**last, "delta": delta})))
        return events


def _framed(kind: str, data: bytes) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"
