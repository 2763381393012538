"""Clients of OpenAI and Anthropic on the servers of every provider: no value arrives there, and answers have them."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
import pytest
from provider_givens import PROVIDERS
from provider_servers import LONG, USED, ProviderServer
from surface_givens import CARD, IBAN, MAIL, PROMPT, assert_clean, post

ALL = pytest.mark.parametrize("name", PROVIDERS)
SPLIT = pytest.mark.parametrize("piece_bytes", [5, 100_000])
NOTE = {"type": "object", "properties": {"note": {"type": "string", "description": f"such as for {MAIL}"}}}
CHAT_TOOL = {
    "type": "function",
    "function": {"name": "save_note", "description": f"Saves a note for {MAIL}", "parameters": NOTE},
}
TOOL = {"name": "save_note", "description": f"Saves a note for {MAIL}", "input_schema": NOTE}
ARGUMENTS = {"note": f"{IBAN} is mine", "amount": 1}

CHAT_TURNS: list[Any] = [
    {"role": "system", "content": f"You work for {MAIL}."},
    {"role": "user", "content": [{"type": "text", "text": f"The first account is {IBAN}."}]},
    {
        "role": "assistant",
        "content": f"Thank you, {MAIL}.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "save_note", "arguments": json.dumps(ARGUMENTS)}},
            {"id": "c2", "type": "function", "function": {"name": "save_note", "arguments": ""}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": f"Saved for {CARD}."},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": f"Saved for {MAIL}."}]},
    {"role": "user", "content": PROMPT},
]
TURNS: list[Any] = [
    {"role": "user", "content": [{"type": "text", "text": f"The first account is {IBAN}."}]},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": f"Thank you, {MAIL}."},
            {"type": "tool_use", "id": "c1", "name": "save_note", "input": ARGUMENTS},
            {"type": "tool_use", "id": "c2", "name": "save_note", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": f"Saved for {CARD}."},
            {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": f"For {MAIL}."}]},
            {"type": "text", "text": PROMPT},
        ],
    },
]


def assert_served(server: ProviderServer) -> None:
    """Every request followed the provider's API and held no value."""
    assert not server.problems
    assert_clean(server, IBAN, MAIL, CARD, MAIL.encode().hex())


@ALL
def test_a_chat_comes_back_with_its_values(gateway: Any, servers: dict[str, ProviderServer], name: str) -> None:
    answer = gateway.client().chat.completions.create(
        model=name, messages=CHAT_TURNS, tools=[CHAT_TOOL], temperature=0.5, stop=["END"], user=MAIL
    )
    assert_served(servers[name])
    choice = answer.choices[0]
    assert choice.message.content == PROMPT
    assert (choice.finish_reason, answer.model, answer.object) == ("tool_calls", name, "chat.completion")
    first, second = choice.message.tool_calls
    assert json.loads(first.function.arguments) == {"note": PROMPT, "number": LONG}
    assert str(LONG) in first.function.arguments
    assert (first.function.name, json.loads(second.function.arguments)) == ("save_note", {})
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (60, 7, 67)
    assert usage.prompt_tokens_details.cached_tokens == USED["read"]


@ALL
@SPLIT
def test_a_streamed_chat_comes_back_whole(
    gateway: Any, servers: dict[str, ProviderServer], name: str, piece_bytes: int
) -> None:
    servers[name].script.piece_bytes = piece_bytes
    with gateway.client().chat.completions.stream(
        model=name, messages=CHAT_TURNS, tools=[CHAT_TOOL], stream_options={"include_usage": True}
    ) as stream:
        for _ in stream:
            pass
        answer = stream.get_final_completion()
    assert_served(servers[name])
    choice = answer.choices[0]
    assert (choice.message.content, choice.finish_reason) == (PROMPT, "tool_calls")
    first, second = choice.message.tool_calls
    assert json.loads(first.function.arguments) == {"note": PROMPT, "number": LONG}
    assert json.loads(second.function.arguments) == {}
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (60, 7)


@ALL
def test_a_message_comes_back_with_its_values(
    anthropic_client: anthropic.Anthropic, servers: dict[str, ProviderServer], name: str
) -> None:
    message = anthropic_client.messages.create(
        model=name,
        max_tokens=100,
        system=[{"type": "text", "text": f"You work for {MAIL}.", "cache_control": {"type": "ephemeral"}}],
        messages=TURNS,
        tools=[TOOL],
        stop_sequences=["END"],
    )
    assert_served(servers[name])
    text, first, second = message.content
    assert text.text == PROMPT
    assert (first.input["note"], first.name, second.input) == (PROMPT, "save_note", {})
    assert (message.stop_reason, message.model, message.role) == ("tool_use", name, "assistant")
    usage = message.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (30, 20, 10)
    assert usage.output_tokens == 7


@ALL
@SPLIT
def test_a_streamed_message_comes_back_whole(
    anthropic_client: anthropic.Anthropic, servers: dict[str, ProviderServer], name: str, piece_bytes: int
) -> None:
    servers[name].script.piece_bytes = piece_bytes
    with anthropic_client.messages.stream(model=name, max_tokens=100, messages=TURNS, tools=[TOOL]) as stream:
        kinds = [event.type for event in stream]
        message = stream.get_final_message()
    assert_served(servers[name])
    text, first, second = message.content
    assert text.text == PROMPT
    assert (first.input, second.input) == ({"note": PROMPT, "number": LONG}, {})
    assert (message.stop_reason, message.usage.output_tokens) == ("tool_use", 7)
    assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 3


@ALL
def test_an_error_of_the_provider_is_not_repeated(gateway: Any, servers: dict[str, ProviderServer], name: str) -> None:
    servers[name].script.status = 400
    with pytest.raises(openai.BadRequestError) as raised:
        gateway.client().chat.completions.create(model=name, messages=[{"role": "user", "content": PROMPT}])
    assert raised.value.code == "upstream_rejected"
    assert "echoing" not in str(raised.value.body)
    status, _, answer = post(
        gateway, "/v1/messages", {"model": name, "max_tokens": 9, "messages": [{"role": "user", "content": PROMPT}]}
    )
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")


@ALL
def test_a_stream_that_breaks_off_ends_with_an_error(
    gateway: Any, servers: dict[str, ProviderServer], name: str
) -> None:
    servers[name].script.break_after_bytes = 700
    with pytest.raises((openai.APIError, openai.APIConnectionError)):
        for _ in gateway.client().chat.completions.create(
            model=name, messages=[{"role": "user", "content": PROMPT * 20}], stream=True
        ):
            pass
