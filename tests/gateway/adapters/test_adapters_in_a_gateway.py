"""Refusals, credentials, counting, hand-over to other upstreams and operators' views of upstreams with adapters."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warm_processes
from provider_givens import PROVIDERS, aws_file, write_secret
from provider_servers import ProviderServer
from surface_givens import API_KEY, MAIL, PROMPT, assert_clean, audited, post

INVENTED = "GB29NWBK60161331926819"
USER = {"role": "user", "content": PROMPT}


@pytest.mark.parametrize(
    ("name", "fields", "named"),
    [
        ("anthropic", {"n": 2}, "n"),
        ("anthropic", {"temperature": 1.7}, "temperature"),
        ("anthropic", {"response_format": {"type": "json_object"}}, "response_format"),
        ("bedrock", {"tool_choice": {"type": "allowed_tools"}}, "tool_choice"),
        ("vertex-anthropic", {f"{MAIL}": 1}, None),
    ],
)
def test_a_field_that_the_upstream_cannot_express_is_refused_by_name(
    gateway: Any, servers: dict[str, ProviderServer], name: str, fields: dict[str, Any], named: str | None
) -> None:
    status, _, answer = post(gateway, "/v1/chat/completions", {"model": name, "messages": [USER], **fields})
    assert (status, answer["error"]["code"], answer["error"]["param"]) == (400, "field_not_allowed", named)
    assert MAIL not in json.dumps(answer)
    assert not servers[name].raw


def test_the_operator_can_strip_such_a_field(
    start: Callable[..., Any], settings_of: Callable[..., dict[str, Any]], servers: dict[str, ProviderServer]
) -> None:
    rows = [{"upstreams": ["anthropic"], "strip": ["n"]}]
    gateway = start(**settings_of("anthropic"), request_fields=rows)
    status, _, answer = post(gateway, "/v1/chat/completions", {"model": "anthropic", "messages": [USER], "n": 2})
    assert (status, answer["choices"][0]["message"]["content"]) == (200, PROMPT)
    assert not servers["anthropic"].problems


@pytest.mark.parametrize("name", PROVIDERS)
def test_counting_tokens_needs_an_api_for_it(gateway: Any, servers: dict[str, ProviderServer], name: str) -> None:
    body = {"model": name, "messages": [{"role": "user", "content": PROMPT}]}
    status, _, answer = post(gateway, "/v1/messages/count_tokens", body)
    if name in ("anthropic", "vertex-anthropic", "bedrock"):
        assert (status, answer) == (200, {"input_tokens": 7})
        assert not servers[name].problems
        assert_clean(servers[name])
    else:
        assert (status, answer["error"]["sovctl"]["reason"]) == (404, "surface_not_served")
        assert not servers[name].raw


def test_paths_and_headers_of_each_provider(gateway: Any, servers: dict[str, ProviderServer]) -> None:
    for name in PROVIDERS:
        assert post(gateway, "/v1/chat/completions", {"model": name, "messages": [USER]})[0] == 200
    assert {name: servers[name].targets for name in PROVIDERS} == {
        "openai": ["/v1/chat/completions"],
        "anthropic": ["/v1/messages"],
        "azure": ["/openai/v1/chat/completions"],
        "azure-deployment": ["/openai/deployments/gpt-9/chat/completions?api-version=2024-10-21"],
        "vertex-anthropic": [
            "/v1/projects/p-1/locations/europe-west4/publishers/anthropic/models/claude-9@20260101:rawPredict"
        ],
        "vertex-google": ["/v1/projects/p-1/locations/europe-west4/endpoints/openapi/chat/completions"],
        "bedrock": ["/model/eu.anthropic.claude-9-v1%3A0/converse"],
    }
    assert "anthropic-version" not in servers["bedrock"].heads[0]


def test_the_audit_record_and_the_usage_are_those_of_the_clients_api(gateway: Any) -> None:
    assert post(gateway, "/v1/chat/completions", {"model": "bedrock", "messages": [USER]})[0] == 200
    record = audited(gateway)
    assert (record["surface"], record["upstream"], record["tokens"]) == ("chat.completions", "bedrock", 3)


def test_a_token_of_a_service_account_is_cached_and_exchanged_again(
    gateway: Any, servers: dict[str, ProviderServer]
) -> None:
    server: Any = servers["vertex-anthropic"]
    ask = {"model": "vertex-anthropic", "messages": [USER]}
    assert post(gateway, "/v1/chat/completions", ask)[0] == 200
    exchanged = server.exchanges
    assert post(gateway, "/v1/chat/completions", ask)[0] == 200
    assert server.exchanges == exchanged
    server.exchanges += 1  # the server forgets the token: 400 here, because its credential is wrong
    assert post(gateway, "/v1/chat/completions", ask)[0] == 400
    server.exchanges -= 1


def test_without_a_token_nothing_is_sent(
    start: Callable[..., Any], settings_of: Callable[..., dict[str, Any]], servers: dict[str, ProviderServer]
) -> None:
    server: Any = servers["vertex-anthropic"]
    gateway = start(**settings_of("vertex-anthropic"))
    ask = {"model": "vertex-anthropic", "messages": [USER]}
    server.refuses_exchange = True
    try:
        status, _, answer = post(gateway, "/v1/chat/completions", ask)
    finally:
        server.refuses_exchange = False
    assert (status, answer["error"]["code"]) == (502, "upstream_failed")
    assert not server.raw
    assert audited(gateway)["upstream"] == "vertex-anthropic"
    assert "cloud token not renewed" in gateway.log()
    deadline = time.monotonic() + 20  # five seconds after the failure, the gateway tries again
    while post(gateway, "/v1/chat/completions", ask)[0] != 200:
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_replaced_keys_of_aws_are_used(
    start: Callable[..., Any], settings_of: Callable[..., dict[str, Any]], keys: Path
) -> None:
    settings = settings_of("bedrock")
    other = keys / "aws-other"
    write_secret(other, aws_file(token="expired"))
    settings["upstreams"][1]["bedrock"]["credentials_file"] = str(other)
    gateway = start(**settings)
    ask = {"model": "bedrock", "messages": [USER]}
    assert post(gateway, "/v1/chat/completions", ask)[0] == 400
    write_secret(other, aws_file())
    assert post(gateway, "/v1/chat/completions", ask)[0] == 200


def test_an_exception_in_a_stream_of_bedrock_ends_it(gateway: Any, servers: dict[str, ProviderServer]) -> None:
    server: Any = servers["bedrock"]
    server.exception = "throttlingException"
    body = json.dumps({"model": "bedrock", "messages": [USER], "stream": True}).encode()
    try:
        _, _, raw = gateway.request("POST", "/v1/chat/completions", body, {"authorization": f"Bearer {API_KEY}"})
    finally:
        server.exception = None
    events = raw.decode().strip().split("\n\n")
    assert "upstream_failed" in events[-1]
    assert "echoing" not in raw.decode()


def test_tool_arguments_for_the_network_keep_their_tokens(gateway: Any) -> None:
    tool = {"type": "function", "function": {"name": "fetch_url", "parameters": {"type": "object"}}}
    body = {"model": "anthropic", "messages": [USER], "tools": [tool]}
    _, _, adapted = post(gateway, "/v1/chat/completions", body)
    _, _, native = post(gateway, "/v1/chat/completions", {**body, "model": "openai"})
    arguments = [each["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] for each in (adapted, native)]
    shapes = [re.sub(r"_[A-Za-z0-9]{8,}", "_X", text.replace(" ", "")) for text in arguments]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_release_checks_read_the_clients_api(
    checked_gateway: Any, servers: dict[str, ProviderServer], path: str, *, is_stream: bool
) -> None:
    for name in ("anthropic", "openai", "bedrock"):
        servers[name].addition = f" The account is {INVENTED}. Done."
        body = {"model": name, "max_tokens": 99, "messages": [USER], "stream": is_stream}
        try:
            status, _, raw = checked_gateway.request(
                "POST", path, json.dumps(body).encode(), {"authorization": f"Bearer {API_KEY}"}
            )
        finally:
            servers[name].addition = ""
        assert status == 200
        said = raw.decode()
        parts = re.findall(r'"(?:content|text)": ?"((?:[^"\\]|\\.)*)"', said)
        text = "".join(json.loads(f'"{part}"') for part in parts)
        assert INVENTED not in text
        assert "[IBAN]" in text
        assert PROMPT in text


@pytest.fixture(scope="module")
def checked_gateway(start: Callable[..., Any], settings_of: Callable[..., dict[str, Any]]) -> Any:
    settings = settings_of("anthropic", "openai", "bedrock")
    for route in settings["routes"]:
        if "cloud" in route:
            route["release"] = {"identifiers": {"default": "mask"}}
    return start(**settings)


def test_explain_and_check_show_the_adapter(gateway: Any, tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"model": "bedrock", "messages": [USER]}))
    explained = warm_processes.gateway("explain", request, "--config", gateway.config, "--json").stdout
    (candidate,) = json.loads(explained)["candidates"]
    assert (candidate["name"], candidate["adapter"]) == ("bedrock", "chat.completions as converse")
    checked = warm_processes.gateway("check", "--config", gateway.config).stdout
    assert "bedrock (chat.completions as converse)" in checked
    assert "azure-deployment (messages as chat.completions)" in checked


def test_an_upstream_without_a_list_of_models_is_ready(
    start: Callable[..., Any], settings_of: Callable[..., dict[str, Any]]
) -> None:
    assert start(**settings_of("bedrock", "vertex-anthropic")).request("GET", "/readyz")[0] == 200


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("anthropic", {"surfaces": ["responses"]}, "surfaces: expected some of chat.completions, messages with api"),
        (
            "anthropic",
            {"vertex": {"project": "p", "location": "l", "publisher": "google", "service_account_file": "/f"}},
            "vertex: expected only with api vertex",
        ),
        ("bedrock", {"bedrock": None}, "bedrock: expected this section with api bedrock, got none"),
        (
            "bedrock",
            {"bedrock": {"region": "eu-central-1"}},
            "expected either this or api_key_file",
        ),
        ("bedrock", {"kind": "pool"}, "api: expected openai for a pool, got bedrock"),
        ("azure-deployment", {"surfaces": ["responses"]}, "surfaces: expected some of"),
        ("openai", {"translated_surfaces": ["embeddings"]}, "translated_surfaces: expected only messages"),
    ],
)
def test_settings_that_do_not_fit_the_api_are_refused(
    settings_of: Callable[..., dict[str, Any]], name: str, changes: dict[str, Any], expected: str
) -> None:
    from pydantic import ValidationError

    from sovctl.gateway.settings import UpstreamSettings

    upstream = settings_of(name)["upstreams"][1]
    made = {key: value for key, value in {**upstream, **changes}.items() if value is not None}
    with pytest.raises(ValidationError, match=re.escape(expected)):
        UpstreamSettings.model_validate(made)


def test_a_service_account_of_another_form_is_refused(
    start: Callable[..., Any], settings_of: Callable[..., dict[str, Any]], keys: Path
) -> None:
    settings = settings_of("vertex-google")
    write_secret(keys / "odd.json", json.dumps({"type": "authorized_user", "private_key": "secret words"}))
    settings["upstreams"][1]["vertex"]["service_account_file"] = str(keys / "odd.json")
    gateway = start(**settings, wait=False)
    assert gateway.process.wait(60) != 0
    assert "service account" in gateway.log()
    assert "secret words" not in gateway.log()
