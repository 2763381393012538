"""Identifiers in every place that an adapter moves text from: only tokens leave, and the answer equals a native one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from provider_givens import PROVIDERS

from examples import examples
from sovctl.gateway.adapters.adapter import Adapter, adapter_of
from sovctl.gateway.adapters.anthropic_on_openai import MESSAGES_ON_CHAT
from sovctl.gateway.adapters.openai_on_anthropic import CHAT_ON_MESSAGES
from sovctl.gateway.adapters.translation import AnswerOptions, RequestOptions
from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.inspection.inspector import Inspector
from sovctl.gateway.policy.permissions import Policy
from sovctl.gateway.quota.need import reported_usage
from sovctl.gateway.settings import DetectSettings, PolicySettings, RouteSettings, UpstreamSettings
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.tokenization.body import IdentifierLeak, TokenizedBody, tokenize_body
from sovctl.gateway.tokens.restore import Issued, RestoreCounts
from sovctl.gateway.tokens.token import TokenIssuer

CHAT, MESSAGES = SURFACES["/v1/chat/completions"], SURFACES["/v1/messages"]
FINDER = CachedFinder(make_detector(DetectSettings(phone_regions=["US"])))
ROUTE = RouteSettings(model="m", pool="chat", cloud="cloud")
PERMISSIONS = Policy.compile(PolicySettings(), [ROUTE]).of("t", "m")
VALUES = ["DE89370400440532013000", "anna@example.com", "4111111111111111", "GB29NWBK60161331926819"]
ANSWER = AnswerOptions("sovctl-1", 1, True)

_VALUE = st.sampled_from(VALUES)
_TEXT = st.builds("{} {} {}".format, st.sampled_from(["Pay to", "Ask", 'He said "', "a\\b\n"]), _VALUE, st.just("now."))
_ARGUMENTS = st.dictionaries(
    st.sampled_from(["note", "to", "amount"]),
    st.one_of(_TEXT, st.lists(_TEXT, max_size=2), st.integers(0, 9)),
    max_size=3,
)


def upstream(name: str) -> UpstreamSettings:
    _, path, settings = PROVIDERS[name]
    made = json.loads(json.dumps(settings))
    return UpstreamSettings.model_validate(
        {
            "name": name,
            "kind": "cloud",
            "base_urls": [f"https://127.0.0.1{path}"],
            "surfaces": ["chat.completions", "messages"],
            **made,
        }
    )


def adapters(surface: Any) -> list[Any]:
    found = [(name, adapter_of(upstream(name), surface)) for name in PROVIDERS]
    return [pytest.param(adapter, id=name) for name, adapter in found if adapter is not None]


@st.composite
def chats(draw: st.DrawFn) -> dict[str, Any]:
    """A chat in which every text holds a value."""

    def content() -> Any:
        parts = [{"type": "text", "text": draw(_TEXT)} for _ in range(draw(st.integers(1, 2)))]
        return parts if draw(st.booleans()) else parts[0]["text"]

    messages: list[Any] = [{"role": draw(st.sampled_from(["system", "developer"])), "content": content()}]
    for number in range(draw(st.integers(1, 2))):
        arguments = json.dumps(draw(_ARGUMENTS), ensure_ascii=draw(st.booleans()))
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "send", "arguments": arguments}}
        messages.append({"role": "user", "content": content(), "name": "anna"})
        messages.append({"role": "assistant", "content": content(), "refusal": draw(_TEXT), "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": content()})
    messages.append({"role": "user", "content": content()})
    schema = {"type": "object", "properties": {"note": {"type": "string", "description": draw(_TEXT)}}}
    function = {"name": "send", "description": draw(_TEXT), "parameters": schema}
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": {**schema, "title": draw(_TEXT)}}}
    return {
        "model": "m",
        "messages": messages,
        "tools": [{"type": "function", "function": function}],
        "stop": [draw(_TEXT)],
        "user": draw(_TEXT),
        "metadata": {"about": draw(_TEXT)},
        "prediction": {"type": "content", "content": draw(_TEXT)},
        "response_format": wanted,
    }


def tokenized(body: dict[str, Any], surface: Any) -> TokenizedBody | None:
    """The body for a cloud; None if it must not leave."""
    inspector = Inspector(FINDER, surface, max_depth=32)
    inspector.inspect(body)
    issuer = TokenIssuer(bytes(32), tenant="t", conversation="c")
    try:
        return tokenize_body(body, inspector, PERMISSIONS, issuer, model="big", dropped=surface.dropped)
    except IdentifierLeak:
        return None


def assert_only_tokens_leave(adapter: Adapter, body: dict[str, Any], surface: Any) -> TokenizedBody | None:
    adapter.check(body)
    if (outgoing := tokenized(body, surface)) is None:
        return None
    for is_stream in (False, True):
        path, data, headers = adapter.outgoing(outgoing.data, is_stream=is_stream, headers={"anthropic-version": "x"})
        sent = f"{path}\n{data.decode()}\n{headers}"
        assert not any(value in sent for value in VALUES)
        assert any(token in sent for token in outgoing.issued)
    return outgoing


@pytest.mark.parametrize("adapter", adapters(CHAT))
@examples(60)
@given(chats())
def test_only_tokens_of_a_chat_leave(adapter: Adapter, body: dict[str, Any]) -> None:
    outgoing = assert_only_tokens_leave(adapter, body, CHAT)
    assert outgoing is not None


@pytest.mark.parametrize("adapter", adapters(MESSAGES))
@examples(60)
@given(chats())
def test_only_tokens_of_a_message_leave(adapter: Adapter, chat: dict[str, Any]) -> None:
    body = CHAT_ON_MESSAGES.request(chat, RequestOptions("m", 100))
    body["metadata"] = {"user_id": VALUES[1]}
    assert assert_only_tokens_leave(adapter, body, MESSAGES) is not None


def restoration(outgoing: TokenizedBody) -> Restoration:
    return Restoration(Issued(outgoing.issued), "m", RestoreCounts(), {})


@examples(60)
@given(chats())
def test_a_restored_answer_equals_that_of_a_native_upstream(chat: dict[str, Any]) -> None:
    """The model repeats all texts and calls of the request, once as Anthropic and once as OpenAI."""
    adapter = adapter_of(upstream("anthropic"), CHAT)
    outgoing = tokenized(chat, CHAT)
    assert adapter is not None
    assert outgoing is not None
    sent = json.loads(adapter.outgoing(outgoing.data, is_stream=True, headers=None).body)
    texts = [b["text"] for m in sent["messages"] for b in m["content"] if b["type"] == "text"]
    calls = [b for m in sent["messages"] for b in m["content"] if b["type"] == "tool_use"]
    message = {
        "type": "message",
        "model": "claude",
        "content": [{"type": "text", "text": "\n".join(texts)}, *calls],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 5},
    }
    native = CHAT_ON_MESSAGES.answer(message, ANSWER)
    decoder = adapter.decoder(ANSWER, max_event_bytes=1 << 20)
    assert decoder is not None
    expected = CHAT.whole(json.loads(json.dumps(native)), restoration(outgoing))
    adapted = CHAT.whole(CHAT.parsed(decoder.whole(json.dumps(message).encode())), restoration(outgoing))
    assert adapted == expected
    content = adapted["choices"][0]["message"]["content"]
    assert any(value in content for value in VALUES)
    assert not any(token in json.dumps(adapted) for token in outgoing.issued)
    assert reported_usage(adapted["usage"]) == reported_usage(message["usage"])
    back = MESSAGES_ON_CHAT.answer(native, ANSWER)
    whole = MESSAGES.whole(json.loads(json.dumps(back)), restoration(outgoing))
    first, *uses = whole["content"]
    assert first["text"] == content
    wanted = [json.loads(call["function"]["arguments"]) for call in adapted["choices"][0]["message"]["tool_calls"]]
    assert [use["input"] for use in uses] == wanted
