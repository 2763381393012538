"""`explain` for one client: his tenant, his rights, his budgets; what serving would do, and nothing done."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import openai
import pytest
import yaml
from access_givens import entry
from clients_digests import with_digests
from echo_upstream import EchoUpstream

from sovctl.gateway.commands.explain import explain, in_words
from sovctl.gateway.settings import load_settings
from sovctl.support.errors import InputError

CHAT = "/v1/chat/completions"
IBAN = "DE89370400440532013000"
PRICES = {
    "currency": "EUR",
    "upstreams": {
        "chat": {"input_price_per_million": 100.0, "output_price_per_million": 1000.0},
        "sovereign-cloud": {"input_price_per_million": 1000.0, "output_price_per_million": 10_000.0},
    },
}
CLIENTS = [
    entry("branch", "test-key-of-branch"),
    entry("rich", "test-key-of-rich", limits={"cost_per_day": 1000.0}),
    entry("poor", "test-key-of-poor", limits={"cost_per_day": 0.5}),
    entry("broke", "test-key-of-broke", limits={"cost_per_day": 0.001}),
    entry("inner", "test-key-of-inner", routes=["inside"]),
    entry("vectors", "test-key-of-vectors", surfaces=["embeddings"]),
    entry("people", "test-key-of-people", tenant="hr"),
]


def request(**changes: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Hello, thank you"}]
    return {"model": "assistant", "max_tokens": 100, "messages": messages, **changes}


@pytest.fixture
def config(tmp_path: Path, write_config: Callable[[Path], Path]) -> Path:
    path = write_config(tmp_path)
    settings = yaml.safe_load(path.read_text())
    (tmp_path / "clients.json").write_text(json.dumps(CLIENTS))
    settings["clients_file"] = str(tmp_path / "clients.json")
    settings["quota"] = {"path": str(tmp_path / "quota.db"), "prices": PRICES}
    settings.setdefault("policy", {})["rules"] = [{"entity_types": ["IBAN"], "tenants": ["hr"], "action": "block"}]
    path.write_text(yaml.safe_dump(with_digests(settings)))
    return path


@pytest.fixture
def told(config: Path) -> Callable[..., dict[str, Any]]:
    """Explains a request of a client."""

    def tell(client: str | None = None, path: str = CHAT, cap: float | None = None, **changes: Any) -> dict[str, Any]:
        settings = yaml.safe_load(config.read_text())
        if cap is not None:
            settings["routes"][0]["max_cost_per_request"] = cap
            config.write_text(yaml.safe_dump(with_digests(settings)))
        file = config.parent / "request.json"
        file.write_text(json.dumps(request(**changes)))
        return explain(load_settings(config), file, client=client, path=path)

    return tell


def test_the_rights_of_a_client_decide(told: Any) -> None:
    assert told("branch")["refused"] is None
    assert told("inner")["refused"] == "route_not_allowed"
    assert told("vectors")["refused"] == "surface_not_allowed"
    assert told("vectors", "/v1/embeddings", input=["x"])["refused"] == "surface_not_served"
    text = [{"role": "user", "content": f"Please pay to {IBAN} today"}]
    assert told("branch", messages=text)["verdict"] == "leave"
    hr = told("people", messages=text)
    assert (hr["verdict"], hr["refused"], hr["upstreams"]) == ("block", "policy_blocked", [])
    assert hr["rules"] == [{"entity": "IBAN/IBAN", "action": "block", "by": "policy.rules[0]"}]
    assert [each["reasons"] for each in hr["candidates"]] == [["policy"], ["policy"]]
    assert IBAN not in json.dumps(hr)
    assert IBAN not in "\n".join(in_words(hr))


def test_explain_shows_the_actions_for_tool_arguments(told: Any) -> None:
    properties = {"to": {"type": "string"}, "target": {"type": "object", "properties": {"url": {"type": "string"}}}}
    send = {"name": "send", "parameters": {"type": "object", "properties": properties}}
    said = told(tools=[{"type": "function", "function": send}, {"type": "function", "function": {"name": "curl"}}])
    assert said["tools"] == [
        {"tool": "send", "arguments": {"to": "restore", "target.url": "keep-token"}},
        {"tool": "curl", "arguments": {"": "keep-token"}},
    ]
    assert "tool send, target.url: keep-token" in "\n".join(in_words(said))
    assert "tools" not in told()


@pytest.mark.parametrize(
    ("client", "upstreams", "refused", "reasons"),
    [
        ("rich", ["sovereign-cloud", "chat"], None, [[], []]),
        ("poor", ["chat"], None, [["budget"], []]),
        ("broke", None, "request_exceeds_limit", None),
    ],
)
def test_budgets_decide_by_what_is_left(
    told: Any, config: Path, client: str, upstreams: Any, refused: str | None, reasons: Any
) -> None:
    said = told(client)
    assert said["refused"] == refused
    if upstreams is not None:
        assert said["upstreams"] == upstreams
        assert [each["reasons"] for each in said["candidates"]] == reasons
        cloud, chat = [each["cost_at_most"] for each in said["candidates"]]
        assert cloud == pytest.approx(10 * chat)
        assert chat <= 0.2
        assert "EUR" in "\n".join(in_words(said))
    assert not (config.parent / "quota.db").exists()


def test_route_cost_cap_applies_to_all_principals(told: Any) -> None:
    said = told(cap=0.5)
    assert said["upstreams"] == ["chat"]
    assert [each["reasons"] for each in said["candidates"]] == [["cost"], []]
    assert told(cap=0.000001)["refused"] == "request_exceeds_limit"


def test_explain_predicts_the_decision_without_using_limits(
    told: Any, config: Path, start_from: Callable[..., Any], pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    """`poor` has money for the pool; what he used counts, and explaining uses nothing."""
    gateway = start_from(config, config.parent / "log")
    for _ in range(2):
        gateway.client("test-key-of-poor").chat.completions.create(**request())
    assert (len(pool.requests), len(cloud.requests)) == (2, 0)
    recorded = [record for record in gateway.records() if record["type"] == "gateway.request"]
    said = told("poor")
    assert recorded[-1]["reasons"] == said["reasons"]
    assert [recorded[-1]["upstream"]] == said["upstreams"]
    with pytest.raises(openai.RateLimitError, match="limit"):
        gateway.client("test-key-of-broke").chat.completions.create(**request())
    gateway.stop()

    def spent() -> list[Any]:
        with closing(sqlite3.connect(config.parent / "quota.db", isolation_level=None)) as database:
            return database.execute("SELECT * FROM spent ORDER BY 1, 2, 3").fetchall()

    before = spent()
    assert before
    told("poor")
    assert spent() == before


@pytest.mark.parametrize(
    ("client", "path", "message"),
    [("brunch", CHAT, "--client: no client"), (None, "/v1/chat/completion", "--path: expected one of")],
)
def test_unknown_name_is_reported_with_a_suggestion(told: Any, client: str, path: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        told(client, path)
    assert caught.value.hint.startswith("did you mean")
