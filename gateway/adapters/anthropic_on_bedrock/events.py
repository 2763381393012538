"""Streams of Bedrock's ConverseStream as streams of Anthropic's messages. Pure.

| event of ConverseStream | events of messages |
|---|---|
| `messageStart` | `message_start` |
| `contentBlockStart`, only of a tool | `content_block_start` |
| `contentBlockDelta` | `content_block_start` for a text that begins, and a delta |
| `contentBlockStop` | `content_block_stop` |
| `messageStop`, then `metadata` with the usage | `message_delta`, `message_stop` |
| an exception | the stream breaks off |

Source: Amazon Bedrock API reference, `ConverseStreamOutput` (read 2026-11).
"""

from __future__ import annotations

from typing import Any

from ...domain.errors import UpstreamFailed
from ..translation import AnswerOptions, Body, object_in, protocol_error
from .answer import message_head, message_usage, stop_reason

EXCEPTION = "exception"
"""Key of an event for a message of the type `exception` or `error`."""


class ConverseEvents:
    """Translates one stream. An event is an object with one member: its type, and its payload."""

    def __init__(self, options: AnswerOptions) -> None:
        self._options = options
        self._is_begun = False
        self._open: dict[int, str] = {}  # types of open blocks
        self._reason: str | None = None

    def feed(self, event: Body) -> list[Body]:
        ((kind, payload),) = event.items()
        if kind == EXCEPTION:
            raise UpstreamFailed("error-event")
        if kind == "messageStart" and not self._is_begun:
            self._is_begun = True
            return [{"type": "message_start", "message": message_head(self._options)}]
        if not self._is_begun or not isinstance(payload, dict):
            raise protocol_error()
        match kind:
            case "contentBlockStart":
                return self._start(payload)
            case "contentBlockDelta":
                return self._delta(payload)
            case "contentBlockStop":
                index = _index(payload)
                if self._open.pop(index, None) is None:
                    raise protocol_error()
                return [{"type": "content_block_stop", "index": index}]
            case "messageStop" if self._reason is None and not self._open:
                self._reason = stop_reason(payload.get("stopReason"))
                return []
            case "metadata" if self._reason is not None:
                delta = {"stop_reason": self._reason, "stop_sequence": None}
                usage = message_usage(object_in(payload, "usage"))
                return [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]
        raise protocol_error()

    def _start(self, payload: Body) -> list[Body]:
        match payload.get("start"):
            case {"toolUse": {"toolUseId": str(use), "name": str(name)}}:
                return self._begin(_index(payload), {"type": "tool_use", "id": use, "name": name, "input": {}})
            case {} | None:
                return []  # a text begins with its first delta
        raise protocol_error()

    def _begin(self, index: int, block: Body) -> list[Body]:
        if index in self._open:
            raise protocol_error()
        self._open[index] = block["type"]
        return [{"type": "content_block_start", "index": index, "content_block": block}]

    def _delta(self, payload: Body) -> list[Body]:
        index = _index(payload)
        block, delta = _block_and_delta(object_in(payload, "delta"))
        before: list[Body] = []
        if index not in self._open and block["type"] != "tool_use":
            before = self._begin(index, block)
        if self._open.get(index) != block["type"]:
            raise protocol_error()
        if delta is None:
            return before
        return [*before, {"type": "content_block_delta", "index": index, "delta": delta}]


def _block_and_delta(delta: Body) -> tuple[Body, Body | None]:
    """Return the block that a delta begins if it is the first of its block, and Anthropic's delta."""
    match delta:
        case {"text": str(text)}:
            return {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        case {"toolUse": {"input": str(text)}}:
            return {"type": "tool_use"}, {"type": "input_json_delta", "partial_json": text}
        case {"reasoningContent": {"text": str(text)}}:
            return _THINKING, {"type": "thinking_delta", "thinking": text}
        case {"reasoningContent": {"signature": str(text)}}:
            return _THINKING, {"type": "signature_delta", "signature": text}
        case {"reasoningContent": {"redactedContent": str(text)}}:
            return {"type": "redacted_thinking", "data": text}, None
    raise protocol_error()


_THINKING: Body = {"type": "thinking", "thinking": "", "signature": ""}


def _index(payload: Body) -> int:
    index: Any = payload.get("contentBlockIndex")
    if type(index) is not int:
        raise protocol_error()
    return index
