"""What is a bad answer, on every API that has text; and who is asked last after two of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.release.schema import SchemaCheck
from sovctl.gateway.routing.bad_answer import fault_in
from sovctl.gateway.routing.deprioritized import BAD_ANSWERS, DeprioritizedUpstreams, size_bytes
from sovctl.gateway.settings import Fault, SurfaceName

CHAT, COMPLETIONS = SurfaceName.CHAT, SurfaceName.COMPLETIONS
RESPONSES, MESSAGES = SurfaceName.RESPONSES, SurfaceName.MESSAGES
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOLS = {"tools": [{"type": "function", "function": {"name": "send", "strict": True, "parameters": SCHEMA}}]}
FLAT_TOOLS = {"tools": [{"type": "function", "name": "send", "strict": True, "parameters": SCHEMA}]}
ASKED = {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}}


def chat(content: Any, finish: str = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": content, **more}, "finish_reason": finish}]}


def calls(name: str, arguments: str = '{"a": 1}') -> dict[str, Any]:
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return chat(None, "tool_calls", tool_calls=[call])


def response(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"output": list(output), **more}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text}]}


def fault(
    family: SurfaceName,
    answer: dict[str, Any],
    body: dict[str, Any] | None = None,
    *,
    asked_tokens: int = 0,
    wants_json: bool = False,
    wanted: Any = tuple(Fault),
) -> Fault | None:
    return fault_in(
        answer,
        body or {},
        family=family,
        asked_tokens=asked_tokens,
        wants_json=wants_json,
        wanted=wanted,
        check=SchemaCheck(),
    )


@pytest.mark.parametrize(
    ("family", "answer", "body", "expected"),
    [
        (CHAT, chat("Hello"), {}, None),
        (CHAT, chat([{"type": "text", "text": "Hello"}]), {}, None),
        (CHAT, chat(" \n"), {}, Fault.EMPTY),
        (CHAT, chat(None, reasoning="long thoughts"), {}, Fault.EMPTY),
        (CHAT, {"choices": []}, {}, Fault.EMPTY),
        (CHAT, chat(None, refusal="I can't"), {}, None),
        (CHAT, chat("Hello", "length"), {}, Fault.TRUNCATED),
        (CHAT, calls("send"), TOOLS, None),
        (CHAT, calls("sned"), TOOLS, Fault.UNKNOWN_TOOL),
        (CHAT, calls("send"), {}, Fault.UNKNOWN_TOOL),
        (CHAT, calls("anything"), {"tools": [{"type": "mcp", "server_label": "x"}]}, None),
        (CHAT, calls("send", '{"a": "b"}'), TOOLS, Fault.INVALID_JSON),
        (CHAT, chat(None, function_call={"name": "f", "arguments": "{}"}), {"functions": [{"name": "f"}]}, None),
        (
            CHAT,
            chat(None, function_call={"name": "g", "arguments": "{}"}),
            {"functions": [{"name": "f"}]},
            Fault.UNKNOWN_TOOL,
        ),
        (CHAT, chat('{"a": 1}'), ASKED, None),
        (CHAT, chat('{"a": "1"}'), ASKED, Fault.INVALID_JSON),
        (CHAT, chat("Sure! {"), ASKED, Fault.INVALID_JSON),
        (
            CHAT,
            chat("not JSON"),
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": 7}}}},
            None,
        ),
        (CHAT, {"choices": [*chat("Hello")["choices"], *chat("")["choices"]]}, {}, Fault.EMPTY),
        (SurfaceName.CHAT_BATCH, {"choices": [*chat("Hello")["choices"], *chat("")["choices"]]}, {}, Fault.EMPTY),
        (COMPLETIONS, {"choices": [{"text": "x", "finish_reason": "stop"}]}, {}, None),
        (COMPLETIONS, {"choices": [{"text": "", "finish_reason": "stop"}]}, {}, Fault.EMPTY),
        (COMPLETIONS, {"choices": [{"text": "x", "finish_reason": "length"}]}, {}, Fault.TRUNCATED),
        (RESPONSES, response(said("x")), {}, None),
        (RESPONSES, response({"type": "reasoning", "summary": []}), {}, Fault.EMPTY),
        (RESPONSES, response({"type": "web_search_call"}), {}, None),
        (RESPONSES, response({"type": "function_call", "name": "send", "arguments": '{"a": 1}'}), FLAT_TOOLS, None),
        (
            RESPONSES,
            response({"type": "function_call", "name": "x", "arguments": "{}"}),
            FLAT_TOOLS,
            Fault.UNKNOWN_TOOL,
        ),
        (
            RESPONSES,
            response(said("x"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            {},
            Fault.TRUNCATED,
        ),
        (MESSAGES, {"content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"}, {}, None),
        (MESSAGES, {"content": [{"type": "thinking", "thinking": "x"}]}, {}, Fault.EMPTY),
        (
            MESSAGES,
            {"content": [{"type": "tool_use", "name": "send", "input": {}}]},
            {"tools": [{"name": "send"}]},
            None,
        ),
        (
            MESSAGES,
            {"content": [{"type": "tool_use", "name": "x", "input": {}}]},
            {"tools": [{"name": "send"}]},
            Fault.UNKNOWN_TOOL,
        ),
        (SurfaceName.EMBEDDINGS, {"data": []}, {}, None),
    ],
)
def test_the_faults_of_answers(
    family: SurfaceName, answer: dict[str, Any], body: dict[str, Any], expected: Fault | None
) -> None:
    assert fault(family, answer, body) is expected
    assert fault(family, answer, body, wanted=[each for each in Fault if each is not expected]) is None or expected
    assert fault(family, answer, body, wanted=()) is None


def test_a_length_that_the_client_asked_for_is_no_fault() -> None:
    assert fault(CHAT, chat("Hello", "length"), asked_tokens=5) is None


def test_a_client_that_asks_for_any_json_gets_json() -> None:
    assert fault(CHAT, chat("{}"), wants_json=True) is None
    assert fault(CHAT, chat("So: {}"), wants_json=True) is Fault.INVALID_JSON


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "text", "type", "output", "tool_calls", "function", "name", "tools"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from([CHAT, COMPLETIONS, RESPONSES, MESSAGES]), ANYTHING, ANYTHING)
def test_no_answer_and_no_request_is_too_odd_to_be_judged(family: SurfaceName, answer: Any, body: Any) -> None:
    fault(family, {"choices": answer, "output": answer, "content": answer}, {"tools": body, "response_format": body})


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["small", "large"])), max_size=40))
def test_two_bad_answers_in_one_conversation_latch_and_no_fewer(noted: list[tuple[str, str]]) -> None:
    latch = DeprioritizedUpstreams()
    for conversation, upstream in noted:
        latch.note(conversation, upstream)
    for conversation in "abcd":
        assert latch.of(conversation, ["small", "large"]) == {
            name for name in ("small", "large") if noted.count((conversation, name)) >= BAD_ANSWERS
        }


def test_the_latch_forgets_what_was_longest_without_a_bad_answer() -> None:
    latch = DeprioritizedUpstreams(bytearray(size_bytes(buckets=1)))
    for conversation in ("aabbccddeeffgghh", "a", "ii"):
        for each in conversation:
            latch.note(each, "small")
    assert [each for each in "abcdefghi" if latch.of(each, ["small"])] == list("acdefghi")


def test_shared_memory_is_common_to_workers() -> None:
    memory = bytearray(size_bytes())
    for _ in range(BAD_ANSWERS):
        DeprioritizedUpstreams(memory).note("c", "small")
    assert DeprioritizedUpstreams(memory).of("c", ["small", "large"]) == {"small"}
    assert not DeprioritizedUpstreams.shared().of("c", ["small", "large"])
