"""Answers of a hand-off, in the format of each API: whole, or as the end of a stream. Pure.

A replacement answer is an ordinary answer with a short text. It ends like a filtered one (`content_filter`, in messages
`refusal`), and contains the hand-off's id in `sovctl`. After an operator has answered, `whole` contains the operator's
answer, with a normal end.
In a stream that had begun, the open items are closed first, as the API requires.

ending = ChoicesEnding("chat.completion", choices=1)
ending.sent(event)             # for each event sent to the client
ending.events(instead)         # the end of the stream
ending.whole(instead)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from ...body.sse import DONE, event


@dataclass(frozen=True, slots=True)
class ReplacementAnswer:
    """Content of a replacement answer."""

    handoff_id: str
    text: str
    model: str
    request_id: str
    at: int
    """Seconds since 1970."""
    is_final: bool = False
    """An operator's answer; False: the announcement of one."""

    @property
    def mark(self) -> dict[str, str]:
        """The `sovctl` object."""
        return {"handoff_id": self.handoff_id, "state": "resolved" if self.is_final else "waiting"}


class Ending(ABC):
    """Replacement answer of one request."""

    @abstractmethod
    def sent(self, event: Mapping[str, Any]) -> None:
        """Record an event that was sent to the client."""

    @abstractmethod
    def whole(self, instead: ReplacementAnswer) -> dict[str, Any]:
        """Return a whole answer."""

    @abstractmethod
    def events(self, instead: ReplacementAnswer) -> list[bytes]:
        """Return the framed events that end the stream."""


class ChoicesEnding(Ending):
    """Replacement of a chat completion or a completion.

    Args:
        kind: `object` of a whole answer.
        choices: number that the client requested.
    """

    def __init__(self, kind: str, *, choices: int) -> None:
        self._kind = kind
        self._left = list(range(choices))
        self._last: Mapping[str, Any] = {}
        self._begun: set[int] = set()
        self._said: set[int] = set()

    def sent(self, event: Mapping[str, Any]) -> None:
        self._last = event
        for choice in event.get("choices", ()):
            self._begun.add(choice.get("index"))
            if choice.get("text") or (choice.get("delta") or {}).get("content"):
                self._said.add(choice.get("index"))
            if choice.get("finish_reason") is not None and choice.get("index") in self._left:
                self._left.remove(choice["index"])

    def whole(self, instead: ReplacementAnswer) -> dict[str, Any]:
        reason = "stop" if instead.is_final else "content_filter"
        made = {"text": instead.text} if self._is_plain else {"message": _message(instead.text)}
        choices = [{"index": n, **made, "logprobs": None, "finish_reason": reason} for n in self._left]
        return {**self._head(instead, self._kind), "choices": choices, "sovctl": instead.mark}

    def events(self, instead: ReplacementAnswer) -> list[bytes]:
        head = self._head(instead, self._kind if self._is_plain else f"{self._kind}.chunk")
        head |= {name: self._last[name] for name in ("id", "created") if name in self._last}
        nothing: dict[str, Any] = {"text": ""} if self._is_plain else {"delta": {}}
        events = []
        for index in self._left:
            text = f"\n\n{instead.text}" if index in self._said else instead.text
            role = {} if index in self._begun else {"role": "assistant"}
            made = {"text": text} if self._is_plain else {"delta": {**role, "content": text}}
            choice = {"index": index, "logprobs": None}
            events.append({**head, "choices": [{**choice, **made, "finish_reason": None}]})
            last = {**head, "choices": [{**choice, **nothing, "finish_reason": "content_filter"}]}
            events.append({**last, "sovctl": instead.mark})
        return [*(event(orjson.dumps(each)) for each in events), event(DONE)]

    @property
    def _is_plain(self) -> bool:
        return self._kind == "text_completion"

    def _head(self, instead: ReplacementAnswer, kind: str) -> dict[str, Any]:
        prefix = "cmpl" if self._is_plain else "chatcmpl"
        return {
            "id": f"{prefix}-{instead.request_id}",
            "object": kind,
            "created": instead.at,
            "model": instead.model,
        }


class MessageEnding(Ending):
    """Replacement of an Anthropic message."""

    def __init__(self) -> None:
        self._has_begun = False
        self._index = 0
        self._is_open = False

    def sent(self, event: Mapping[str, Any]) -> None:
        self._has_begun = True
        kind = event.get("type")
        if kind == "content_block_stop":
            self._index, self._is_open = event.get("index", 0) + 1, False
        elif kind in ("content_block_start", "content_block_delta"):
            self._index, self._is_open = event.get("index", 0), True

    def whole(self, instead: ReplacementAnswer) -> dict[str, Any]:
        content = [{"type": "text", "text": instead.text}]
        reason = "end_turn" if instead.is_final else "refusal"
        return {**self._message(instead), "content": content, "stop_reason": reason, "sovctl": instead.mark}

    def events(self, instead: ReplacementAnswer) -> list[bytes]:
        events: list[dict[str, Any]] = []
        if not self._has_begun:
            message = {**self._message(instead), "content": [], "stop_reason": None}
            events.append({"type": "message_start", "message": message})
        index = self._index
        if self._is_open:
            events.append({"type": "content_block_stop", "index": index})
            index += 1
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": instead.text}
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "refusal", "stop_sequence": None},
                "usage": {"output_tokens": 0},
                "sovctl": instead.mark,
            },
            {"type": "message_stop"},
        ]
        return [_framed(each) for each in events]

    def _message(self, instead: ReplacementAnswer) -> dict[str, Any]:
        return {
            "id": f"msg_{instead.request_id}",
            "type": "message",
            "role": "assistant",
            "model": instead.model,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }


class ResponseEnding(Ending):
    """Replacement of an OpenAI response."""

    def __init__(self) -> None:
        self._number = -1
        self._id: str | None = None
        self._items: dict[int, dict[str, Any]] = {}
        self._texts: dict[int, list[str]] = {}

    def sent(self, event: Mapping[str, Any]) -> None:
        self._number = event.get("sequence_number", self._number + 1)
        kind, place = event.get("type"), event.get("output_index", 0)
        if isinstance(response := event.get("response"), dict):
            self._id = response.get("id", self._id)
        if kind in ("response.output_item.added", "response.output_item.done"):
            self._items[place] = event["item"]
        elif kind == "response.output_text.delta":
            self._texts.setdefault(place, []).append(event["delta"])

    def whole(self, instead: ReplacementAnswer) -> dict[str, Any]:
        status = "completed" if instead.is_final else "incomplete"
        return self._response(instead, status, [_item(instead, status)])

    def events(self, instead: ReplacementAnswer) -> list[bytes]:
        place = max((*self._items, *self._texts), default=-1) + 1
        item, begun = _item(instead, "incomplete"), {**_item(instead, "in_progress"), "content": []}
        part, whole_part = {**item["content"][0], "text": ""}, item["content"][0]
        at = {"item_id": item["id"], "output_index": place}
        said = {**at, "content_index": 0}
        events: list[dict[str, Any]] = []
        if self._number < 0:
            events.append({"type": "response.created", "response": self._response(instead, "in_progress", [])})
        events += [
            {"type": "response.output_item.added", "output_index": place, "item": begun},
            {"type": "response.content_part.added", **said, "part": part},
            {"type": "response.output_text.delta", **said, "delta": instead.text, "logprobs": []},
            {"type": "response.output_text.done", **said, "text": instead.text, "logprobs": []},
            {"type": "response.content_part.done", **said, "part": whole_part},
            {"type": "response.output_item.done", "output_index": place, "item": item},
        ]
        output = [self._as_far_as_it_came(place, item) for place, item in sorted(self._items.items())]
        response = self._response(instead, "incomplete", [*output, item])
        events.append({"type": "response.incomplete", "response": response})
        return [_framed({**each, "sequence_number": n}) for n, each in enumerate(events, self._number + 1)]

    def _as_far_as_it_came(self, place: int, item: dict[str, Any]) -> dict[str, Any]:
        if item.get("status") == "completed" or item.get("type") != "message":
            return item
        text = {"type": "output_text", "text": "".join(self._texts.get(place, ())), "annotations": []}
        return {**item, "status": "incomplete", "content": [text]}

    def _response(self, instead: ReplacementAnswer, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self._id or f"resp_{instead.request_id}",
            "object": "response",
            "created_at": instead.at,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": "content_filter"} if status == "incomplete" else None,
            "instructions": None,
            "metadata": {},
            "model": instead.model,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "sovctl": instead.mark,
        }


def _message(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "refusal": None}


def _item(instead: ReplacementAnswer, status: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": instead.text, "annotations": []}
    suffix = instead.handoff_id.removeprefix("ho-")
    return {"id": f"msg_{suffix}", "type": "message", "role": "assistant", "status": status, "content": [part]}


def _framed(said: Mapping[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (said["type"].encode(), orjson.dumps(said))
