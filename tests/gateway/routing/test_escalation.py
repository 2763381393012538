"""Bad answers in a running gateway: the next model is asked, within policy, and everything is on record."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from access_givens import MONITOR_KEY, entry
from clients_digests import with_digests
from echo_upstream import EchoUpstream

KEY = "test-key-of-branch"
LIMITED = "test-key-of-limited"
TIGHT = "test-key-of-tight"
PRICE = {"input_price_per_million": 100.0, "output_price_per_million": 1000.0}


@pytest.fixture
def gateway(write_config: Callable[[Path], Path], start_from: Callable[..., Any], tmp_path: Path) -> Any:
    """Its route asks the cloud first, and then the pool."""
    config = write_config(tmp_path)
    settings = yaml.safe_load(config.read_text())
    route = next(each for each in settings["routes"] if each["model"] == "assistant")
    route |= {
        "escalate_on": ["empty", "truncated", "unknown-tool", "invalid-json"],
        "shadow": {"simple": "chat", "complex": "sovereign-cloud"},
    }
    clients = [
        entry("branch", KEY),
        entry("monitoring", MONITOR_KEY, is_monitor=True),
        entry("tight", TIGHT, limits={"tokens_per_day": 1000}),
        entry("limited", LIMITED, limits={"tokens_per_day": 100_000, "cost_per_day": 5.0}),
    ]
    (tmp_path / "clients.json").write_text(json.dumps(clients))
    settings["clients_file"] = str(tmp_path / "clients.json")
    prices = {"currency": "EUR", "upstreams": {"chat": PRICE, "sovereign-cloud": PRICE}}
    settings["quota"] = {"path": str(tmp_path / "quota.db"), "prices": prices}
    config.write_text(yaml.safe_dump(with_digests(settings)))
    return start_from(config, tmp_path / "log")


def ask(gateway: Any, text: str = "Please write to anna@example.com", key: str = KEY, **more: Any) -> Any:
    messages = [{"role": "user", "content": text}]
    return gateway.client(key).chat.completions.with_raw_response.create(model="assistant", messages=messages, **more)


def says(upstream: EchoUpstream, content: str | None, **more: Any) -> None:
    upstream.script.message = lambda _body: {"role": "assistant", "content": content, **more}


def last(gateway: Any, kind: str) -> dict[str, Any]:
    return dict([record for record in gateway.records() if record["type"] == f"gateway.{kind}"][-1])


def test_a_bad_answer_is_followed_by_the_next_model_s_and_all_of_it_is_recorded(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    says(cloud, "")
    says(pool, "Gladly.")
    answer = ask(gateway)
    assert answer.parse().choices[0].message.content == "Gladly."
    assert answer.headers["x-sovctl-route"] == "pool"
    assert b"anna@example.com" not in b"".join(cloud.raw)
    assert last(gateway, "fallback")["reasons"][-1] == "empty:sovereign-cloud"
    assert last(gateway, "answer")["attempts"] == ["sovereign-cloud/0:empty", "chat/0:200"]
    shadow = last(gateway, "request")["shadow"]
    assert shadow == {"points": 0, "complexity": "simple", "upstream": "chat"}
    metrics = gateway.request("GET", "/metrics")[2].decode()
    assert 'bad_answers_total{fault="empty",model="assistant",upstream="sovereign-cloud"} 1.0' in metrics
    assert (
        'shadow_choices_total{asked="sovereign-cloud",complexity="simple",model="assistant",would="chat"} 1.0'
        in metrics
    )


def test_escalation_uses_only_upstreams_that_policy_allows(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    """What must stay on-prem has no second model here: the bad answer is the answer."""
    says(pool, "")
    text = "Құжат мәтіні мына жерден басталады және ол ұзақ."  # a language in which names are not accepted
    answer = ask(gateway, text)
    assert (answer.parse().choices[0].message.content, answer.headers["x-sovctl-route"]) == ("", "pool")
    assert not cloud.requests
    assert last(gateway, "answer")["attempts"] == ["chat/0:200"]


@pytest.mark.parametrize("failing", [503, 400])
def test_a_bad_answer_is_better_than_none(gateway: Any, pool: EchoUpstream, cloud: EchoUpstream, failing: int) -> None:
    schema = {
        "type": "object",
        "properties": {"to": {"type": "string"}},
        "required": ["to"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    cloud.script.message = lambda body: {
        "role": "assistant",
        "content": "for " + body["messages"][0]["content"].split()[-1],
    }
    pool.script.status = failing
    answer = ask(gateway, response_format=wanted)
    assert answer.parse().choices[0].message.content == "for anna@example.com"  # its values are back
    assert answer.headers["x-sovctl-route"] == "cloud"
    recorded = last(gateway, "answer")
    assert (recorded["upstream"], recorded["tokens"]["restored"]) == ("sovereign-cloud", 1)
    assert recorded["attempts"][0] == "sovereign-cloud/0:invalid-json"


def test_a_bad_answer_that_used_up_a_limit_is_delivered(gateway: Any, pool: EchoUpstream, cloud: EchoUpstream) -> None:
    says(cloud, "")
    cloud.script.used = (990, 0)
    answer = ask(gateway, key=TIGHT, max_tokens=50)
    assert (answer.parse().choices[0].message.content, answer.headers["x-sovctl-route"]) == ("", "cloud")
    assert not pool.requests
    assert last(gateway, "answer")["attempts"] == ["sovereign-cloud/0:empty"]


def test_two_bad_answers_in_a_conversation_and_the_other_model_is_asked_first(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    says(cloud, "")
    named = {"extra_headers": {"x-sovctl-conversation": "c-1"}}
    for _ in range(3):
        ask(gateway, **named)
    assert (len(cloud.requests), len(pool.requests)) == (2, 3)
    request = last(gateway, "request")
    assert (request["upstream"], request["reasons"][-1]) == ("chat", "latched:sovereign-cloud")
    ask(gateway, extra_headers={"x-sovctl-conversation": "c-2"})
    assert len(cloud.requests) == 3


def test_workers_know_of_each_other_s_bad_answers(
    gateway: Any, start_from: Callable[..., Any], tmp_path: Path, cloud: EchoUpstream
) -> None:
    says(cloud, "")
    gateway.stop()
    gateway.config.write_text(gateway.config.read_text().replace("workers: 1", "workers: 2"))
    two = start_from(gateway.config, tmp_path / "two.log")
    for _ in range(12):
        two.client(KEY).close()  # a new connection may meet the other worker
        two.clients.clear()
        ask(two, extra_headers={"x-sovctl-conversation": "c-1"})
    assert len(cloud.requests) == 2


def test_each_model_that_answered_is_paid_for(gateway: Any, pool: EchoUpstream, cloud: EchoUpstream) -> None:
    says(cloud, "")
    ask(gateway, key=LIMITED, max_tokens=50)
    gateway.stop()
    import sqlite3

    path = yaml.safe_load(gateway.config.read_text())["quota"]["path"]
    with closing(sqlite3.connect(path)) as database:
        used = dict(database.execute("SELECT kind, sum(amount) FROM spent GROUP BY 1").fetchall())
    assert used == {"tokens_per_day": 6, "cost_per_day": 2 * (100_000 + 2_000_000)}


def test_a_stream_without_an_event_is_followed_by_the_next_and_one_with_is_not(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    cloud.script.raw_stream = b": nothing\n\n"
    says(pool, "Gladly.")
    chunks = list(ask(gateway, stream=True).parse())
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Gladly."
    cloud.forget()
    says(cloud, "")
    pool.requests.clear()
    list(ask(gateway, stream=True).parse())
    assert not pool.requests
