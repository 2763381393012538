"""Responses, whole and streamed, with the real client: the same values in deltas, in `.done` and in the end."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from langchain_openai import ChatOpenAI
from surface_givens import API_KEY, MAIL, PROMPT, assert_clean, post
from surface_upstream import SurfaceUpstream

TOOLS = [{"type": "function", "name": "send_mail", "parameters": {"type": "object", "properties": {}}, "strict": False}]


def test_a_response_comes_back_with_its_values(gateway: Any, cloud: SurfaceUpstream) -> None:
    raw = gateway.client().responses.with_raw_response.create(
        model="assistant",
        input=PROMPT,
        instructions=f"You answer for the customer {MAIL}",
        tools=TOOLS,
        reasoning={"summary": "auto"},
        metadata={"case": "17"},
    )
    assert raw.headers["x-sovctl-route"] == "cloud"
    response = raw.parse()
    assert response.output_text == PROMPT
    reasoning, _, call = response.output
    assert reasoning.summary[0].text == f"The user says: {PROMPT}"
    assert json.loads(call.arguments) == {"said": PROMPT}
    assert response.instructions == f"You answer for the customer {MAIL}"
    assert response.model == "assistant"
    assert response.metadata == {"case": "17"}
    assert_clean(cloud)
    assert cloud.requests[0]["store"] is False
    assert "metadata" not in cloud.requests[0]


@pytest.mark.parametrize("piece_bytes", [3, 64, 100_000])
def test_a_streamed_response_says_the_same_three_times(gateway: Any, cloud: SurfaceUpstream, piece_bytes: int) -> None:
    cloud.script.piece_bytes = piece_bytes
    text, arguments, summary = "", "", ""
    numbers = []
    for event in gateway.client().responses.create(
        model="assistant", input=PROMPT, tools=TOOLS, reasoning={"summary": "auto"}, stream=True
    ):
        numbers.append(event.sequence_number)
        match event.type:
            case "response.output_text.delta":
                text += event.delta
            case "response.reasoning_summary_text.delta":
                summary += event.delta
            case "response.function_call_arguments.delta":
                arguments += event.delta
            case "response.output_text.done":
                assert event.text == text == PROMPT
            case "response.reasoning_summary_text.done":
                assert event.text == summary == f"The user says: {PROMPT}"
            case "response.function_call_arguments.done":
                assert event.arguments == arguments
                assert json.loads(arguments) == {"said": PROMPT}
            case "response.content_part.done":
                assert event.part.text == PROMPT
            case "response.created" | "response.completed":
                assert event.response.model == "assistant"
    assert event.type == "response.completed"
    assert event.response.output_text == PROMPT
    assert json.loads(event.response.output[-1].arguments) == {"said": PROMPT}
    assert numbers == list(range(len(numbers)))
    assert_clean(cloud)


def test_the_clients_own_stream_helper_puts_it_together(gateway: Any, cloud: SurfaceUpstream) -> None:
    with gateway.client().responses.stream(model="assistant", input=PROMPT, tools=TOOLS) as stream:
        snapshots = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert snapshots[-1] == PROMPT
    assert final.output_text == PROMPT
    assert_clean(cloud)


def test_items_parts_and_tool_outputs_are_read(gateway: Any, cloud: SurfaceUpstream) -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": f"Please write to {MAIL}"}]},
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "send_mail",
            "arguments": '{"to": "anna\\u0040example.com"}',
        },
        {"type": "function_call_output", "call_id": "c1", "output": f"The mail to {MAIL} was sent"},
    ]
    response = gateway.client().responses.create(model="assistant", input=items)
    assert response.output_text == f"The mail to {MAIL} was sent"
    assert_clean(cloud, MAIL, "anna\\u0040", "anna\\\\u0040")


def test_langchain_speaks_it(gateway: Any, cloud: SurfaceUpstream) -> None:
    client = gateway.client()
    model = ChatOpenAI(
        model="assistant",
        api_key=API_KEY,
        base_url=str(client.base_url),
        http_client=client._client,
        use_responses_api=True,
        max_retries=0,
    )
    assert model.invoke(PROMPT).text == PROMPT
    assert "".join(chunk.text for chunk in model.stream(PROMPT)) == PROMPT
    assert_clean(cloud)


@pytest.mark.parametrize(
    "reference",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"prompt": {"id": "pmpt_1"}},
        {"background": True},
        {"input": [{"type": "item_reference", "id": "msg_1"}, {"role": "user", "content": "Please go on"}]},
    ],
)
@pytest.mark.parametrize("model", ["assistant", "inside"])
def test_what_a_server_would_have_to_remember_is_refused(
    gateway: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream, reference: Any, model: str
) -> None:
    status, _, answer = post(gateway, "/v1/responses", {"model": model, "input": "Please go on", **reference})
    assert (status, answer["error"]["code"]) == (404, "state_not_kept")
    assert not pool.requests
    assert not cloud.requests


def test_no_stored_chat_and_no_batch_of_messages_is_here(gateway: Any, pool: SurfaceUpstream) -> None:
    key = {"authorization": "Bearer test-key-of-the-branch-application"}
    for method, path in (("GET", "/v1/chat/completions/chatcmpl-1"), ("POST", "/v1/messages/batches")):
        status, _, body = gateway.request(method, path, b"{}", key)
        assert (status, b"state_not_kept" in body) == (404, True)
    assert not pool.requests


def test_no_response_can_be_fetched_by_its_id(gateway: Any, pool: SurfaceUpstream) -> None:
    client = gateway.client()
    for ask in (client.responses.retrieve, client.responses.cancel, client.responses.delete):
        with pytest.raises(openai.NotFoundError) as caught:
            ask("resp_0123456789abcdef")
        assert caught.value.code == "state_not_kept"
    assert not pool.requests


@pytest.mark.parametrize("part", ["input_image", "input_file", "input_audio", "hologram"])
def test_what_cannot_be_inspected_stays_on_prem(gateway: Any, cloud: SurfaceUpstream, part: str) -> None:
    content = [{"type": "input_text", "text": "What is this?"}, {"type": part, "file_id": "x"}]
    raw = gateway.client().responses.with_raw_response.create(
        model="assistant", input=[{"role": "user", "content": content}]
    )
    assert raw.headers["x-sovctl-route"] == "pool"
    assert not cloud.requests


def test_later_turns_keep_their_tokens(gateway: Any, cloud: SurfaceUpstream) -> None:
    first = {"role": "user", "content": f"Please write to {MAIL}"}
    gateway.client().responses.create(model="assistant", input=f"Please write to {MAIL}")
    second = [first, {"role": "assistant", "content": "Done, thank you."}, {"role": "user", "content": f"Again {MAIL}"}]
    gateway.client().responses.create(model="assistant", input=second)
    token = cloud.requests[0]["input"].split()[-1]
    assert cloud.requests[1]["input"][2]["content"] == f"Again {token}"


def test_a_response_that_failed_is_asked_elsewhere_and_never_quoted(
    gateway: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SurfaceUpstream, "response_end", "failed")
    with pytest.raises(openai.APIStatusError) as caught:
        gateway.client().responses.create(model="assistant", input=PROMPT)
    assert caught.value.code == "upstream_failed"
    assert len(cloud.requests) == len(pool.requests) == 1
    event = list(gateway.client().responses.create(model="assistant", input=PROMPT, stream=True))[-1]
    assert event.type == "response.failed"
    assert event.response.error.code == "server_error"
    assert "confirm" not in event.response.error.message
    assert event.response.output_text == PROMPT


def test_an_incomplete_response_ends_as_such(
    gateway: Any, cloud: SurfaceUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SurfaceUpstream, "response_end", "incomplete")
    event = list(gateway.client().responses.create(model="assistant", input=PROMPT, stream=True))[-1]
    assert (event.type, event.response.incomplete_details.reason) == ("response.incomplete", "max_output_tokens")
    assert event.response.output_text == PROMPT


def test_a_stream_that_breaks_off_ends_with_an_error(gateway: Any, cloud: SurfaceUpstream) -> None:
    cloud.script.break_after_bytes = 4000
    with pytest.raises(openai.APIError) as caught:
        list(gateway.client().responses.create(model="assistant", input=PROMPT, stream=True))
    assert caught.value.body["sovctl"]["reason"] == "upstream_failed"  # type: ignore[index]


def test_a_pool_gets_and_gives_it_in_clear(gateway: Any, pool: SurfaceUpstream) -> None:
    events = list(
        gateway.client().responses.create(model="inside", input=PROMPT, stream=True, metadata={"a": "b"}, store=True)
    )
    assert events[-1].response.output_text == PROMPT
    assert {event.response.model for event in events if hasattr(event, "response")} == {"inside"}
    assert pool.requests[0]["input"] == PROMPT
    assert pool.requests[0]["store"] is False
    assert events[-1].response.metadata == {"a": "b"}
