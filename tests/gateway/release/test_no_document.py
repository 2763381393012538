"""An answer that had to be a document and says nothing does not pass; one that says why, or calls a tool, does."""

from __future__ import annotations

from typing import Any

import pytest
from release_givens import chunk, framed, judge_of

from sovctl.gateway.release.stream import StreamGate
from sovctl.gateway.release.verdict import AnswerWithheld
from sovctl.gateway.release.whole import release_whole
from sovctl.gateway.surfaces import SURFACES

RELEASE = {"json_schema": {}}
SCHEMA = {"type": "object", "required": ["age"]}
CHAT = {
    "messages": [],
    "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}},
}
RESPONSE = {"input": [], "text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}}}
MESSAGE = {"messages": [], "output_format": {"type": "json_schema", "schema": SCHEMA}}
GOOD = '{"age": 3}'
CALL = {"id": "c", "type": "function", "function": {"name": "send", "arguments": ""}}


def choices(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"index": index, "message": message} for index, message in enumerate(messages)]}


def output(*items: dict[str, Any]) -> dict[str, Any]:
    return {"output": list(items)}


def part(kind: str, field: str, text: str) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": kind, field: text}]}


WHOLE = [
    ("/v1/chat/completions", CHAT, choices({"content": GOOD}), True),
    ("/v1/chat/completions", CHAT, choices({"content": ""}), False),
    ("/v1/chat/completions", CHAT, choices({"content": None, "reasoning": "long thoughts"}), False),
    ("/v1/chat/completions", CHAT, choices({"content": GOOD}, {"content": " "}), False),
    ("/v1/chat/completions", CHAT, choices(), False),
    ("/v1/chat/completions", CHAT, choices({"content": None, "refusal": "No."}), True),
    ("/v1/chat/completions", CHAT, choices({"content": None, "tool_calls": [CALL]}), True),
    ("/v1/responses", RESPONSE, output(part("output_text", "text", GOOD)), True),
    ("/v1/responses", RESPONSE, output(part("refusal", "refusal", "No.")), True),
    ("/v1/responses", RESPONSE, output({"type": "reasoning", "summary": []}), False),
    ("/v1/responses", RESPONSE, output({"type": "function_call", "name": "send", "arguments": "{}"}), True),
    ("/v1/messages", MESSAGE, {"content": [{"type": "text", "text": GOOD}]}, True),
    ("/v1/messages", MESSAGE, {"content": [{"type": "tool_use", "name": "send", "input": {}}]}, True),
    ("/v1/messages", MESSAGE, {"content": [{"type": "thinking", "thinking": "long thoughts"}]}, False),
    ("/v1/chat/completions", {"messages": []}, choices({"content": ""}), True),
]


@pytest.mark.parametrize(("path", "body", "answer", "passes"), WHOLE)
def test_a_whole_answer(path: str, body: dict[str, Any], answer: dict[str, Any], passes: bool) -> None:
    judge = judge_of(RELEASE, body)
    if passes:
        release_whole(judge, SURFACES[path], answer)
    else:
        with pytest.raises(AnswerWithheld, match="json_schema:no-json"):
            release_whole(judge, SURFACES[path], answer)


DONE = b"data: [DONE]\n\n"
CHAT_ENDS = [chunk({}, finish="stop"), DONE]


def response(*events: bytes) -> list[bytes]:
    return [framed("response.created", response={"output": []}), *events]


TEXT = framed("response.output_text.delta", delta=GOOD, output_index=0, content_index=0)
REFUSAL = framed("response.refusal.delta", delta="No.", output_index=0, content_index=0)
COMPLETED = framed("response.completed", response={"output": []})
BLOCK = framed("content_block_delta", index=0, delta={"type": "text_delta", "text": GOOD})
MESSAGE_ENDS = [framed("message_delta", delta={"stop_reason": "end_turn"}), framed("message_stop")]
STREAMS = [
    ("/v1/chat/completions", CHAT, [chunk({"role": "assistant", "content": ""}), *CHAT_ENDS], False),
    ("/v1/chat/completions", CHAT, [chunk({"content": GOOD}), *CHAT_ENDS], True),
    ("/v1/chat/completions", CHAT, [chunk({"content": GOOD}), chunk({}, index=1, finish="stop"), DONE], False),
    ("/v1/chat/completions", CHAT, [chunk({"refusal": "No."}), *CHAT_ENDS], True),
    ("/v1/chat/completions", CHAT, [chunk({"tool_calls": [{"index": 0, **CALL}]}), *CHAT_ENDS], True),
    ("/v1/responses", RESPONSE, response(COMPLETED), False),
    ("/v1/responses", RESPONSE, response(TEXT, COMPLETED), True),
    ("/v1/responses", RESPONSE, response(REFUSAL, COMPLETED), True),
    ("/v1/messages", MESSAGE, MESSAGE_ENDS, False),
    ("/v1/messages", MESSAGE, [BLOCK, *MESSAGE_ENDS], True),
]


@pytest.mark.parametrize(("path", "body", "events", "passes"), STREAMS)
def test_a_stream(path: str, body: dict[str, Any], events: list[bytes], passes: bool) -> None:
    gate = StreamGate(judge_of(RELEASE, body), SURFACES[path], clock=lambda: 1.0, observe=lambda _: None)
    released = b"".join(map(gate.feed, events)) + gate.flush()
    if passes:
        assert released == b"".join(events)
    else:
        assert str(gate.blocked) == "json_schema:no-json"
        assert not any(word in released for word in (b'"stop"', b'"response.completed"', b'"end_turn"', b"[DONE]"))
