"""Clients can neither send nor see transfer parameters of a KV cache: they read other requests' prompts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from gateway_yaml import write_config
from hypothesis import given
from hypothesis import strategies as st
from kv_servers import Decoder, Prefiller
from surface_givens import post
from test_pool_fields import PLAIN

from examples import examples
from sovctl.gateway.policy.request_fields import FieldTable, request_field_tables
from sovctl.gateway.settings import SurfaceName
from sovctl.gateway.settings.load import load_settings
from sovctl.gateway.upstream.kv_transfer import WithoutParams
from sovctl.support.errors import SovctlError

PARAMS = {"do_remote_prefill": True, "remote_block_ids": [[3]], "remote_host": "198.51.100.7", "remote_port": 5600}
FIELDS = ("kv_transfer_params", "ec_transfer_params")
QUESTION = "please repeat these words of mine as they are " * 8
SECRET = "the prompt of another client"


@pytest.fixture(scope="module")
def prefiller(pki: Any) -> Iterator[Prefiller]:
    with Prefiller(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) as server:
        yield server


@pytest.fixture(scope="module")
def pool(pki: Any, prefiller: Prefiller) -> Iterator[Decoder]:
    with Decoder(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file, prefiller=prefiller) as server:
        yield server


def paired(config: dict[str, Any], prefiller: Prefiller, **changes: Any) -> dict[str, Any]:
    """Settings whose pool `chat` has a prefilling pool."""
    chat, cloud = config["upstreams"]
    chat["connect_timeout_s"] = 5
    prefill = {"upstream": "chat-prefill", "min_uncached_tokens": 64, "kv_lease_s": 30, **changes}
    other = {**chat, "name": "chat-prefill", "base_urls": [prefiller.base_url]}
    return {**config, "upstreams": [{**chat, "prefill": prefill}, cloud, other]}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: Any, pki: Any, pool: Decoder, prefiller: Prefiller, start: Callable[..., Any]) -> Any:
    folder = tmp_path_factory.mktemp("pair")
    config = yaml.safe_load(write_config(folder, pki, pool, pool).read_text())
    return start(upstreams=paired(config, prefiller)["upstreams"])


@pytest.fixture(autouse=True)
def fresh(prefiller: Prefiller, pool: Decoder) -> None:
    prefiller.forget()
    pool.forget()


def ask(gateway: Any, **more: Any) -> tuple[int, bytes]:
    body = {"model": "inside", "messages": [{"role": "user", "content": QUESTION}], **more}
    headers = {"authorization": "Bearer test-key-of-the-branch-application", "content-type": "application/json"}
    status, _, answer = gateway.request("POST", "/v1/chat/completions", json.dumps(body).encode(), headers)
    return status, answer


@pytest.mark.parametrize("is_stream", [False, True])
def test_answers_have_no_parameters(gateway: Any, pool: Decoder, prefiller: Prefiller, is_stream: bool) -> None:
    more = {"stream": True, "stream_options": {"include_usage": True}} if is_stream else {}
    status, answer = ask(gateway, **more)
    assert status == 200
    assert len(pool.with_params()) == len(prefiller.requests) == 1
    for hidden in (*FIELDS, "remote_", "engine-p", "chat-prefill"):
        assert hidden.encode() not in answer
    if not is_stream:
        whole = json.loads(answer)
        assert whole["choices"][0]["message"]["content"] == QUESTION
        assert whole["usage"]["prompt_tokens"] == 1


def test_a_request_is_recorded_once_with_its_attempts(gateway: Any) -> None:
    before = len(gateway.records())
    assert ask(gateway)[0] == 200
    requested, answered = gateway.records()[before:]
    assert (requested["type"], answered["type"]) == ("gateway.request", "gateway.answer")
    assert "chat-prefill/0:200" in json.dumps(answered)
    metrics = gateway.request("GET", "/metrics")[2].decode()
    assert 'sovctl_gateway_kv_transfers_total{outcome="transferred",upstream="chat"}' in metrics


def test_parameters_of_a_server_are_removed_from_answers(gateway: Any, pool: Decoder) -> None:
    leak = {"kv_transfer_params": {**PARAMS, "remote_request_id": SECRET}}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "echo"}
    choice = {"index": 0, "delta": {"content": "hello"}, "logprobs": None, "finish_reason": None}
    events = [
        {**chunk, "choices": [choice], **leak},
        {**chunk, "choices": [{**choice, "finish_reason": "stop"}], **leak},
    ]
    pool.script.raw_stream = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in events) + b"data: [DONE]\n\n"
    status, answer = ask(gateway, stream=True)
    assert (status, answer.count(b"hello")) == (200, 2)
    assert b"transfer_params" not in answer
    assert SECRET.encode() not in answer


@pytest.mark.parametrize("field", FIELDS)
def test_clients_cannot_send_parameters_anywhere(gateway: Any, pool: Decoder, prefiller: Prefiller, field: str) -> None:
    places: list[dict[str, Any]] = [
        {field: PARAMS},
        {"extra_body": {field: PARAMS}},
        {"vllm_xargs": {field: PARAMS}},
        {"metadata": {field: "x"}},
        {"nvext": [{"deep": {field: None}}]},
        {"chat_template_kwargs": {field: PARAMS}},
    ]
    for path, body in PLAIN.items():
        if path not in ("/v1/chat/completions", "/v1/messages", "/v1/completions", "/v1/responses"):
            continue
        for place in places:
            status, _, answer = post(gateway, path, {"model": "inside", **body, **place})
            assert status == 400, (path, place)
            assert "198.51.100.7" not in json.dumps(answer)
    part = {"type": "text", "text": QUESTION, field: PARAMS}
    assert ask(gateway, messages=[{"role": "user", "content": [part]}])[0] == 400
    escaped = json.dumps({"model": "inside", "messages": [], field: PARAMS}).replace("_", "\\u005f").encode()
    headers = {"authorization": "Bearer test-key-of-the-branch-application", "content-type": "application/json"}
    assert gateway.request("POST", "/v1/chat/completions", escaped, headers)[0] == 400
    assert not pool.raw
    assert not prefiller.raw


def test_text_about_parameters_is_text(gateway: Any) -> None:
    said = f'what does {{"kv_transfer_params": {{}}}} do? {QUESTION}'
    status, answer = ask(gateway, messages=[{"role": "user", "content": said}])
    assert (status, json.loads(answer)["choices"][0]["message"]["content"]) == (200, said)


def test_late_reads_are_recorded(gateway: Any, prefiller: Prefiller) -> None:
    before = len(gateway.records())
    prefiller.memory.after_expiry += 2
    until_s = time.monotonic() + 30
    while not (found := [each for each in gateway.records()[before:] if each["type"] == "gateway.stale-read"]):
        assert time.monotonic() < until_s, "no record of a late read"
        time.sleep(0.1)
    [record] = found
    assert (record["upstream"], record["server"], record["kind"], record["count"]) == (
        "chat-prefill",
        0,
        "after-expiry",
        2,
    )
    metrics = gateway.request("GET", "/metrics")[2].decode()
    assert 'sovctl_gateway_stale_kv_reads_total{kind="after-expiry",upstream="chat-prefill"} 2.0' in metrics


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"upstream": "chat"}, "another pool"),
        ({"upstream": "sovereign-cloud"}, "another pool"),
        ({"kv_lease_s": 4}, "kv_lease_s"),
        ({"min_uncached_tokens": 0}, "greater than or equal to 1"),
    ],
)
def test_refuses_pairs_that_cannot_keep_the_rules(
    tmp_path: Any, pki: Any, pool: Decoder, prefiller: Prefiller, changes: dict[str, Any], said: str
) -> None:
    path = write_config(tmp_path, pki, pool, pool)
    path.write_text(yaml.safe_dump(paired(yaml.safe_load(path.read_text()), prefiller, **changes)))
    with pytest.raises(SovctlError) as caught:
        load_settings(path)
    assert said in repr(caught.value.__dict__) + str(caught.value)


@pytest.fixture(scope="module")
def table(tmp_path_factory: Any, pki: Any, pool: Decoder, prefiller: Prefiller) -> FieldTable:
    path = write_config(tmp_path_factory.mktemp("tables"), pki, pool, pool)
    path.write_text(yaml.safe_dump(paired(yaml.safe_load(path.read_text()), prefiller)))
    return request_field_tables(load_settings(path))["chat", SurfaceName.CHAT]


def test_no_row_allows_parameters_and_no_route_names_a_prefilling_pool(
    tmp_path: Any, pki: Any, pool: Decoder, prefiller: Prefiller
) -> None:
    path = write_config(tmp_path, pki, pool, pool)
    good = paired(yaml.safe_load(path.read_text()), prefiller)
    for changes in (
        {"request_fields": [{"allow": ["kv_transfer_params"]}]},
        {"routes": [*good["routes"], {"model": "other", "pool": "chat-prefill"}]},
        {"upstreams": [{**good["upstreams"][0], "cache_salt": False}, *good["upstreams"][1:]]},
    ):
        path.write_text(yaml.safe_dump({**good, **changes}))
        with pytest.raises(SovctlError):
            load_settings(path)
    path.write_text(yaml.safe_dump(good))
    load_settings(path)


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.just(FIELDS[0]))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
)


@examples(150)
@given(st.data(), VALUES, st.sampled_from(FIELDS), st.lists(st.one_of(st.text(max_size=6), st.just(None)), max_size=6))
def test_a_parameter_at_any_depth_is_refused(
    table: FieldTable, data: st.DataObject, value: Any, field: str, path: list[str | None]
) -> None:
    harmless = {"messages": value}
    assert table.refused_field(harmless) not in FIELDS
    hidden: Any = {**(value if isinstance(value, dict) else {}), field: data.draw(VALUES)}
    for step in path:
        hidden = [value, hidden] if step is None else {step: hidden}
    assert table.refused_field({"messages": hidden}) == field


@examples(150)
@given(st.lists(VALUES, min_size=1, max_size=5), st.data())
def test_no_parameter_reaches_the_client_however_the_stream_is_cut(events: list[Any], data: st.DataObject) -> None:
    answers = [{"choices": [], "text": each, **({"kv_transfer_params": PARAMS} if each else {})} for each in events]
    nested = [{"type": "response.completed", "response": each} for each in answers]
    stream = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in [*answers, *nested]) + b"data: [DONE]\n\n"
    decoder, got, left = WithoutParams(max_event_bytes=1 << 20), b"", stream
    while left:
        size = data.draw(st.integers(1, len(left)))
        got, left = got + decoder.feed(left[:size]), left[size:]
    *kept, done = [event.removeprefix(b"data: ") for event in got.split(b"\n\n")[:-1]]
    clean = [{"choices": [], "text": each} for each in events]
    assert [json.loads(each) for each in kept] == [
        *clean,
        *({"type": "response.completed", "response": each} for each in clean),
    ]
    assert done == b"[DONE]"
    assert [json.loads(decoder.whole(json.dumps(each).encode())) for each in answers] == clean
