"""Strings that the model wrote in an answer, with their locations; for release checks.

A whole answer yields its strings. An event of a stream yields the text it adds to a channel, or whole strings if
the API repeats them (`response.output_text.done`). Ids, types and similar values are omitted, see `Fields`. Signed
thinking is included, and must not be changed.

for each in model_strings(answer["choices"], FIELDS): each.text, each.voice, each.put("...")
added_to_choices(event, "delta", FIELDS)        # Added(strings=[...], ended=[(0,)])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import orjson

from .fields import Channel, Fields, item_index


class Voice(Enum):
    """Type of a string."""

    PROSE = auto()  # the requested text
    ASIDE = auto()  # reasoning, refusals, names
    JSON = auto()  # the text of a JSON document


_PROSE = frozenset({"content", "text", "transcript"})
_LAST = frozenset({"response.completed", "response.incomplete"})
_REASONING = frozenset({"reasoning_text", "summary_text", "reasoning", "thinking"})  # types of content parts
_SIGNED = frozenset({"thinking"})
_ANSWERING = frozenset({"name", "refusal", "response.refusal.delta"})
_NOTHING_YET = "{}"  # initial arguments of a tool call


@dataclass(slots=True)
class ModelString:
    """One string of the model."""

    channel: Channel
    voice: Voice
    holder: Any
    """The object or list that contains it."""
    place: str | int
    is_whole: bool
    """False: it continues the previous text of its channel."""
    may_change: bool = True

    @property
    def text(self) -> str:
        """The string; of a document that is an object, its JSON."""
        found = self.holder[self.place]
        return found if isinstance(found, str) else orjson.dumps(found).decode()

    @property
    def is_answer(self) -> bool:
        """It is a part of the answer or explains its absence: text, a tool call, a refusal."""
        if self.voice is Voice.PROSE:
            return bool(self.text.strip())
        return self.voice is Voice.JSON or not _ANSWERING.isdisjoint(self.channel)

    def put(self, text: str) -> None:
        """Replace the string by `text`."""
        self.holder[self.place] = text if isinstance(self.holder[self.place], str) else orjson.loads(text)


@dataclass(slots=True)
class Added:
    """Strings that one event of a stream adds."""

    strings: list[ModelString] = field(default_factory=list)
    ended: list[Channel] = field(default_factory=list)
    """Prefixes of completed channels: of one choice, or `()` for all channels."""


def model_strings(value: Any, fields: Fields, *, channel: Channel = (), is_whole: bool = True) -> Iterator[ModelString]:
    """Yield every string of the model in `value`, in order."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for place, item in items:
        if place in fields.left_alone and place not in _SIGNED:
            continue
        here = (*channel, item_index(item, place) if isinstance(place, int) else place)
        if isinstance(item, str):
            if item:
                yield ModelString(
                    here, _voice(value, place, here, fields), value, place, is_whole, place not in _SIGNED
                )
        elif place in fields.documents and isinstance(item, dict | list):
            yield ModelString(here, Voice.JSON, value, place, is_whole=True)
        else:
            yield from model_strings(item, fields, channel=here, is_whole=is_whole)


def added_to_choices(event: Mapping[str, Any], payload: str, fields: Fields) -> Added:
    """Return the strings of a chat completion event or completion event; `payload` is the growing field of a choice."""
    added = Added()
    for choice in event.get("choices", ()):
        index = choice.get("index", 0)
        grown = {payload: choice[payload]} if isinstance(choice.get(payload), str) else choice.get(payload)
        for said in model_strings(grown, fields, channel=(index,), is_whole=False):
            if said.holder is grown and grown is not choice.get(payload):
                said.holder = choice
            added.strings.append(said)
        if choice.get("finish_reason") is not None:
            added.ended.append((index,))
    return added


def added_to_response(event: Mapping[str, Any], fields: Fields) -> Added:
    """Return the strings of a response event."""
    kind = str(event.get("type"))
    item = ("output", event.get("output_index", 0))
    if kind.endswith(".delta"):
        key = fields.deltas.get(kind, "")
        if key in fields.left_alone:
            return Added()
        channel: Channel = (*item, kind, event.get("content_index", 0), event.get("summary_index", 0))
        delta = event.get("delta")
        if isinstance(delta, str):
            voice = Voice.JSON if key in fields.json else Voice.PROSE if key in _PROSE else Voice.ASIDE
            return Added([ModelString(channel, voice, event, "delta", is_whole=False)] if delta else [])
        return Added(list(model_strings(delta, fields, channel=channel, is_whole=False)))
    ended: list[Channel] = [(*item, kind.removesuffix("done") + "delta")] if kind.endswith(".done") else []
    if kind in _LAST:
        ended.append(())
    # A response repeats the request: instructions, tools, the text format. The model wrote only its output.
    response = event.get("response")
    within = response.get("output") if isinstance(response, Mapping) else event
    return Added(list(model_strings(within, fields, channel=("output",) if within is not event else item)), ended)


def added_to_message(event: Mapping[str, Any], fields: Fields) -> Added:
    """Return the strings of a message event."""
    kind, channel = event.get("type"), ("content", event.get("index", 0))
    if kind == "content_block_delta":
        return Added(list(model_strings(event.get("delta"), fields, channel=channel, is_whole=False)))
    if kind == "content_block_start":
        begun = model_strings(event.get("content_block"), fields, channel=channel)
        return Added([said for said in begun if said.text != _NOTHING_YET])
    message = event.get("message")
    whole = (
        list(model_strings(message.get("content"), fields, channel=("content",)))
        if isinstance(message, Mapping)
        else []
    )
    if kind == "message_delta":
        return Added(whole, [()])
    return Added(whole, [channel] if kind == "content_block_stop" else [])


def _voice(holder: Any, place: str | int, channel: Channel, fields: Fields) -> Voice:
    if place in fields.json:
        return Voice.JSON
    key = next((step for step in reversed(channel) if isinstance(step, str)), "")
    is_reasoning = isinstance(holder, dict) and holder.get("type") in _REASONING
    return Voice.PROSE if key in _PROSE and not is_reasoning else Voice.ASIDE
