"""Streams of Anthropic's messages as streams of OpenAI's chat completions. Pure.

| event of messages | chunk of chat completions |
|---|---|
| `message_start` | `role` |
| `content_block_start` of a tool | call with id, name and empty arguments |
| `text_delta`, `input_json_delta`, `thinking_delta` | `content`, `arguments`, `reasoning_content` |
| `message_delta` | `finish_reason` |
| `message_stop` | the usage if the client wants it, and `[DONE]` |
| `error` | the stream breaks off |

Source: Anthropic, "Streaming messages"; anthropic 2.12, `types/raw_*_event.py` (read 2026-11).
"""

from __future__ import annotations

from typing import Any

from ...domain.errors import UpstreamFailed
from ..translation import DONE_EVENT, AnswerOptions, Body, arguments_text, object_in, protocol_error
from .answer import OMITTED, chat_usage, finish_reason

_TEXTS = {"text_delta": ("text", "content"), "thinking_delta": ("thinking", "reasoning_content")}
"""Field of a delta, and its field in a chunk, by the type of the delta."""
_OMITTED_DELTAS = frozenset({"signature_delta", "citations_delta"})
_NO_CALL = -1


class ChatEvents:
    """Translates one stream."""

    def __init__(self, options: AnswerOptions) -> None:
        self._options = options
        self._model = ""
        self._usage: Body = {}
        self._is_begun = False
        self._has_ended = False
        self._blocks: dict[int, int] = {}  # open blocks, with the number of their tool call
        self._calls = 0
        self._inputs: dict[int, Any] = {}  # arguments of calls of which no part came yet

    def feed(self, event: Body) -> list[Body]:
        kind = event.get("type")
        if kind == "error":
            raise UpstreamFailed("error-event")
        if kind == "message_start" and not self._is_begun:
            message = object_in(event, "message")
            self._is_begun, self._model = True, str(message.get("model", ""))
            self._note_usage(message.get("usage"))
            return [self._chunk({"role": "assistant", "content": ""})]
        if kind == "ping":
            return []
        if not self._is_begun:
            raise protocol_error()
        match kind:
            case "content_block_start":
                return self._start(event)
            case "content_block_delta":
                return self._delta(event)
            case "content_block_stop":
                return self._stop(event)
            case "message_delta":
                return self._end(event)
            case "message_stop":
                return self._last()
            case str() if kind != "message_start":
                return []  # Anthropic may add types of events ("Streaming messages", "Other events")
        raise protocol_error()

    def _start(self, event: Body) -> list[Body]:
        index, block = self._index(event), object_in(event, "content_block")
        if index in self._blocks:
            raise protocol_error()
        match block:
            case {"type": "tool_use", "id": str(call), "name": str(name)}:
                number = self._blocks[index] = self._calls
                self._calls += 1
                self._inputs[number] = block.get("input") or {}
                function = {"name": name, "arguments": ""}
                head = {"index": number, "id": call, "type": "function", "function": function}
                return [self._chunk({"tool_calls": [head]})]
            case {"type": "text"}:
                self._blocks[index] = _NO_CALL
                return self._text("content", block.get("text"))
            case {"type": "thinking"}:
                self._blocks[index] = _NO_CALL
                return self._text("reasoning_content", block.get("thinking"))
            case {"type": str(kind)} if kind in OMITTED:
                self._blocks[index] = _NO_CALL
                return []
        raise protocol_error()

    def _delta(self, event: Body) -> list[Body]:
        delta, number = object_in(event, "delta"), self._blocks.get(self._index(event))
        kind = str(delta.get("type"))
        if number is None:
            raise protocol_error()
        if kind == "input_json_delta" and number != _NO_CALL:
            text = delta.get("partial_json")
            if not isinstance(text, str):
                raise protocol_error()
            if text:
                self._inputs.pop(number, None)
                return [self._arguments(number, text)]
            return []
        if kind in _TEXTS and number == _NO_CALL:
            name, field = _TEXTS[kind]
            if not isinstance(delta.get(name), str):
                raise protocol_error()
            return self._text(field, delta[name])
        if kind in _OMITTED_DELTAS:
            return []
        raise protocol_error()

    def _stop(self, event: Body) -> list[Body]:
        number = self._blocks.pop(self._index(event), None)
        if number is None:
            raise protocol_error()
        if number in self._inputs:  # without deltas: `{}`, or the arguments of the block itself
            return [self._arguments(number, arguments_text(self._inputs.pop(number)))]
        return []

    def _end(self, event: Body) -> list[Body]:
        self._note_usage(event.get("usage"))
        reason = object_in(event, "delta").get("stop_reason")
        if reason is None or self._has_ended:
            return []
        self._has_ended = True
        return [self._chunk({}, finish_reason(reason))]

    def _last(self) -> list[Body]:
        if not self._has_ended or self._blocks:
            raise protocol_error()
        if not self._options.has_usage:
            return [DONE_EVENT]
        return [{**self._chunk({}), "choices": [], "usage": chat_usage(self._usage)}, DONE_EVENT]

    def _note_usage(self, usage: Any) -> None:
        """Note counts of an event; they count from the beginning of the stream."""
        if isinstance(usage, dict):
            self._usage |= {name: count for name, count in usage.items() if count is not None}

    def _index(self, event: Body) -> int:
        index = event.get("index")
        if type(index) is not int:
            raise protocol_error()
        return index

    def _text(self, field: str, text: Any) -> list[Body]:
        return [self._chunk({field: text})] if isinstance(text, str) and text else []

    def _arguments(self, number: int, text: str) -> Body:
        return self._chunk({"tool_calls": [{"index": number, "function": {"arguments": text}}]})

    def _chunk(self, delta: Body, reason: str | None = None) -> Body:
        return {
            "id": self._options.answer_id,
            "object": "chat.completion.chunk",
            "created": self._options.created_s,
            "model": self._model,
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}],
        }
