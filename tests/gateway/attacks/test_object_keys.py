"""Issue 15, A3: names and identifiers that are keys of objects do not reach a cloud, and tokens in keys come back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from surface_givens import MAIL, audited, post
from surface_upstream import SurfaceUpstream

POLICY = {"default": "tokenize", "name_languages": ["en", "de", "pl", "ru", "es", "ar"]}


@pytest.fixture(scope="module")
def cloud(pki: Any) -> Any:
    with SurfaceUpstream(pki.certificate_file, pki.key_file) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def pool(pki: Any) -> Any:
    with SurfaceUpstream(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def gateway(start: Callable[..., Any]) -> Any:
    return start(policy=POLICY)


def in_arguments(document: Any) -> tuple[str, dict[str, Any]]:
    function = {"name": "pay", "arguments": json.dumps(document, ensure_ascii=False)}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    result = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
    return "/v1/chat/completions", {"messages": [{"role": "assistant", "tool_calls": calls}, result]}


def in_result(document: Any) -> tuple[str, dict[str, Any]]:
    text = json.dumps({"note": "one\ntwo", "found": document})
    return "/v1/chat/completions", {"messages": [{"role": "tool", "tool_call_id": "call_1", "content": text}]}


def in_input(document: Any) -> tuple[str, dict[str, Any]]:
    block = {"type": "tool_use", "id": "call_1", "name": "pay", "input": document}
    return "/v1/messages", {"max_tokens": 9, "messages": [{"role": "assistant", "content": [block]}]}


def in_unknown_field(document: Any) -> tuple[str, dict[str, Any]]:
    return "/v1/chat/completions", {"messages": [{"role": "user", "content": "Thank you."}], "x": document}


def in_plain_result(document: Any) -> tuple[str, dict[str, Any]]:
    text = json.dumps({"found": document}, ensure_ascii=False)
    return "/v1/chat/completions", {"messages": [{"role": "tool", "tool_call_id": "call_1", "content": text}]}


def in_call_output(document: Any) -> tuple[str, dict[str, Any]]:
    call = {"type": "function_call", "call_id": "1", "name": "pay", "arguments": json.dumps(document)}
    return "/v1/responses", {"input": [call, {"type": "function_call_output", "call_id": "1", "output": "done"}]}


def in_top_level(document: Any) -> tuple[str, dict[str, Any]]:
    return "/v1/messages", {"max_tokens": 9, "messages": [{"role": "user", "content": "Thank you."}], **document}


def in_schema(document: Any) -> tuple[str, dict[str, Any]]:
    properties = {key: {"type": "string"} for key in document}
    function = {"name": "pay", "parameters": {"type": "object", "properties": properties}}
    tools = [{"type": "function", "function": function}]
    return "/v1/chat/completions", {"messages": [{"role": "user", "content": "Thank you."}], "tools": tools}


DATA = {
    "arguments": in_arguments,
    "result": in_result,
    "plain": in_plain_result,
    "input": in_input,
    "output": in_call_output,
}
"""Places in which an object is data, so that its keys may be replaced."""
FIXED = {"unknown": in_unknown_field, "top": in_top_level, "schema": in_schema}
"""Places in which keys mean something to the server."""
PLACES = DATA | FIXED

NAMES = (
    {"Anna_Kowalska": 100},
    {"AnnaKowalska": 100},
    {"Anna-Kowalska": 100},
    {"Anna Kowalska": 100},
    {"balance.Anna_Kowalska": 100},
    {"x" * 80 + "_Anna_Kowalska": 100},
    {"José_García": 100},
    {"Анна_Ковальская": 100},
    {"DE89370400440532013000": 100},
    {"anna@example.com": 100},
    {"accounts": {"20481632": {"balance": 100}}},
    {"patients": {"48213": "stable"}},
    {"passwords": {"Sommer2024!": 1}},
    {"deep": [{"list": [{"Anna_Kowalska": {}}]}]},
    {"Anna_Kowalska": {"anna@example.com": {"to": "anna@example.com"}}, "Anna Kowalska": 2},
)
PIECES = ("Kowalska", "García", "Garc\\u00eda", "Ковальск", "DE89", "anna@", "20481632", "48213", "Sommer2024")


@pytest.mark.parametrize("place", DATA)
@pytest.mark.parametrize("document", NAMES, ids=[f"key-{number}" for number in range(len(NAMES))])
def test_a_key_leaves_as_a_token(gateway: Any, cloud: EchoUpstream, place: str, document: Any) -> None:
    path, body = PLACES[place](document)
    status, headers, _ = post(gateway, path, {"model": "assistant", **body})
    assert (status, headers["x-sovctl-route"]) == (200, "cloud"), audited(gateway)["reasons"]
    sent = b"\n".join(cloud.raw).decode()
    assert not [piece for piece in PIECES if piece in sent]


STAYING = (
    {"محمد_بن_سلمان": 100},
    {"Ελένη Παπαδοπούλου": 100},
    {"王小明": 100},
    {"김민준": 100},
    {"אנה כהן": 100},
    {"アンナ": 100},
    {"สมชาย": 100},
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("document", STAYING, ids=[f"key-{number}" for number in range(len(STAYING))])
def test_no_letter_of_a_key_in_another_language_leaves(
    gateway: Any, cloud: EchoUpstream, place: str, document: Any
) -> None:
    path, body = PLACES[place](document)
    assert post(gateway, path, {"model": "assistant", **body})[0] == 200
    sent = b"\n".join(cloud.raw).decode()
    assert not [key for key in document if key in sent or json.dumps(key)[1:-1] in sent]


@pytest.mark.parametrize("place", FIXED)
@pytest.mark.parametrize("document", NAMES[:10], ids=[f"key-{number}" for number in range(10)])
def test_a_key_that_a_server_reads_stays(gateway: Any, cloud: EchoUpstream, place: str, document: Any) -> None:
    path, body = PLACES[place](document)
    status, headers, _ = post(gateway, path, {"model": "assistant", **body})
    assert (status, headers["x-sovctl-route"]) == (200, "pool")
    assert not cloud.raw
    assert "obstacle:key" in audited(gateway)["reasons"]


def repeated(document: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A model that calls the tool with the same arguments again."""

    def call(body: dict[str, Any]) -> dict[str, Any]:
        asked = next(each for each in body["messages"] if each.get("tool_calls"))
        return {"role": "assistant", "content": None, "tool_calls": [{"index": 0, **asked["tool_calls"][0]}]}

    return call


def called(gateway: Any, messages: Any, *, stream: bool) -> str:
    """The arguments of the call that the client gets."""
    client = gateway.client()
    if not stream:
        answer = client.chat.completions.create(model="assistant", messages=messages)
        return str(answer.choices[0].message.tool_calls[0].function.arguments)
    arguments = ""
    for event in client.chat.completions.create(model="assistant", messages=messages, stream=True):
        for choice in event.choices:
            arguments += "".join(each.function.arguments or "" for each in choice.delta.tool_calls or [])
    return arguments


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("document", NAMES, ids=[f"key-{number}" for number in range(len(NAMES))])
def test_a_key_comes_back(gateway: Any, cloud: EchoUpstream, document: Any, stream: bool) -> None:
    cloud.script.message = repeated(document)
    assert json.loads(called(gateway, in_arguments(document)[1]["messages"], stream=stream)) == document
    assert cloud.raw


def test_order_and_values_of_an_object_remain(gateway: Any, cloud: EchoUpstream) -> None:
    document = {"first": 1, "Anna_Kowalska": ["a", {"Jan_Nowak": None}], "last": {"anna@example.com": "x"}}
    cloud.script.message = repeated(document)
    assert called(gateway, in_arguments(document)[1]["messages"], stream=False) == json.dumps(
        document, separators=(",", ":")
    )
    sent = json.loads(cloud.requests[-1]["messages"][0]["tool_calls"][0]["function"]["arguments"])
    assert [key.partition("_")[0] for key in sent] == ["first", "PERSON", "last"]


def test_a_key_has_the_token_of_the_value(gateway: Any, cloud: EchoUpstream) -> None:
    document = {"anna@example.com": {"to": "anna@example.com"}}
    path, body = in_arguments(document)
    assert post(gateway, path, {"model": "assistant", **body})[0] == 200
    sent = json.loads(cloud.requests[-1]["messages"][0]["tool_calls"][0]["function"]["arguments"])
    ((key, value),) = sent.items()
    assert key.startswith("EMAIL_")
    assert value == {"to": key}


def test_a_value_that_a_key_shows_is_found_in_texts(gateway: Any, cloud: EchoUpstream) -> None:
    path, body = in_arguments({"accounts": {"20481632": 1}})
    asked = {"role": "user", "content": "Please compare the number 20481632 with the list."}
    status, headers, _ = post(gateway, path, {"model": "assistant", "messages": [asked, *body["messages"]]})
    assert (status, headers["x-sovctl-route"]) == (200, "cloud"), audited(gateway)["reasons"]
    assert "20481632" not in b"\n".join(cloud.raw).decode()


def test_equal_keys_leave_as_one_token(gateway: Any, cloud: EchoUpstream) -> None:
    path, body = in_arguments({})
    function = body["messages"][0]["tool_calls"][0]["function"]
    function["arguments"] = '{"Anna_Kowalska":"first","Anna_Kowalska":"DE89370400440532013000","a":1}'
    assert post(gateway, path, {"model": "assistant", **body})[0] == 200
    sent = json.loads(cloud.requests[-1]["messages"][0]["tool_calls"][0]["function"]["arguments"])
    assert [key.partition("_")[0] for key in sent] == ["PERSON", "a"]
    assert "DE89" not in b"\n".join(cloud.raw).decode()


@pytest.mark.parametrize("stream", [False, True])
def test_two_keys_of_one_value_both_remain(gateway: Any, cloud: EchoUpstream, stream: bool) -> None:
    def call(body: dict[str, Any]) -> dict[str, Any]:
        arguments = f'{{"{MAIL}":1,"{token_in(body["messages"])}":2,"deep":{{"{MAIL}":3}}}}'
        function = {"name": "pay", "arguments": arguments}
        return {"role": "assistant", "content": None, "tool_calls": [{"index": 0, "id": "1", "function": function}]}

    cloud.script.message = call
    asked = [{"role": "user", "content": f"Please pay 100 to {MAIL} today."}]
    arguments = json.loads(called(gateway, asked, stream=stream))
    (token,) = set(arguments) - {MAIL, "deep"}
    assert arguments == {MAIL: 1, token: 2, "deep": {MAIL: 3}}


@pytest.mark.parametrize("key", ["kowalska", "Kowalska", "a_kowalska", "kowalska_total", "balanceKowalska", "KOWALSKA"])
def test_a_known_name_is_found_in_keys(gateway: Any, cloud: EchoUpstream, key: str) -> None:
    path, body = in_arguments({key: 100})
    asked = {"role": "user", "content": "Please pay my colleague Anna Kowalska her share."}
    status, headers, _ = post(gateway, path, {"model": "assistant", "messages": [asked, *body["messages"]]})
    assert (status, headers["x-sovctl-route"]) == (200, "cloud"), audited(gateway)["reasons"]
    assert "kowalska" not in b"\n".join(cloud.raw).decode().lower()


def test_a_name_of_an_earlier_turn_is_found_in_keys(gateway: Any, cloud: EchoUpstream) -> None:
    named = {"x-sovctl-conversation": "keys"}
    asked = {"role": "user", "content": "Please pay my colleague Anna Kowalska her share."}
    assert post(gateway, "/v1/chat/completions", {"model": "assistant", "messages": [asked]}, **named)[0] == 200
    cloud.forget()
    path, body = in_arguments({"a_kowalska": 100})
    asked = {"role": "user", "content": f"Please write to {MAIL} about it."}
    body = {"model": "assistant", "messages": [asked, *body["messages"]]}
    assert post(gateway, path, body, **named)[0] == 200
    assert "kowalska" not in b"\n".join(cloud.raw).decode()


USUAL = (
    {"max_retries": 3, "grace_period": 5, "will_retry": True, "page_size": 10, "rose_gold": 1},
    {"createdAt": "2026-11-23", "Content-Type": "text/html", "X-Request-Id": "7f", "accountHolder": "none"},
    {"MarkRead": 1, "StartDate": 2, "PatternName": "x", "Total": 3, "v2": 4, "line-height": 5, "$ref": "a.b"},
    {"EMAIL_7K2M0C3R9T5V1WXY": 1},
)


@pytest.mark.parametrize("document", USUAL, ids=[f"keys-{number}" for number in range(len(USUAL))])
@pytest.mark.parametrize("place", sorted(PLACES.keys() - {"plain"}))  # a text of such words alone has no language
def test_usual_keys_leave(gateway: Any, cloud: EchoUpstream, place: str, document: Any) -> None:
    path, body = PLACES[place](document)
    status, headers, _ = post(gateway, path, {"model": "assistant", **body})
    assert (status, headers["x-sovctl-route"]) == (200, "cloud"), audited(gateway)["reasons"]


def token_in(messages: Any) -> str:
    found = re.search(r"EMAIL_[0-9A-Z]{16}", json.dumps(messages))
    assert found is not None
    return found.group()


@pytest.mark.parametrize("stream", [False, True])
def test_a_token_that_is_a_key_comes_back(gateway: Any, cloud: EchoUpstream, stream: bool) -> None:
    def call(body: dict[str, Any]) -> dict[str, Any]:
        token = token_in(body["messages"])
        arguments = json.dumps({token: 100, "deep": [{token: {"to": token}}]})
        function = {"name": "pay", "arguments": arguments}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"index": 0, "id": "1", "type": "function", "function": function}],
        }

    cloud.script.message = call
    asked = [{"role": "user", "content": f"Please pay 100 to {MAIL} today."}]
    client = gateway.client()
    expected = {MAIL: 100, "deep": [{MAIL: {"to": MAIL}}]}
    if not stream:
        answer = client.chat.completions.create(model="assistant", messages=asked)
        arguments = answer.choices[0].message.tool_calls[0].function.arguments
    else:
        arguments = ""
        for event in client.chat.completions.create(model="assistant", messages=asked, stream=True):
            for choice in event.choices:
                arguments += "".join(each.function.arguments or "" for each in choice.delta.tool_calls or [])
    assert json.loads(arguments) == expected
