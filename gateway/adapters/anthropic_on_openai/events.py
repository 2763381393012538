"""Streams of OpenAI's chat completions as streams of Anthropic's messages. Pure.

| chunk of chat completions | events of messages |
|---|---|
| the first one | `message_start` |
| `content`, `refusal` | `text_delta`, in a block that begins with the first one |
| a new call | `content_block_stop` of the block before, `content_block_start` |
| `arguments` | `input_json_delta` |
| `[DONE]` | `content_block_stop`, `message_delta` with stop reason and usage, `message_stop` |

Anthropic's blocks follow each other, so a call that continues after the next block has begun is invalid. Chunks
without choices, such as the filter results of a prompt (Azure), have no event. Source: openai 3.52,
`types/chat/chat_completion_chunk.py`; Anthropic, "Streaming messages" (read 2026-11).
"""

from __future__ import annotations

from typing import Any

from ...domain.errors import UpstreamFailed
from ..translation import DONE_EVENT, AnswerOptions, Body, protocol_error
from .answer import message_usage, stop_reason

_TEXT = -1
"""Stands for a block of text where a call has its number."""


class MessageEvents:
    """Translates one stream."""

    def __init__(self, options: AnswerOptions) -> None:
        self._options = options
        self._is_begun = False
        self._is_refusal = False
        self._reason: str | None = None
        self._usage: Body = {}
        self._block = -1  # number of the last block
        self._open: int | None = None  # call of the open block, or `_TEXT`
        self._calls: set[int] = set()

    def feed(self, event: Body) -> list[Body]:
        if event is DONE_EVENT:
            return self._end()
        choices = event.get("choices")
        if not isinstance(choices, list):
            raise UpstreamFailed("error-event" if "error" in event else "protocol")
        if isinstance(event.get("usage"), dict):
            self._usage = event["usage"]
        made = [] if self._is_begun or not choices else [self._start(event)]
        for choice in choices:
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                raise protocol_error()
            made += self._choice(choice)
        return made

    def _start(self, chunk: Body) -> Body:
        self._is_begun = True
        message = {
            "id": self._options.answer_id,
            "type": "message",
            "role": "assistant",
            "model": chunk.get("model", ""),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": message_usage({}),
        }
        return {"type": "message_start", "message": message}

    def _choice(self, choice: Body) -> list[Body]:
        delta = choice.get("delta") or {}
        if not isinstance(delta, dict):
            raise protocol_error()
        made: list[Body] = []
        for name in ("content", "refusal"):
            if text := delta.get(name):
                if not isinstance(text, str):
                    raise protocol_error()
                self._is_refusal = self._is_refusal or name == "refusal"
                made += self._text(text)
        calls = delta.get("tool_calls") or []
        if not isinstance(calls, list):
            raise protocol_error()
        for call in calls:
            made += self._call(call)
        if (reason := choice.get("finish_reason")) is not None:
            self._reason = str(reason)
        return made

    def _text(self, text: str) -> list[Body]:
        before = []
        if self._open != _TEXT:
            before = [*self._close(), *self._begin(_TEXT, {"type": "text", "text": ""})]
        return [*before, self._delta({"type": "text_delta", "text": text})]

    def _call(self, call: Any) -> list[Body]:
        if not isinstance(call, dict) or type(number := call.get("index")) is not int:
            raise protocol_error()
        function = call.get("function") or {}
        if not isinstance(function, dict):
            raise protocol_error()
        made: list[Body] = []
        if number != self._open:
            if number in self._calls:
                raise protocol_error()  # the call is closed
            match call, function:
                case {"id": str(call_id)}, {"name": str(name)}:
                    block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
                    made += [*self._close(), *self._begin(number, block)]
                    self._calls.add(number)
                case _:
                    raise protocol_error()
        arguments = function.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            raise protocol_error()
        if arguments:
            made.append(self._delta({"type": "input_json_delta", "partial_json": arguments}))
        return made

    def _begin(self, call: int, block: Body) -> list[Body]:
        self._open = call
        self._block += 1
        return [{"type": "content_block_start", "index": self._block, "content_block": block}]

    def _delta(self, delta: Body) -> Body:
        return {"type": "content_block_delta", "index": self._block, "delta": delta}

    def _close(self) -> list[Body]:
        if self._open is None:
            return []
        self._open = None
        return [{"type": "content_block_stop", "index": self._block}]

    def _end(self) -> list[Body]:
        if not self._is_begun or self._reason is None:
            raise UpstreamFailed("broken")
        reason = stop_reason(self._reason, is_refusal=self._is_refusal, has_calls=bool(self._calls))
        delta = {"stop_reason": reason, "stop_sequence": None}
        last = {"type": "message_delta", "delta": delta, "usage": message_usage(self._usage)}
        return [*self._close(), last, {"type": "message_stop"}]
