"""Anthropic's messages with Anthropic's client: blocks, tools, thinking, streams, errors in its own shape."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import anthropic
import pytest
import yaml
from langchain_anthropic import ChatAnthropic
from surface_givens import API_KEY, CARD, IBAN, MAIL, PROMPT, assert_clean, audited, post
from surface_upstream import SurfaceUpstream

TOOL = {"name": "send_mail", "description": "Sends a mail", "input_schema": {"type": "object", "properties": {}}}
ASK = {"model": "assistant", "max_tokens": 100}


def anthropic_client(gateway: Any, key: str = API_KEY, **options: Any) -> anthropic.Anthropic:
    """The real client; it trusts the test's authority, and does not retry."""
    return anthropic.Anthropic(
        **({"api_key": key} if key else {}),
        base_url=f"https://127.0.0.1:{gateway.port}",
        max_retries=0,
        timeout=20,
        http_client=anthropic.DefaultHttpxClient(verify=gateway.tls),
        **options,
    )


@pytest.fixture
def client(gateway: Any) -> Any:
    with anthropic_client(gateway) as client:
        yield client


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def test_a_message_comes_back_with_its_values(client: anthropic.Anthropic, cloud: SurfaceUpstream) -> None:
    raw = client.messages.with_raw_response.create(
        **ASK,
        system=[{"type": "text", "text": f"You help the customer {MAIL}", "cache_control": {"type": "ephemeral"}}],
        messages=[user([{"type": "text", "text": PROMPT}])],
        tools=[TOOL],
        stop_sequences=[IBAN],
        metadata={"user_id": MAIL},
    )
    assert raw.headers["x-sovctl-route"] == "cloud"
    message = raw.parse()
    text, call = message.content
    assert text.text == PROMPT
    assert call.input == {"said": PROMPT, "deep": [{"said": PROMPT}]}
    assert (message.model, message.stop_sequence, message.usage.output_tokens) == ("assistant", IBAN, 2)
    assert_clean(cloud)
    sent = cloud.requests[0]
    assert "metadata" not in sent
    assert sent["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert b"'anthropic-version'" in cloud.raw[0].replace(b'"', b"'")


@pytest.mark.parametrize("piece_bytes", [3, 64, 100_000])
def test_a_streamed_message_comes_back_whole(
    client: anthropic.Anthropic, cloud: SurfaceUpstream, piece_bytes: int
) -> None:
    cloud.script.piece_bytes = piece_bytes
    with client.messages.stream(**ASK, messages=[user(PROMPT)], tools=[TOOL, TOOL]) as stream:
        text = "".join(stream.text_stream)
        message = stream.get_final_message()
    assert text == message.content[0].text == PROMPT
    assert [call.input for call in message.content[1:]] == [{"said": PROMPT, "deep": [{"said": PROMPT}]}] * 2
    assert (message.model, message.stop_reason) == ("assistant", "end_turn")
    assert_clean(cloud)


def test_tool_results_and_the_input_of_tools_are_read(client: anthropic.Anthropic, cloud: SurfaceUpstream) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "send_mail"}
    turns = [
        user("Please send the mail and tell me the result"),
        {"role": "assistant", "content": [{**call, "input": {"to": MAIL, "card": int(CARD.replace(" ", ""))}}]},
        user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": f"The mail to {MAIL} was sent"}]),
    ]
    message = client.messages.create(**ASK, messages=turns, tools=[TOOL])
    assert message.content[0].text == f"The mail to {MAIL} was sent"
    assert_clean(cloud)
    sent = cloud.requests[0]["messages"][1]["content"][0]["input"]
    assert sent["to"].startswith("EMAIL_")
    assert sent["card"].startswith("CARD_")


def test_a_name_in_the_input_of_a_tool_is_a_name(gateway: Any, client: anthropic.Anthropic) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"customer_name": "Kari Nordmann"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "nothing found"}]}
    turns = [user("Please search for the customer"), {"role": "assistant", "content": [call]}, user([result])]
    client.messages.create(**ASK, messages=turns)
    assert audited(gateway)["entity_types"] == {"PERSON": 1}


def test_thinking_keeps_its_signature_and_its_text(client: anthropic.Anthropic, cloud: SurfaceUpstream) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    message = client.messages.create(**ASK, messages=[user(PROMPT)], thinking=thinking)
    with client.messages.stream(**ASK, messages=[user(PROMPT)], thinking=thinking) as stream:
        streamed = stream.get_final_message()
    sent = cloud.requests[0]["messages"][0]["content"]
    for each in (message, streamed):
        assert each.content[0].thinking == f"The user says: {sent}"
        assert each.content[0].signature == "c2lnbmVk" * 30
        assert each.content[1].text == PROMPT


@pytest.mark.parametrize(
    ("block", "obstacle"),
    [
        ({"type": "thinking", "thinking": "Let me see", "signature": "c2ln"}, "signed-thinking"),
        ({"type": "redacted_thinking", "data": "c2ln"}, "signed-thinking"),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}, "image"),
        ({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}}, "file"),
        ({"type": "document", "source": {"type": "file", "file_id": "file_1"}}, "file"),
        ({"type": "container_upload", "file_id": "file_1"}, "unknown-part"),
        ({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image", "source": {}}]}, "image"),
    ],
)
def test_what_cannot_be_inspected_or_changed_stays_on_prem(
    gateway: Any, client: anthropic.Anthropic, pool: SurfaceUpstream, cloud: SurfaceUpstream, block: Any, obstacle: str
) -> None:
    messages = [user([block, {"type": "text", "text": "Please go on"}])]
    raw = client.messages.with_raw_response.create(**ASK, messages=messages)
    assert raw.headers["x-sovctl-route"] == "pool"
    assert not cloud.requests
    assert pool.requests[0]["messages"] == messages
    assert f"obstacle:{obstacle}" in audited(gateway)["reasons"]


@pytest.mark.parametrize(
    "source",
    [
        {"type": "text", "media_type": "text/plain", "data": f"Please write to {MAIL}"},
        {"type": "content", "content": [{"type": "text", "text": f"Please write to {MAIL}"}]},
    ],
)
def test_a_document_of_text_is_read_like_any_text(
    client: anthropic.Anthropic, cloud: SurfaceUpstream, source: Any
) -> None:
    block = {"type": "document", "source": source, "title": "Letter"}
    client.messages.create(**ASK, messages=[user([block, {"type": "text", "text": "What is this document about?"}])])
    assert_clean(cloud, MAIL)


def test_tokens_are_counted_without_the_values(client: anthropic.Anthropic, cloud: SurfaceUpstream) -> None:
    counted = client.messages.count_tokens(model="assistant", messages=[user(PROMPT)])
    assert counted.input_tokens == 7
    assert_clean(cloud)


def test_a_bearer_token_gets_in_as_well(gateway: Any, cloud: SurfaceUpstream) -> None:
    with anthropic_client(gateway, "", auth_token=API_KEY) as client:
        assert client.messages.create(**ASK, messages=[user(PROMPT)]).content[0].text == PROMPT


def test_errors_have_anthropics_shape(gateway: Any, client: anthropic.Anthropic, pool: SurfaceUpstream) -> None:
    with pytest.raises(anthropic.NotFoundError) as missing:
        client.messages.create(model="nobody", max_tokens=1, messages=[user("hi")])
    assert missing.value.body["type"] == "error"  # type: ignore[index]
    assert missing.value.body["error"]["type"] == "not_found_error"  # type: ignore[index]
    assert missing.value.body["error"]["sovctl"]["reason"] == "model_not_found"  # type: ignore[index]
    with anthropic_client(gateway, "wrong") as stranger, pytest.raises(anthropic.AuthenticationError):
        stranger.messages.create(**ASK, messages=[user("hi")])
    with pytest.raises(anthropic.PermissionDeniedError) as blocked:
        client.messages.create(**ASK, messages=[user("Please use password: hunter2hunter for it")])
    assert blocked.value.body["error"]["sovctl"]["reasons"] == ["entity-type-blocked:SECRET"]  # type: ignore[index]
    assert "hunter2" not in str(blocked.value)
    pool.script.status = 400
    with pytest.raises(anthropic.BadRequestError) as rejected:
        client.messages.create(model="inside", max_tokens=1, messages=[user(PROMPT)])
    assert IBAN not in str(rejected.value)


def test_a_stream_that_breaks_off_raises(client: anthropic.Anthropic, cloud: SurfaceUpstream) -> None:
    cloud.script.break_after_bytes = 900
    with pytest.raises(anthropic.APIStatusError) as caught, client.messages.stream(**ASK, messages=[user(PROMPT)]) as s:
        list(s)
    assert caught.value.body["error"]["sovctl"]["reason"] == "upstream_failed"  # type: ignore[index]


def test_models_are_listed_for_it(client: anthropic.Anthropic) -> None:
    assert [model.id for model in client.models.list()] == ["assistant", "careful", "inside"]
    assert client.models.retrieve("inside").display_name == "inside"
    with pytest.raises(anthropic.NotFoundError):
        client.models.retrieve("nobody")


def test_langchain_speaks_it(gateway: Any, cloud: SurfaceUpstream, monkeypatch: pytest.MonkeyPatch, pki: Any) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(pki.ca_file))
    model = ChatAnthropic(
        model="assistant", api_key=API_KEY, base_url=f"https://127.0.0.1:{gateway.port}", max_retries=0, max_tokens=100
    )
    with model._client:  # it leaves its connection open otherwise, and a gateway that stops waits for its end
        assert model.invoke(PROMPT).text == PROMPT
        assert "".join(chunk.text for chunk in model.stream(PROMPT)) == PROMPT
    assert_clean(cloud)


def test_only_headers_that_hold_no_text_are_passed_on(gateway: Any, cloud: SurfaceUpstream) -> None:
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": f"context-1m-2025-08-07, {MAIL}, 4930901820"}
    status, _, _ = post(gateway, "/v1/messages", {**ASK, "messages": [user(PROMPT)]}, **headers)
    assert status == 200
    assert b"context-1m-2025-08-07" in cloud.raw[0]
    assert b"4930901820" not in cloud.raw[0]
    assert_clean(cloud)


def test_a_cloud_gets_its_key_where_it_looks_for_it(
    write_config: Any, start_from: Any, cloud: SurfaceUpstream, tmp_path: Path
) -> None:
    config = write_config(tmp_path / "gateway")
    settings = yaml.safe_load(config.read_text())
    settings["upstreams"][1]["api_key_header"] = "x-api-key"
    config.write_text(yaml.safe_dump(settings))
    with anthropic_client(start_from(config, tmp_path / "log")) as client:
        client.messages.create(**ASK, messages=[user(PROMPT)])
    headers = dict(ast.literal_eval(cloud.raw[0].rpartition(b"\n")[2].decode()))
    assert headers["x-api-key"] == "cloud-key"
    assert "authorization" not in headers


def test_a_request_without_messages_goes_nowhere(gateway: Any, pool: SurfaceUpstream) -> None:
    status, _, answer = post(gateway, "/v1/messages", {**ASK, "messages": "hi"})
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert not pool.requests
