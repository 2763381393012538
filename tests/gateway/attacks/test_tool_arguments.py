"""Issue 15, A5: tools that reach other hosts get tokens instead of values, unless the route permits values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.domain.errors import Refused
from sovctl.gateway.settings import RouteSettings
from sovctl.gateway.settings.answers.tool_arguments import ToolArgumentRule, default_action
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.tokens.restore import RestoreCounts
from sovctl.gateway.tokens.token import TokenIssuer

VALUE = 'Anna O"Neill'
ISSUER = TokenIssuer(bytes(32), tenant="t", conversation="c")
TOKEN = ISSUER.token(EntityType.PERSON, VALUE, VALUE)

# Tool, arguments, True if values are restored by default.
CASES = (
    ("send_letter", {"to": TOKEN, "text": {"body": [f"Dear {TOKEN}"]}}, True),
    ("look_up_customer", {"query": TOKEN}, True),
    ("send_letter", {"url": TOKEN}, False),
    ("send_letter", {"target": {"callbackUrl": [TOKEN]}}, False),
    ("send_letter", {b"u\\u0072l".decode("unicode_escape"): TOKEN}, False),
    ("fetch", {"address": TOKEN}, False),
    ("search_web", {"query": TOKEN}, False),
    ("webSearch", {"query": TOKEN}, False),
    ("browse", {"page": TOKEN}, False),
    ("http_get", {"body": TOKEN}, False),
    ("run_shell", {"command": f"mail {TOKEN}"}, False),
    ("curl", {"x": [{"y": TOKEN}]}, False),
    ("post_webhook", {"text": TOKEN}, False),
    ("send_letter", {"host": "a", "to": TOKEN}, True),
)


def restoration(*rules: ToolArgumentRule) -> Restoration:
    return Restoration({TOKEN: VALUE}, "assistant", RestoreCounts(), tool_rules=rules)


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _chat(tool: str, text: str, size: int, how: Restoration) -> tuple[Any, Any]:
    call = {"id": "1", "type": "function", "function": {"name": tool, "arguments": text}}
    whole = SURFACES["/v1/chat/completions"].whole({"choices": [{"message": {"tool_calls": [call]}}]}, how)
    stream = SURFACES["/v1/chat/completions"].stream(how)
    deltas: list[dict[str, Any]] = [{"index": 0, "id": "1", "function": {"name": tool, "arguments": ""}}]
    deltas += [{"index": 0, "function": {"arguments": piece}} for piece in _pieces(text, size)]
    out = b""
    for delta in deltas:
        data = json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [delta]}, "finish_reason": None}]}).encode()
        framed = b"data: " + data + b"\n\n"
        known = stream.put(framed)
        out += known if known is not None else b"".join(stream.feed(data))
    out += b"".join(stream.feed(b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'))
    events = [json.loads(each) for each in out.decode().split("data: ")[1:]]
    streamed = "".join(
        each["function"]["arguments"] for event in events for each in event["choices"][0]["delta"].get("tool_calls", ())
    )
    return json.loads(whole["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]), json.loads(streamed)


def _responses(tool: str, text: str, size: int, how: Restoration) -> tuple[Any, Any]:
    item = {"type": "function_call", "id": "i", "name": tool, "arguments": text}
    whole = SURFACES["/v1/responses"].whole({"output": [item]}, how)
    stream = SURFACES["/v1/responses"].stream(how)
    place = {"item_id": "i", "output_index": 0}
    kind = "response.function_call_arguments"
    said: list[dict[str, Any]] = [{"type": "response.output_item.added", **place, "item": {**item, "arguments": ""}}]
    said += [{"type": f"{kind}.delta", **place, "delta": piece} for piece in _pieces(text, size)]
    said += [{"type": f"{kind}.done", **place, "arguments": text}]
    said += [{"type": "response.output_item.done", **place, "item": item}]
    got = [json.loads(e.split(b"data: ")[1]) for each in said for e in stream.feed(json.dumps(each).encode())]
    streamed = json.loads("".join(each["delta"] for each in got if each["type"] == f"{kind}.delta"))
    assert json.loads(got[-2]["arguments"]) == json.loads(got[-1]["item"]["arguments"]) == streamed
    return json.loads(whole["output"][0]["arguments"]), streamed


def _messages(tool: str, text: str, size: int, how: Restoration) -> tuple[Any, Any]:
    block = {"type": "tool_use", "id": "1", "name": tool, "input": json.loads(text)}
    whole = SURFACES["/v1/messages"].whole({"content": [block]}, how)
    stream = SURFACES["/v1/messages"].stream(how)
    said: list[dict[str, Any]] = [{"type": "content_block_start", "index": 0, "content_block": {**block, "input": {}}}]
    said += [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
        for piece in _pieces(text, size)
    ]
    said += [{"type": "content_block_stop", "index": 0}]
    got = [json.loads(e.split(b"data: ")[1]) for each in said for e in stream.feed(json.dumps(each).encode())]
    streamed = "".join(each["delta"]["partial_json"] for each in got if each["type"] == "content_block_delta")
    return whole["content"][0]["input"], json.loads(streamed)


SURFACE = {"chat": _chat, "responses": _responses, "messages": _messages}


def _with_values(arguments: Any) -> Any:
    return json.loads(json.dumps(arguments).replace(TOKEN, json.dumps(VALUE)[1:-1]))


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("surface", SURFACE)
@pytest.mark.parametrize(("tool", "arguments", "is_restored"), CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_tools_that_reach_other_hosts_get_tokens(
    tool: str, arguments: Any, is_restored: bool, surface: str, size: int
) -> None:
    whole, streamed = SURFACE[surface](tool, json.dumps(arguments), size, restoration())
    assert whole == streamed == (_with_values(arguments) if is_restored else arguments)


@pytest.mark.parametrize("surface", SURFACE)
def test_rules_of_a_route_take_precedence(surface: str) -> None:
    rules = [
        ToolArgumentRule(tools=["send_*"], action="keep-token"),
        ToolArgumentRule(tools=["send_*", "fetch"], arguments=["message.*"], action="restore"),
    ]
    arguments = {"to": TOKEN, "message": {"text": TOKEN}}
    for tool in ("send_letter", "fetch"):
        whole, streamed = SURFACE[surface](tool, json.dumps(arguments), 3, restoration(*rules))
        assert whole == streamed == {"to": TOKEN, "message": {"text": VALUE}}


@pytest.mark.parametrize("surface", SURFACE)
def test_a_refused_argument_withholds_the_answer(surface: str) -> None:
    rule = ToolArgumentRule(tools=["pay"], arguments=["iban"], action="refuse")
    with pytest.raises(Refused):
        SURFACE[surface]("pay", json.dumps({"iban": TOKEN}), 3, restoration(rule))
    assert SURFACE[surface]("pay", json.dumps({"name": TOKEN}), 3, restoration(rule))[1] == {"name": VALUE}


def test_an_escaped_key_is_read() -> None:
    text = '{"\\u0075rl":"' + TOKEN + '"}'
    assert all(got == {"url": TOKEN} for got in _chat("send_letter", text, 3, restoration()))


@pytest.mark.parametrize("text", ['{"a":]"' + TOKEN, "}" + TOKEN, '{"a":1}}{"to":"' + TOKEN])
def test_arguments_that_are_no_json_keep_their_tokens(text: str) -> None:
    call = {"function": {"name": "send_letter", "arguments": text}}
    answer = {"choices": [{"message": {"tool_calls": [call]}}]}
    whole = SURFACES["/v1/chat/completions"].whole(answer, restoration())
    assert whole["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == text


def test_arguments_without_a_readable_path_keep_their_tokens() -> None:
    assert default_action("send", None).value == "keep-token"


def test_a_route_reads_its_rules() -> None:
    route = RouteSettings(model="m", pool="p", tool_arguments=[{"tools": ["pay"], "action": "refuse"}])
    assert route.tool_arguments[0].arguments == ["*"]
