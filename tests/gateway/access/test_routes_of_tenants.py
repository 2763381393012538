"""Routes of a tenant in a running gateway: for clients of other tenants they do not exist."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from clients_digests import with_digests
from echo_upstream import EchoUpstream

OWN, OTHER = "test-key-of-the-branch-application", "test-key-of-another-tenant"


def chat(gateway: Any, key: str, model: str, content: str = "Hello") -> tuple[int, dict[str, Any]]:
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": content}]}).encode()
    status, _, answer = gateway.request("POST", "/v1/chat/completions", body, {"authorization": f"Bearer {key}"})
    return status, json.loads(answer)


def without_id(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an error without the id of its request."""
    error = answer["error"]
    return error | {"sovctl": {key: value for key, value in error["sovctl"].items() if key != "request_id"}}


def test_a_route_of_another_tenant_is_an_unknown_model(
    pool: EchoUpstream,
    cloud: EchoUpstream,
    write_config: Callable[[Path], Path],
    start_from: Callable[..., Any],
    tmp_path: Path,
) -> None:
    config = write_config(tmp_path)
    settings = yaml.safe_load(config.read_text())
    mine = next(each for each in settings["routes"] if each["model"] == "inside")
    settings["routes"] = [
        mine | {"tenants": ["retail"], "pool": "contracts"},
        {"model": "shared", "pool": "chat", "fallback_routes": ["inside"]},
    ]
    clients = json.loads(Path(settings["clients_file"]).read_text())
    for each in clients:
        each["routes"] = []
    Path(settings["clients_file"]).write_text(json.dumps(clients))
    settings["upstreams"].append({**settings["upstreams"][0], "name": "contracts", "model": "contracts"})
    config.write_text(yaml.safe_dump(with_digests(settings)))
    gateway = start_from(config, tmp_path / "log")

    assert chat(gateway, OWN, "inside")[0] == 200
    assert chat(gateway, OTHER, "shared")[0] == 200
    before = len(pool.requests)
    foreign, unknown = chat(gateway, OTHER, "inside"), chat(gateway, OTHER, "no-such-model")
    assert foreign[0] == unknown[0] == 404
    assert without_id(foreign[1]) == without_id(unknown[1])
    assert len(pool.requests) == before
    assert not cloud.requests
    for key, models in ((OWN, ["inside", "shared"]), (OTHER, ["shared"])):
        assert [each.id for each in gateway.client(key).models.list()] == models
    for model in ("inside", "no-such-model"):
        status, _, answer = gateway.request("GET", f"/v1/models/{model}", None, {"authorization": f"Bearer {OTHER}"})
        assert (status, json.loads(answer)["error"]["sovctl"]["reason"]) == (404, "model_not_found")

    pool.script.status = 500  # both upstreams of the server fail
    for key, asked in ((OTHER, {"echo"}), (OWN, {"echo", "contracts"})):
        pool.requests.clear()
        assert chat(gateway, key, "shared")[0] >= 500
        assert {each["model"] for each in pool.requests} == asked
