"""Issue 15, A6: one language gate reads all text of a request, and the parts of a message are read joined."""

from __future__ import annotations

from typing import Any

import pytest
from echo_upstream import EchoUpstream
from surface_givens import post

CHAT = "/v1/chat/completions"
HUNGARIAN = "A szerződést Kovács Istvánné ügyfelünk írta alá."
NAME = "Kovács Istvánné"
MESSAGES = [{"role": "user", "content": "Please continue the letter to the customer."}]


def body(**more: Any) -> dict[str, Any]:
    return {"model": "assistant", "messages": MESSAGES, **more}


def tool(**function: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {"name": "look_up", **function}}]}


def schema(**field: Any) -> dict[str, Any]:
    return {"parameters": {"type": "object", "properties": {"id": {"type": "string", **field}}}}


FIELDS = {
    "prediction": {"prediction": {"type": "content", "content": HUNGARIAN}},
    "prediction in parts": {"prediction": {"type": "content", "content": [{"type": "text", "text": HUNGARIAN}]}},
    "stop": {"stop": NAME},
    "stop without accents": {"stop": ["Kovacs Istvan"]},
    "several stops": {"stop": ["END", f"{NAME}:"]},
    "tool description": tool(description=HUNGARIAN),
    "short tool description": tool(description=f"{NAME} adatai"),
    "property description": tool(**schema(description=HUNGARIAN)),
    "property title": tool(**schema(title=NAME)),
    "enum": tool(**schema(enum=["a", NAME])),
    "default": tool(**schema(default=NAME)),
    "answer schema": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"description": HUNGARIAN}}}
    },
    "unknown field": {"trace": {"note": HUNGARIAN}},
    "list in an unknown field": {"tags": ["vip", NAME]},
    "grammar": {"guided_choice": [NAME]},
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_language_that_is_not_accepted_stays_wherever_it_is(
    gateway: Any, cloud: EchoUpstream, pool: EchoUpstream, field: str
) -> None:
    status, headers, _ = post(gateway, CHAT, body(**FIELDS[field]))
    assert (status, headers["x-sovctl-route"]) == (200, "pool")
    assert not cloud.raw


USUAL = {
    "stops": {"stop": ["</s>", "<|im_end|>", "END", "\n\nHuman:", "Observation:", "Final Answer:", "###"]},
    "tools": tool(
        description="Return the weather of a city.",
        parameters={
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Name of the city, as on a map"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit", "per_hour"]},
                "at": {"type": "integer", "description": "Unix timestamp (seconds)"},
                "region": {"type": "string", "default": "us-east-1", "title": "Region code"},
            },
        },
    ),
    "prediction": {"prediction": {"type": "content", "content": "The contract was signed by the customer."}},
    "ids": {"service_tier": "default", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "x": {"unit": "ms"}},
    "metadata": {"metadata": {"note": HUNGARIAN}, "user": NAME},  # not sent
}


@pytest.mark.parametrize("field", USUAL)
def test_usual_fields_leave(gateway: Any, cloud: EchoUpstream, field: str) -> None:
    status, headers, _ = post(gateway, CHAT, body(**USUAL[field]))
    assert (status, headers["x-sovctl-route"]) == (200, "cloud")


SPLIT = {
    "address": (["Please write to anna@exa", "mple.com about the contract."], ["anna@exa", "mple.com"]),
    "address in three": (["Please write to anna", "@", "example.com today."], ["anna", "example.com"]),
    "account": (["Please pay to DE89 3704 0044", "0532 0130 00 today."], ["DE89", "3704", "0532"]),
    "card": (["Please charge the card 4111 1111", "1111 1111 for the order."], ["4111", "1111"]),
    "letters": (["Please write to ", *"anna@example.com", " about it."], []),
    "context": (["The date of birth of the customer is", "1980-01-02"], ["1980-01-02"]),
}


@pytest.mark.parametrize("name", SPLIT)
@pytest.mark.parametrize("path", ["/v1/chat/completions"])
def test_parts_of_a_message_are_read_joined(gateway: Any, cloud: EchoUpstream, path: str, name: str) -> None:
    texts, values = SPLIT[name]
    parts = [{"type": "text", "text": text} for text in texts]
    status, _, _ = post(gateway, path, {"model": "assistant", "messages": [{"role": "user", "content": parts}]})
    assert status == 200
    raw = b"\n".join(cloud.raw).decode()
    assert [value for value in values if value in raw] == []
    if cloud.requests:
        sent = "".join(part["text"] for part in cloud.requests[-1]["messages"][0]["content"])
        assert "anna@example.com" not in sent


def test_ordinary_parts_leave_as_they_are(gateway: Any, cloud: EchoUpstream) -> None:
    texts = ["Please summarise this text.", "The branch is open from nine to five. " * 20, "Thank you."]
    parts = [{"type": "text", "text": text} for text in texts]
    status, headers, _ = post(gateway, CHAT, {"model": "assistant", "messages": [{"role": "user", "content": parts}]})
    assert (status, headers["x-sovctl-route"]) == (200, "cloud")
    assert [part["text"] for part in cloud.requests[-1]["messages"][0]["content"]] == texts
