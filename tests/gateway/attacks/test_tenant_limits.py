"""One tenant cannot take the resources of the others."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from access_givens import entry
from echo_upstream import EchoUpstream
from hypothesis import given
from hypothesis import strategies as st
from surface_givens import API_KEY
from waiting import until

from sovctl.gateway.quota.bytes_in_flight import BytesInFlight
from sovctl.gateway.vault.tenant_rows import TenantRows

OTHER_KEY = "test-key-of-another-tenant"


def send(gateway: Any, key: str, size: int) -> tuple[int, dict[str, str], dict[str, Any]]:
    body = {"model": "inside", "messages": [{"role": "user", "content": "a " * (size // 2)}]}
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    status, got, answer = gateway.request("POST", "/v1/chat/completions", json.dumps(body).encode(), headers)
    return status, got, json.loads(answer)


@pytest.mark.parametrize("second", [20_000, 2_000])
def test_a_tenant_with_too_many_bytes_in_flight_is_refused_and_others_are_served(
    start: Callable[..., Any], pool: EchoUpstream, second: int
) -> None:
    gateway = start(limits={"max_tenant_bytes_in_flight": 21_000})
    hold = pool.script.hold_answer = threading.Event()
    first = threading.Thread(target=send, args=(gateway, API_KEY, 20_000))
    first.start()
    try:
        until(lambda: pool.requests, "the first request")
        pool.script.hold_answer = None
        status, headers, answer = send(gateway, API_KEY, second)
        assert (status, answer["error"]["code"], headers["retry-after"]) == (429, "tenant_busy", "1")
        assert send(gateway, OTHER_KEY, second)[0] == 200
    finally:
        hold.set()
        first.join(60)
    until(lambda: send(gateway, API_KEY, second)[0] == 200, "the end of the first request")


def test_a_request_that_is_larger_alone_is_served(start: Callable[..., Any]) -> None:
    gateway = start(limits={"max_tenant_bytes_in_flight": 1024})
    assert [send(gateway, API_KEY, 20_000)[0] for _ in range(2)] == [200, 200]


def test_a_tenant_that_fills_the_vault_stays_on_prem_and_others_leave(
    start: Callable[..., Any], cloud: EchoUpstream, pool: EchoUpstream, tmp_path: Path
) -> None:
    clients = [entry("branch", API_KEY), {**entry("audit", OTHER_KEY), "tenant": "group"}]
    (tmp_path / "clients.json").write_text(json.dumps(clients))
    (tmp_path / "kek").write_text("ab" * 32)
    (tmp_path / "kek").chmod(0o600)
    vault = {"path": str(tmp_path / "vault.db"), "kek_file": str(tmp_path / "kek"), "max_rows_per_tenant": 2}
    gateway = start(vault=vault, clients_file=str(tmp_path / "clients.json"))

    def route(key: str, number: int) -> str:
        text = f"Please write to anna{number}@example.com about the loan."
        body = {"model": "assistant", "messages": [{"role": "user", "content": text}]}
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        status, got, answer = gateway.request("POST", "/v1/chat/completions", json.dumps(body).encode(), headers)
        assert (status, json.loads(answer)["choices"][0]["message"]["content"]) == (200, text)
        return str(got["x-sovctl-route"])

    assert [route(API_KEY, number) for number in range(4)] == ["cloud", "cloud", "pool", "pool"]
    assert route(API_KEY, 0) == "cloud"  # its values are stored already
    assert route(OTHER_KEY, 9) == "cloud"


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40))))
def test_a_tenant_gets_no_more_rows_than_its_limit_in_a_lifetime(steps: list[tuple[str, int]]) -> None:
    rows, now, written = TenantRows(limit=5, window_s=60), 1_795_262_400, []
    for tenant, passed_s in steps:
        now += passed_s
        if not rows.is_full(tenant, now):
            rows.add(tenant, now)
            written.append((tenant, now))
        assert sum(name == tenant and now - 60 < at for name, at in written) <= 5


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 50), st.booleans())))
def test_all_bytes_are_given_back(steps: list[tuple[str, int, bool]]) -> None:
    counted, held = BytesInFlight(), []
    for tenant, size, is_taking in steps:
        if is_taking:
            if counted.take(tenant, size, limit=60):
                held.append((tenant, size))
            own = [each for name, each in held if name == tenant]
            assert sum(own) <= max(60, *own, 0)
        elif held:
            counted.give_back(*held.pop(0))
    for each in held:
        counted.give_back(*each)
    assert counted._by_tenant == {}
