"""Limits against running gateways: what the client is told, what is counted, and what survives."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
import yaml
from access_givens import MONITOR_KEY, entry
from echo_upstream import EchoUpstream
from postgresql_server import PostgresqlServer
from quota_places import PostgresqlPlace
from waiting import until

from sovctl.gateway.commands.main import main

KEY = {name: f"test-key-of-{name}" for name in ("slow", "small", "daily", "team-one", "team-two", "single", "free")}
LIMITS: dict[str, dict[str, Any]] = {
    "slow": {"requests_per_minute": 3},
    "small": {"tokens_per_minute": 600},
    "daily": {"tokens_per_day": 2000, "cost_per_day": 1.0},
    "single": {"concurrent_requests": 1},
    "free": {},
}
PRICE = {"input_price_per_million": 100.0, "output_price_per_million": 1000.0}
PRICES = {"currency": "EUR", "upstreams": {"chat": PRICE, "sovereign-cloud": PRICE}}


@pytest.fixture(scope="module")
def begin(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Starts a gateway with limited clients and a store of its own."""

    def begin_one(**changes: Any) -> Any:
        folder = tmp_path_factory.mktemp("limited")
        clients = [entry(name, KEY[name], limits=limits) for name, limits in LIMITS.items()]
        clients.append(entry("monitoring", MONITOR_KEY, is_monitor=True))
        clients += [entry(name, KEY[name], team="cards") for name in ("team-one", "team-two")]
        (folder / "clients.json").write_text(json.dumps(clients))
        quota: dict[str, Any] = {
            "path": str(folder / "quota.db"),
            "prices": PRICES,
        }
        teams = [{"name": "cards", "tenant": "retail", "limits": {"requests_per_minute": 4}}]
        return start(
            clients_file=str(folder / "clients.json"),
            access={"teams": teams},
            quota={**quota, **changes.pop("quota", {})},
            **changes,
        )

    return begin_one


@pytest.fixture(scope="module")
def limited(begin: Callable[..., Any]) -> Any:
    return begin()


def ask(gateway: Any, name: str, **changes: Any) -> Any:
    """The raw answer of the real client."""
    request = {"model": "inside", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 100, **changes}
    return gateway.client(KEY[name]).chat.completions.with_raw_response.create(**request)


def refusal(gateway: Any, name: str, **changes: Any) -> tuple[str, Any]:
    """Code and headers of a refusal."""
    with pytest.raises(openai.RateLimitError) as caught:
        ask(gateway, name, **changes)
    body = caught.value.body
    assert isinstance(body, dict)
    return str(body["code"]), caught.value.response.headers


def used(gateway: Any) -> dict[tuple[str, str], int]:
    """What the store says."""
    path = yaml.safe_load(gateway.config.read_text())["quota"]["path"]
    database = sqlite3.connect(path)
    rows = database.execute("SELECT subject, kind, sum(amount) FROM spent GROUP BY 1, 2").fetchall()
    database.close()
    return {(subject, kind): amount for subject, kind, amount in rows}


def test_the_client_sees_its_limits_and_a_refusal_it_understands(limited: Any, pool: EchoUpstream) -> None:
    for left in (2, 1, 0):
        headers = ask(limited, "slow").headers
        assert headers["x-ratelimit-limit-requests"] == "3"
        assert headers["x-ratelimit-remaining-requests"] == str(left)
        assert headers["x-ratelimit-reset-requests"].endswith("s")
    seen = len(pool.requests)
    code, headers = refusal(limited, "slow")
    assert code == "rate_limit_exceeded"
    assert 1 <= int(headers["retry-after"]) <= 65
    assert headers["x-ratelimit-remaining-requests"] == "0"
    assert len(pool.requests) == seen
    assert "x-ratelimit-limit-requests" not in ask(limited, "free").headers


def test_a_team_s_members_share_its_limit(limited: Any) -> None:
    for name in ("team-one", "team-two", "team-one", "team-two"):
        ask(limited, name)
    assert refusal(limited, "team-one")[0] == "rate_limit_exceeded"
    assert refusal(limited, "team-two")[0] == "rate_limit_exceeded"


def test_a_request_larger_than_the_limit_is_told_not_to_try_again(limited: Any) -> None:
    code, headers = refusal(limited, "small", max_tokens=490, n=2)
    assert (code, headers["x-should-retry"]) == ("request_exceeds_limit", "false")


def test_use_is_settled_with_what_the_answer_says_streamed_or_not(limited: Any, pool: EchoUpstream) -> None:
    for _ in range(20):  # each reserves about 200 of 600 tokens, and uses 3
        ask(limited, "small")
        chunks = list(ask(limited, "small", stream=True).parse())
        assert all(chunk.usage is None for chunk in chunks)
        assert all(chunk.choices for chunk in chunks)
    assert pool.requests[-1]["stream_options"] == {"include_usage": True}
    chunks = list(ask(limited, "small", stream=True, stream_options={"include_usage": True}).parse())
    assert chunks[-1].usage.total_tokens == 3


def until_midnight_is_far() -> None:
    """Behind it, what is used in a day counts anew; a gateway's clock is the machine's."""
    until(lambda: time.time() % 86_400 < 86_400 - 60, "a day that is long enough", timeout_s=120)


def test_unknown_use_keeps_the_reservation_and_none_gives_it_back(
    begin: Callable[..., Any], pool: EchoUpstream
) -> None:
    until_midnight_is_far()
    gateway = begin()
    pool.script.status = 503
    for _ in range(30):
        with pytest.raises(openai.InternalServerError):
            ask(gateway, "daily")
    pool.forget()
    pool.script.break_after_bytes = 60
    for _ in range(20):
        try:
            list(ask(gateway, "daily", stream=True).parse())
        except openai.RateLimitError as error:
            assert error.code == "insufficient_quota"  # noqa: PT017
            assert error.response.headers["x-should-retry"] == "false"  # noqa: PT017
            break
        except openai.APIError:
            continue
    else:
        pytest.fail("twenty broken answers of about 200 tokens each fit into 2,000")
    pool.forget()
    gateway.stop()
    assert 1500 <= used(gateway)["client:daily", "tokens_per_day"] <= 2000


def test_a_refused_request_costs_nothing(begin: Callable[..., Any], pool: EchoUpstream) -> None:
    until_midnight_is_far()
    gateway = begin(policy={"default": "block", "name_languages": ["en"]})
    for _ in range(3):
        with pytest.raises(openai.PermissionDeniedError):
            ask(
                gateway,
                "daily",
                model="assistant",
                messages=[{"role": "user", "content": "IBAN DE89370400440532013000"}],
            )
    assert not pool.requests
    gateway.stop()
    spent = used(gateway)
    assert [spent.get(("client:daily", kind), 0) for kind in ("tokens_per_day", "cost_per_day")] == [0, 0]


def test_what_was_used_is_known_after_a_stop_and_after_a_kill(
    begin: Callable[..., Any], start_from: Callable[..., Any], pool: EchoUpstream
) -> None:
    until_midnight_is_far()
    gateway = begin()
    ask(gateway, "daily")
    gateway.stop()
    assert used(gateway) == {
        ("client:daily", "tokens_per_day"): 3,
        ("client:daily", "cost_per_day"): 100_000 + 2_000_000,
    }
    again = start_from(gateway.config, gateway.log_file)
    ask(again, "daily")
    again.stop(9)
    assert used(again)["client:daily", "tokens_per_day"] >= 6


def test_one_at_a_time_means_one_at_a_time_over_all_workers(begin: Callable[..., Any], pool: EchoUpstream) -> None:
    gateway = begin(workers=2)
    pool.script.hold = threading.Event()
    streams = iter(ask(gateway, "single", stream=True).parse())
    next(streams)
    codes = {refusal(gateway, "single")[0] for _ in range(6)}
    assert codes == {"rate_limit_exceeded"}
    pool.script.hold.set()
    list(streams)
    until(lambda: not isinstance(attempt(gateway, "single"), openai.RateLimitError), "the place is free again")


def attempt(gateway: Any, name: str) -> Any:
    try:
        return ask(gateway, name)
    except openai.APIError as error:
        return error


def test_workers_share_a_limit(begin: Callable[..., Any]) -> None:
    gateway = begin(workers=2)
    answers = []
    for _ in range(12):
        gateway.client(KEY["slow"]).close()  # a new connection may meet the other worker
        gateway.clients.clear()
        answers.append(attempt(gateway, "slow"))
    assert sum(isinstance(answer, openai.RateLimitError) for answer in answers) == 9


def test_without_the_store_who_has_limits_waits_and_others_do_not(begin: Callable[..., Any]) -> None:
    gateway = begin()
    path = yaml.safe_load(gateway.config.read_text())["quota"]["path"]
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(openai.InternalServerError) as caught:
        ask(gateway, "slow")
    assert (caught.value.status_code, caught.value.code) == (503, "limits_unavailable")
    ask(gateway, "free")
    status, _, body = gateway.request("GET", "/readyz")
    wrong = json.loads(body)["wrong"]
    # A busy machine is slower to find out than the page is patient.
    assert (status, wrong) in [(503, {"limits": why}) for why in ("can't be held", "doesn't answer")]
    other.close()
    ask(gateway, "slow")
    until(lambda: gateway.request("GET", "/readyz")[0] == 200, "ready again")


def test_a_limit_that_is_lowered_holds_without_a_restart(begin: Callable[..., Any]) -> None:
    gateway = begin(quota={"default_limits": {"requests_per_minute": 1000}})
    ask(gateway, "free")
    settings = yaml.safe_load(gateway.config.read_text())
    settings["quota"]["default_limits"]["requests_per_minute"] = 1
    gateway.config.write_text(yaml.safe_dump(settings))
    until(lambda: isinstance(attempt(gateway, "free"), openai.RateLimitError), "the new limit holds")


def test_hosts_with_one_vault_share_a_limit_and_explain_knows_what_is_left(
    begin: Callable[..., Any], postgresql: PostgresqlServer, tmp_path: Path, capfd: Any
) -> None:
    place = PostgresqlPlace(postgresql, tmp_path)
    postgresql.psql("DROP SCHEMA IF EXISTS sovctl_vault CASCADE")
    (tmp_path / "one.kek").write_text(secrets.token_hex(32))
    (tmp_path / "one.kek").chmod(0o600)
    vault = {"postgresql": place.settings, "kek_file": str(tmp_path / "one.kek")}
    one, other = (begin(quota={"path": None}, vault=vault) for _ in range(2))
    let_through = [attempt(gateway, "slow") for gateway in (one, other, one, other, one)]
    assert [isinstance(each, openai.RateLimitError) for each in let_through] == [False, False, False, True, True]
    (tmp_path / "request.json").write_text(
        json.dumps({"model": "inside", "messages": [{"role": "user", "content": "Hello"}]})
    )
    for _ in range(2):
        words = ["explain", str(tmp_path / "request.json"), "--config", str(other.config), "--client"]
        assert main([*words, "slow", "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["refused"] == "rate_limit_exceeded"
        assert main([*words, "single", "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["refused"] is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"path": None}, "access.teams[0].limits: expected quota.path or vault.postgresql because limits are set"),
        (
            {"prices": {"currency": "EUR", "upstreams": {"chat": PRICE}}},
            "expected a price for every upstream, got none for sovereign-cloud",
        ),
        (
            {"prices": {"currency": "EUR", "upstreams": {"chat": PRICE, "x": PRICE}}},
            "got one for x, which is not an upstream",
        ),
        ({"prices": None, "default_limits": {"cost_per_day": 1}}, "expected quota.prices because cost is limited"),
        ({"default_limits": {"requests_per_minute": 0}}, "default_limits.requests_per_minute"),
    ],
)
def test_limits_that_could_not_be_held_are_refused(
    tmp_path: Path, write_config: Any, capfd: Any, changes: dict[str, Any], message: str
) -> None:
    config = write_config(tmp_path)
    settings = yaml.safe_load(config.read_text())
    settings["access"] = {"teams": [{"name": "cards", "tenant": "retail", "limits": {"requests_per_minute": 4}}]}
    settings["quota"] = {"path": str(tmp_path / "q.db"), **changes}
    config.write_text(yaml.safe_dump(settings))
    assert main(["check", "--config", str(config)]) == 3
    assert message in capfd.readouterr().err
