"""Where requests go in a running gateway: several pools, capabilities, laws, and salts for their caches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
import yaml
from clients_digests import with_digests
from echo_upstream import EchoUpstream

OTHER_KEY = "test-key-of-another-tenant"
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture
def big(pki: Any) -> Iterator[EchoUpstream]:
    """A second pool."""
    with EchoUpstream(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) as upstream:
        yield upstream


@pytest.fixture
def start_changed(
    write_config: Callable[[Path], Path], start_from: Callable[..., Any], tmp_path: Path
) -> Callable[[Callable[[dict[str, Any]], None]], Any]:
    """Starts a gateway whose settings a test has changed in place."""

    def start_one(change: Callable[[dict[str, Any]], None]) -> Any:
        config = write_config(tmp_path)
        settings = yaml.safe_load(config.read_text())
        change(settings)
        config.write_text(yaml.safe_dump(with_digests(settings)))
        return start_from(config, tmp_path / "log")

    return start_one


def ask(client: openai.OpenAI, content: Any = "Hello and thank you", model: str = "assistant", **more: Any) -> Any:
    messages = [{"role": "user", "content": content}]
    return client.chat.completions.with_raw_response.create(model=model, messages=messages, **more)


def reasons(gateway: Any) -> list[str]:
    return list([record for record in gateway.records() if record["type"] == "gateway.request"][-1]["reasons"])


def test_cache_salt_is_per_tenant_and_not_sent_to_clouds(gateway: Any, pool: EchoUpstream, cloud: EchoUpstream) -> None:
    client, other = gateway.client(), gateway.client(OTHER_KEY)
    ask(client, model="inside")
    ask(client, "Something else", model="inside", extra_body={"cache_salt": "the client's own"})
    ask(other, model="inside")
    first, second, foreign = [request["cache_salt"] for request in pool.requests]
    assert first == second
    assert first != foreign
    assert len(first) == len(foreign) == 43  # 256 bits, as vLLM advises
    assert all("retail" not in salt for salt in (first, foreign))
    ask(client, extra_body={"cache_salt": "the client's own"})
    assert "cache_salt" not in cloud.requests[0]


def test_a_pool_that_refuses_the_salt_can_go_without(start_changed: Any, pool: EchoUpstream) -> None:
    gateway = start_changed(lambda settings: settings["upstreams"][0].update(cache_salt=False))
    ask(gateway.client(), model="inside")
    assert "cache_salt" not in pool.requests[0]


def test_a_request_goes_to_a_model_that_can_do_what_it_asks_for(
    start_changed: Any, pool: EchoUpstream, big: EchoUpstream
) -> None:
    def change(settings: dict[str, Any]) -> None:
        chat = settings["upstreams"][0]
        settings["upstreams"].append({**chat, "name": "big", "base_urls": [big.base_url], "capabilities": ["tools"]})
        chat["capabilities"] = []
        settings["routes"] = [{"model": "inside", "pool": "chat", "fallbacks": ["big"]}]

    gateway = start_changed(change)
    client = gateway.client()
    ask(client, model="inside")
    assert (len(pool.requests), len(big.requests)) == (1, 0)
    ask(client, model="inside", tools=[TOOL])
    assert (len(pool.requests), len(big.requests)) == (1, 1)
    assert "capability-tools:chat" in reasons(gateway)
    picture = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]
    with pytest.raises(openai.APIStatusError) as caught:
        ask(client, picture, model="inside")
    assert caught.value.code == "surface_not_served"
    assert {"capability-vision:chat", "capability-vision:big"} <= set(reasons(gateway))


def test_the_next_pool_takes_over_what_the_first_cannot_hold(
    start_changed: Any, pool: EchoUpstream, big: EchoUpstream
) -> None:
    def change(settings: dict[str, Any]) -> None:
        chat = settings["upstreams"][0]
        more = {**chat, "name": "big", "base_urls": [big.base_url], "max_model_len": 8192}
        settings["upstreams"].append(more)
        settings["routes"] = [{"model": "inside", "pool": "chat", "fallbacks": ["big"]}]

    gateway = start_changed(change)
    ask(gateway.client(), "word " * 1000, model="inside")
    assert (len(pool.requests), len(big.requests)) == (0, 1)
    assert "context:chat" in reasons(gateway)
    big.script.status = 500
    ask(gateway.client(), "word " * 1000, model="inside")
    assert len(pool.requests) == 1  # an estimate may be wrong, so it is tried in the end


def test_a_tenants_tokens_stay_under_the_law_that_policy_names(
    start_changed: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    def change(settings: dict[str, Any]) -> None:
        settings["policy"] |= {"jurisdictions": ["AE", "DE"], "tenant_jurisdictions": {"retail": ["DE"]}}
        clients = Path(settings["clients_file"])
        changed = [{**client, "routes": []} for client in json.loads(clients.read_text())]
        clients.write_text(json.dumps(changed))

    gateway = start_changed(change)
    assert ask(gateway.client()).headers["x-sovctl-route"] == "pool"
    assert "jurisdiction:sovereign-cloud" in reasons(gateway)
    assert not cloud.requests
    assert ask(gateway.client(OTHER_KEY)).headers["x-sovctl-route"] == "cloud"
