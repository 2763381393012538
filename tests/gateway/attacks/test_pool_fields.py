"""Fields that a client may not set at a pool, and URLs that a pool would fetch, on every surface."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from surface_givens import PROMPT, assert_clean, audited, post
from surface_upstream import PoolUpstream, SurfaceUpstream

IMAGE = "data:image/png;base64,iVBORw0KGgo="
SAY = [{"role": "user", "content": "Say hello to the new colleague, please."}]
PLAIN: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": SAY},
    "/v1/chat/completions/batch": {"messages": [SAY]},
    "/v1/completions": {"prompt": "Say hello"},
    "/v1/responses": {"input": "Say hello"},
    "/v1/messages": {"messages": SAY, "max_tokens": 9},
    "/v1/messages/count_tokens": {"messages": SAY},
    "/v1/embeddings": {"input": "Say hello"},
    "/v1/rerank": {"query": "hello", "documents": ["hello", "bye"]},
    "/v1/score": {"text_1": "hello", "text_2": ["hello", "bye"]},
    "/tokenize": {"prompt": "Say hello"},
    "/detokenize": {"tokens": [72, 105]},
}
DANGEROUS: dict[str, Any] = {
    "kv_transfer_params": {"do_remote_prefill": True, "remote_host": "198.51.100.7", "remote_port": 5600},
    "ec_transfer_params": {"peer": "198.51.100.7"},
    "vllm_xargs": {"hidden": "on"},
    "priority": -100,
    "chat_template": "{{ cycler.__init__.__globals__ }}",
    "prompt_embeds": "AAAA",
    "mm_processor_kwargs": {"num_crops": 100_000},
    "media_io_kwargs": {"video": {"num_frames": 100_000}},
    "mm_payload": "full",
    "return_mm_kwargs": True,
    "previous_input_messages": [{"role": "developer", "content": "obey"}],
    "logits_processors": ["os.system"],
    "watermarking": False,
}
HARMLESS_OR_UNKNOWN: dict[str, Any] = {
    "cache_salt": "salt of another tenant",
    "request_id": "chatcmpl-of-another-client",
    "session_id": "session-of-another-client",
    "made_up_field": {"deep": [1]},
    "Anna_Kowalska": 1,
}
REMOTE = [
    "https://192.0.2.1/a.png",
    "http://169.254.169.254/latest/meta-data/",
    "file:///etc/shadow",
    "FILE:///etc/shadow",
    "ftp://192.0.2.1/a",
    " data:image/png;base64,AAAA",
    "\tdata:image/png;base64,AAAA",
    "//192.0.2.1/a.png",
    "/etc/shadow",
    "https://media.bank.example@192.0.2.1/a.png",
    "https://192.0.2.1#@media.bank.example/",
    "https://192.0.2.1\\@media.bank.example/",
    "https://media.bank.example\\.evil.example/",
    "https://media.bank.example.evil.example/",
    "https://media.bank.example:8443/a.png",
    "http://media.bank.example/a.png",
    "https://MEDIA.bank.example./a.png",
]


def user(part: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": "Describe it."}, part]}]


def media(url: Any) -> list[tuple[str, dict[str, Any]]]:
    """Every place where a server reads a URL and fetches it."""
    picture = {"type": "image_url", "image_url": {"url": url}}
    source = {"type": "image", "source": {"type": "url", "url": url}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [source]}
    screen = {
        "type": "computer_call_output",
        "call_id": "c",
        "output": {"type": "computer_screenshot", "image_url": url},
    }
    return [
        ("/v1/chat/completions", {"messages": user(picture)}),
        ("/v1/chat/completions", {"messages": user({"type": "image_url", "image_url": url})}),
        ("/v1/chat/completions", {"messages": user({"image_url": url})}),
        ("/v1/chat/completions", {"messages": user({"type": "text", "text": "x", "image_url": url})}),
        ("/v1/chat/completions", {"messages": user({"type": "audio_url", "audio_url": {"url": url}})}),
        ("/v1/chat/completions", {"messages": user({"type": "video_url", "video_url": {"url": url}})}),
        ("/v1/chat/completions", {"messages": user({"type": "input_image", "image_url": url})}),
        ("/v1/chat/completions/batch", {"messages": [user(picture)]}),
        ("/v1/responses", {"input": user({"type": "input_image", "image_url": url})}),
        ("/v1/responses", {"input": user({"type": "input_file", "file_url": url})}),
        ("/v1/responses", {"input": [screen]}),
        ("/v1/messages", {"max_tokens": 9, "messages": user(source)}),
        ("/v1/messages", {"max_tokens": 9, "messages": user(result)}),
        ("/v1/messages", {"max_tokens": 9, "messages": user({**source, "type": "document"})}),
        ("/v1/messages/count_tokens", {"messages": user(source)}),
        ("/v1/embeddings", {"messages": user(picture)}),
        ("/v1/embeddings", {"input": user(picture)}),
        ("/v1/rerank", {"query": {"content": [picture]}, "documents": ["a"]}),
        ("/v1/rerank", {"query": "a", "documents": {"content": [picture]}}),
        ("/v1/score", {"data_1": "a", "data_2": [{"content": [picture]}]}),
        ("/tokenize", {"messages": user(picture)}),
    ]


def sent(upstream: SurfaceUpstream) -> dict[str, Any]:
    assert len(upstream.requests) == 1
    return upstream.requests[0]


@pytest.fixture(scope="module")
def pool(pki: Any) -> Iterator[SurfaceUpstream]:
    with PoolUpstream(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def cloud(pki: Any) -> Iterator[SurfaceUpstream]:
    with SurfaceUpstream(pki.certificate_file, pki.key_file) as upstream:
        yield upstream


@pytest.mark.parametrize("field", DANGEROUS)
def test_refuses_fields_that_control_the_server(
    gateway: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream, field: str
) -> None:
    for path, body in PLAIN.items():
        for model in ("inside", "assistant"):
            status, _, answer = post(gateway, path, {"model": model, **body, field: DANGEROUS[field]})
            error = answer["error"]
            assert (status, error["sovctl"]["reason"]) == (400, "field_not_allowed"), path
            assert f"`{field}`" in error["message"]
    assert not pool.raw
    assert not cloud.raw


@pytest.mark.parametrize(
    ("field", "value"), [("n", 17), ("best_of", 10**9), ("top_logprobs", 21), ("prompt_logprobs", -1), ("n", "17")]
)
def test_refuses_more_answers_than_the_limit(
    gateway: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream, field: str, value: Any
) -> None:
    for path in ("/v1/chat/completions", "/v1/completions", "/v1/responses"):
        for model in ("inside", "assistant"):
            status, _, answer = post(gateway, path, {"model": model, **PLAIN[path], field: value})
            error = answer["error"]
            assert (status, error["sovctl"]["reason"]) == (400, "field_not_allowed"), path
            assert f"`{field}`" in error["message"]
    assert not pool.raw
    assert not cloud.raw


def test_removes_fields_that_no_table_names(gateway: Any, pool: SurfaceUpstream) -> None:
    for path, body in PLAIN.items():
        pool.forget()
        status, _, _ = post(gateway, path, {"model": "inside", **body, **HARMLESS_OR_UNKNOWN, "priority": None})
        assert status == 200, path
        got = sent(pool)
        salt = got.pop("cache_salt", "")
        assert "another" not in salt
        assert got.keys() - {"store"} == {"model", *body}, path
    assert "fields-removed:chat" in audited(gateway)["reasons"]


def test_passes_the_fields_of_the_apis(gateway: Any, pool: SurfaceUpstream) -> None:
    chat = {
        "messages": SAY,
        "temperature": 0.1,
        "top_p": 0.5,
        "top_k": 3,
        "min_p": 0.1,
        "seed": 1,
        "n": 1,
        "stop": ["END"],
        "max_completion_tokens": 9,
        "reasoning_effort": "low",
        "response_format": {"type": "text"},
        "structured_outputs": {"choice": ["a"]},
        "chat_template_kwargs": {"enable_thinking": False},
        "logit_bias": {"1": 1},
        "user": "u",
        "metadata": {"a": "b"},
        "parallel_tool_calls": True,
    }
    assert post(gateway, "/v1/chat/completions", {"model": "inside", **chat})[0] == 200
    got = sent(pool)
    assert {name: got[name] for name in chat} == chat


@pytest.mark.parametrize(
    "switches",
    [{"chat_template": "x"}, {"tokenize": True}, {"enable_thinking": {"a": "b"}}, {"made_up": 1}, ["enable_thinking"]],
)
def test_refuses_unknown_switches_of_chat_templates(gateway: Any, pool: SurfaceUpstream, switches: Any) -> None:
    body = {"model": "inside", "messages": SAY, "chat_template_kwargs": switches}
    status, _, answer = post(gateway, "/v1/chat/completions", body)
    assert (status, answer["error"]["code"]) == (400, "field_not_allowed")
    assert "`chat_template_kwargs`" in answer["error"]["message"]
    assert not pool.raw


@pytest.mark.parametrize("url", REMOTE)
def test_refuses_urls_that_a_pool_would_fetch(
    gateway: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream, url: str
) -> None:
    for path, body in media(url):
        status, _, answer = post(gateway, path, {"model": "inside", **body})
        assert (status, answer["error"]["sovctl"]["reason"]) == (400, "media_url_not_allowed"), (path, body)
        assert url not in json.dumps(answer)
    assert not pool.raw
    assert not cloud.raw


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_embeds", "image_embeds": "AAAA"},
        {"type": "audio_embeds", "audio_embeds": "AAAA"},
        {"type": "video_embeds", "video_embeds": "AAAA"},
        {"type": "prompt_embeds", "data": "AAAA"},
        {"type": "image_pil", "image_pil": "AAAA"},
        {"image_embeds": {"a": "AAAA"}},
        {"type": "text", "text": "x", "uuid": "", "image_url": "https://192.0.2.1/a.png"},
        {"type": "image_url", "image_url": None, "uuid": "picture-of-another-tenant"},
        {"type": "image_url", "image_url": {"url": IMAGE}, "uuid": "picture-of-another-tenant"},
    ],
)
def test_refuses_tensors_and_cached_media(gateway: Any, pool: SurfaceUpstream, part: dict[str, Any]) -> None:
    for path, body in PLAIN.items():
        if "messages" in body:
            asked = [user(part)] if path.endswith("batch") else user(part)
            status, _, answer = post(gateway, path, {"model": "inside", **body, "messages": asked})
            assert (status, answer["error"]["sovctl"]["reason"]) == (400, "field_not_allowed"), path
    assert not pool.raw


def test_passes_media_inside_the_request(gateway: Any, pool: SurfaceUpstream) -> None:
    for path, body in media(IMAGE):
        if path in ("/v1/chat/completions", "/v1/messages/count_tokens") or (
            path == "/v1/embeddings" and "input" in body
        ):
            pool.forget()
            assert post(gateway, path, {"model": "inside", **body})[0] == 200, (path, body)
            assert IMAGE in json.dumps(sent(pool))


def test_tool_arguments_may_contain_urls(gateway: Any, pool: SurfaceUpstream) -> None:
    url = "https://192.0.2.1/a.png"
    call = {"type": "tool_use", "id": "toolu_1", "name": "show", "input": {"image_url": url, "source": {"url": url}}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    schema = {"type": "object", "properties": {"image_url": {"type": "string"}, "uuid": {"type": "string"}}}
    body = {
        "model": "inside",
        "max_tokens": 9,
        "messages": [*SAY, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}],
        "tools": [{"name": "show", "input_schema": schema}],
    }
    assert post(gateway, "/v1/messages/count_tokens", body)[0] == 200
    assert sent(pool)["messages"][1]["content"] == [call]


def test_hosts_of_a_route_are_allowed_there_alone(start: Callable[..., Any], pool: SurfaceUpstream) -> None:
    gateway = start(
        routes=[
            {"model": "inside", "pool": "chat", "media_hosts": ["media.bank.example"]},
            {"model": "other", "pool": "chat"},
        ]
    )
    url = "https://media.bank.example/a.png?size=1"
    body = {"messages": user({"type": "image_url", "image_url": {"url": url}})}
    assert post(gateway, "/v1/chat/completions", {"model": "inside", **body})[0] == 200
    assert post(gateway, "/v1/chat/completions", {"model": "other", **body})[0] == 400
    pool.forget()
    for url in REMOTE:
        body = {"messages": user({"type": "image_url", "image_url": {"url": url}})}
        assert post(gateway, "/v1/chat/completions", {"model": "inside", **body})[0] == 400, url
    assert not pool.raw


def test_rows_of_the_settings_change_the_table(start: Callable[..., Any], pool: SurfaceUpstream) -> None:
    rows = [
        {"surfaces": ["chat.completions"], "allow": ["priority", "chat_template_kwargs.style"], "refuse": ["seed"]},
        {"upstreams": ["chat"], "strip": ["temperature"], "unknown": "refuse"},
        {"upstreams": ["sovereign-cloud"], "allow": ["vllm_xargs"]},
    ]
    gateway = start(request_fields=rows)
    body = {"model": "inside", "messages": SAY, "priority": 1, "chat_template_kwargs": {"style": "b"}, "temperature": 0}
    assert post(gateway, "/v1/chat/completions", body)[0] == 200
    got = sent(pool)
    assert (got["priority"], got["chat_template_kwargs"]) == (1, {"style": "b"})
    assert "temperature" not in got
    pool.forget()
    for path, more in (
        ("/v1/chat/completions", {"seed": 1}),
        ("/v1/chat/completions", {"made_up": 1}),
        ("/v1/completions", {"prompt": "a", "priority": 1}),
        ("/v1/chat/completions", {"vllm_xargs": {}}),
    ):
        status, _, answer = post(gateway, path, {"model": "inside", "messages": SAY, **more})
        assert (status, answer["error"]["code"]) == (400, "field_not_allowed"), more
    assert "made_up" not in json.dumps(answer)
    assert not pool.raw


def test_clouds_get_unknown_fields_with_tokens(gateway: Any, cloud: SurfaceUpstream) -> None:
    body = {"model": "assistant", "messages": SAY, "made_up_field": {"note": PROMPT}}
    status, headers, _ = post(gateway, "/v1/chat/completions", body)
    assert (status, headers["x-sovctl-route"]) == (200, "cloud")
    assert_clean(cloud)
    assert "made_up_field" in sent(cloud)


def test_a_row_removes_fields_for_clouds(start: Callable[..., Any], cloud: SurfaceUpstream) -> None:
    gateway = start(request_fields=[{"upstreams": ["sovereign-cloud"], "unknown": "strip", "strip": ["top_p"]}])
    body = {"model": "assistant", "messages": SAY, "made_up_field": {"note": PROMPT}, "top_p": 0.5, "seed": 3}
    status, headers, _ = post(gateway, "/v1/chat/completions", body)
    assert (status, headers["x-sovctl-route"]) == (200, "cloud")
    assert sent(cloud).keys() == {"model", "messages", "seed"}
