"""Credentials that ended, credentials of another kind, guesses, and what is shown without one."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from access_givens import entry
from admin_givens import ask
from hypothesis import given
from hypothesis import strategies as st
from loopback_ports import unused_port
from oidc_givens import AUDIENCE, ISSUER, jwks, token
from surface_givens import API_KEY
from waiting import until

from sovctl.gateway.access.failures import MAX_ADDRESSES, Failures, source_of
from sovctl.gateway.settings.access import FailureLimits

MONITOR, OPERATOR, RETAIL_OPERATOR = "test-key-of-the-monitoring", "test-key-of-operators", "test-key-of-retail"
OTHER = "test-key-of-another-tenant"


def provider(folder: Path, *kids: str, **changes: Any) -> dict[str, Any]:
    (folder / "jwks.json").write_bytes(jwks(*kids))
    grants = [{"group": "staff", "tenant": "retail"}]
    where = {"jwks_file": str(folder / "jwks.json"), "grants": grants}
    return {"name": "idp", "issuer": ISSUER, "audience": AUDIENCE, **where, **changes}


def models(gateway: Any, credential: str | None) -> tuple[int, Mapping[str, str], bytes]:
    headers = {} if credential is None else {"authorization": f"Bearer {credential}"}
    result: tuple[int, Mapping[str, str], bytes] = gateway.request("GET", "/v1/models", headers=headers)
    return result


def test_a_cached_token_ends_with_its_key(start: Callable[..., Any], tmp_path: Path) -> None:
    access = {"reload_every_s": 0.05, "identity_providers": [provider(tmp_path, "ec", "ed")]}
    gateway = start(access=access)
    held, other = token("ec"), token("ed")
    assert [models(gateway, each)[0] for each in (held, held, other)] == [200, 200, 200]
    (tmp_path / "jwks.json").write_bytes(jwks("ed", "next"))
    until(lambda: models(gateway, held)[0] == 401, "the token ends with its key")
    assert models(gateway, other)[0] == 200


def test_a_cached_token_ends_when_another_key_takes_its_name(start: Callable[..., Any], tmp_path: Path) -> None:
    gateway = start(access={"reload_every_s": 0.05, "identity_providers": [provider(tmp_path, "ec")]})
    held = token("ec")
    assert models(gateway, held)[0] == 200
    renamed = json.loads(jwks("next"))
    renamed["keys"][0]["kid"] = "ec"
    (tmp_path / "jwks.json").write_text(json.dumps(renamed))
    until(lambda: models(gateway, held)[0] == 401, "the token ends with its key")


def test_a_cached_token_ends_at_its_expiry(start: Callable[..., Any], tmp_path: Path) -> None:
    gateway = start(access={"identity_providers": [provider(tmp_path, "ec", leeway_s=0)]})
    held = token("ec", exp=int(time.time()) + 3)
    assert models(gateway, held)[0] == 200
    until(lambda: models(gateway, held)[0] == 401, "the token expires")


@pytest.mark.parametrize(
    ("typ", "types", "status"),
    [
        ("JWT", None, 200),
        ("at+jwt", None, 200),
        ("application/at+JWT", None, 200),
        ("logout+jwt", None, 401),
        ("dpop+jwt", None, 401),
        ("JWT", ["at+jwt"], 401),
        ("", None, 401),
        ("logout+jwt", ["logout+jwt"], 200),
    ],
)
def test_only_tokens_of_the_configured_type_are_accepted(
    start: Callable[..., Any], tmp_path: Path, typ: str, types: list[str] | None, status: int
) -> None:
    changes = {} if types is None else {"token_types": types}
    gateway = start(access={"identity_providers": [provider(tmp_path, "ec", **changes)]})
    assert models(gateway, token("ec", headers={"kid": "ec", "typ": typ}))[0] == status


@pytest.mark.parametrize("typ", ["ID", "Refresh", "Logout"])
def test_tokens_that_give_no_access_are_rejected(start: Callable[..., Any], tmp_path: Path, typ: str) -> None:
    gateway = start(access={"identity_providers": [provider(tmp_path, "ec")]})
    assert models(gateway, token("ec", typ=typ))[0] == 401
    assert models(gateway, token("ec", typ="Bearer"))[0] == 200


@pytest.mark.parametrize(
    ("credential", "status", "readiness"),
    [
        (None, 401, {"ready": True}),
        ("wrong", 401, {"ready": True}),
        (API_KEY, 403, {"ready": True}),
        (MONITOR, 200, {"ready": True, "wrong": {}}),
    ],
)
def test_metrics_and_components_are_shown_to_monitoring_only(
    gateway: Any, credential: str | None, status: int, readiness: dict[str, Any]
) -> None:
    headers = {} if credential is None else {"authorization": f"Bearer {credential}"}
    assert gateway.request("GET", "/metrics", headers=headers)[0] == status
    assert json.loads(gateway.request("GET", "/readyz", headers=headers)[2]) == readiness


def test_failed_components_are_in_the_log_and_not_in_the_answer(start: Callable[..., Any], tmp_path: Path) -> None:
    dead = f"https://127.0.0.1:{unused_port()}/v1"
    upstream = {"name": "gone", "kind": "pool", "base_urls": [dead], "model": "m"}
    gateway = start(upstreams=[upstream], routes=[{"model": "assistant", "pool": "gone"}])
    status, _, body = gateway.request("GET", "/readyz", headers={})
    assert (status, json.loads(body)) == (503, {"ready": False})
    assert "gone" in str(json.loads(gateway.request("GET", "/readyz")[2])["wrong"])
    assert re.search(r'"event": "readiness".*gone', gateway.log())


def test_guesses_are_throttled_and_a_right_key_is_served(start: Callable[..., Any]) -> None:
    gateway = start(access={"failures": {"per_minute": 5, "total_per_minute": 100}})
    assert [models(gateway, f"guess-{number}")[0] for number in range(7)] == [401] * 5 + [429] * 2
    status, headers, body = models(gateway, "guess")
    assert (status, json.loads(body)["error"]["code"]) == (429, "too_many_failures")
    assert 1 <= int(headers["retry-after"]) <= 60
    assert models(gateway, API_KEY)[0] == 200
    assert models(gateway, None)[0] == 429


def test_guesses_on_the_operators_listener_are_throttled(start: Callable[..., Any], tmp_path: Path) -> None:
    gateway = with_operators(start, tmp_path, failures={"per_minute": 3, "total_per_minute": 100})
    assert [ask(gateway, "GET", "/api/status", key="guess")[0] for _ in range(4)] == [401, 401, 401, 429]
    code, headers, _ = ask(gateway, "POST", "/login", form={"key": "guess"})
    assert code == 429
    assert headers["retry-after"]
    assert ask(gateway, "GET", "/api/status", key=OPERATOR)[0] == 200


@given(st.lists(st.tuples(st.integers(0, 2**128 - 1), st.floats(0, 120))))
def test_failures_need_bounded_memory_and_stay_within_their_limits(guesses: list[tuple[int, float]]) -> None:
    failures, limits, now_s, answered = Failures(), FailureLimits(per_minute=2, total_per_minute=6), 0.0, []
    for address, passed_s in guesses:
        now_s += passed_s
        text = str(ip_address(address))
        if failures.count(text, limits, now_s=now_s) is None:
            answered.append(now_s)
        assert sum(now_s - 60 < each for each in answered) <= 2 * 6  # the balance, and what came back within a minute
    assert len(failures._by_source) <= MAX_ADDRESSES


def test_an_attacker_with_many_addresses_uses_bounded_memory() -> None:
    failures, limits = Failures(), FailureLimits()
    for number in range(2 * MAX_ADDRESSES):
        failures.count(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", limits, now_s=0)
    assert len(failures._by_source) == MAX_ADDRESSES


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_an_ipv6_host_is_its_network(address: str, source: str) -> None:
    assert source_of(address) == source


def with_operators(start: Callable[..., Any], folder: Path, **access: Any) -> Any:
    clients = [
        entry("ops", OPERATOR, is_admin=True, admin_tenants=["*"]),
        entry("retail-ops", RETAIL_OPERATOR, is_admin=True),
        entry("branch", API_KEY, limits={"requests_per_minute": 1000}),
        {**entry("audit", OTHER, limits={"requests_per_minute": 1000}), "tenant": "group"},
    ]
    (folder / "clients.json").write_text(json.dumps(clients))
    return start(
        clients_file=str(folder / "clients.json"),
        access={"teams": [{"name": "group-team", "tenant": "group", "limits": {"tokens_per_day": 9}}], **access},
        quota={"path": str(folder / "quota.db")},
        admin={"port": unused_port()},
    )


def test_an_operator_sees_only_its_tenants(start: Callable[..., Any], tmp_path: Path) -> None:
    gateway = with_operators(start, tmp_path)
    for key in (API_KEY, OTHER):
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        body = {"model": "inside", "messages": [{"role": "user", "content": "Hello, how are you?"}]}
        assert gateway.request("POST", "/v1/chat/completions", json.dumps(body).encode(), headers)[0] == 200

    def status(key: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(ask(gateway, "GET", "/api/status", key=key)[2])
        return found

    def tenants(found: dict[str, Any]) -> set[str]:
        return {row["tenant"] for row in found["decisions"]}

    until(lambda: tenants(status(OPERATOR)) == {"retail", "group"}, "both decisions")
    own = status(RETAIL_OPERATOR)
    assert tenants(own) == {"retail"}
    assert {row["subject"] for row in own["budgets"]} == {"client:branch"}
    assert (own["figures"], own["findings"], own["refused"], own["upstreams"], own["wrong"]) == (None, {}, {}, [], {})
    page = ask(gateway, "GET", "/", key=RETAIL_OPERATOR)[2]
    assert "branch" in page
    assert "group" not in re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)


@pytest.mark.parametrize("action", ["reload", "drain", "resume"])
def test_an_operator_of_one_tenant_changes_nothing_that_concerns_all(
    start: Callable[..., Any], tmp_path: Path, action: str
) -> None:
    gateway = with_operators(start, tmp_path)
    assert ask(gateway, "POST", f"/actions/{action}", body={}, key=RETAIL_OPERATOR)[0] == 403
    assert not [record for record in gateway.records() if record["type"] == "gateway.admin"]
    assert ask(gateway, "POST", f"/actions/{action}", body={}, key=OPERATOR)[0] == 200
