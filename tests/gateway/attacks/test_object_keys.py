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


PLACES = {"arguments": in_arguments, "result": in_result, "input": in_input, "unknown": in_unknown_field}

NAMES = (
    {"Anna_Kowalska": 100},
    {"AnnaKowalska": 100},
    {"Anna-Kowalska": 100},
    {"Anna Kowalska": 100},
    {"balance.Anna_Kowalska": 100},
    {"x" * 80 + "_Anna_Kowalska": 100},
    {"José_García": 100},
    {"Анна_Ковальская": 100},
    {"محمد_بن_سلمان": 100},
    {"Ελένη Παπαδοπούλου": 100},
    {"王小明": 100},
    {"김민준": 100},
    {"אנה כהן": 100},
    {"アンナ": 100},
    {"สมชาย": 100},
    {"DE89370400440532013000": 100},
    {"anna@example.com": 100},
    {"accounts": {"20481632": {"balance": 100}}},
    {"patients": {"48213": "stable"}},
    {"passwords": {"Sommer2024!": 1}},
    {"deep": [{"list": [{"Anna_Kowalska": {}}]}]},
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("document", NAMES, ids=[f"key-{number}" for number in range(len(NAMES))])
def test_a_name_as_a_key_stays(gateway: Any, cloud: EchoUpstream, place: str, document: Any) -> None:
    path, body = PLACES[place](document)
    status, headers, _ = post(gateway, path, {"model": "assistant", **body})
    assert (status, headers["x-sovctl-route"]) == (200, "pool")
    assert not cloud.raw
    assert any(each.startswith(("obstacle:key", "language:")) for each in audited(gateway)["reasons"])


@pytest.mark.parametrize("key", ["kowalska", "Kowalska", "a_kowalska", "kowalska_total", "balanceKowalska", "KOWALSKA"])
def test_a_known_name_is_found_in_keys(gateway: Any, cloud: EchoUpstream, key: str) -> None:
    path, body = in_arguments({key: 100})
    asked = {"role": "user", "content": "Please pay my colleague Anna Kowalska her share."}
    status, headers, _ = post(gateway, path, {"model": "assistant", "messages": [asked, *body["messages"]]})
    assert (status, headers["x-sovctl-route"]) == (200, "pool")
    assert not cloud.raw


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
@pytest.mark.parametrize("place", PLACES)
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
