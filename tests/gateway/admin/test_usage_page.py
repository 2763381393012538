"""The page of usage and spend of a running gateway: sums of real answers, CSV, and only the operator's tenants."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from access_givens import entry
from admin_givens import ADMIN, CALLER, ask, begin
from waiting import until

NARROW, RETAIL, UNLIMITED = "test-key-of-group-operator", "test-key-of-retail-operator", "test-key-without-limits"


@pytest.fixture(scope="module")
def gateway(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("used")
    clients = [
        entry("ops", ADMIN, is_admin=True, admin_tenants=["*"]),
        entry("narrow", NARROW, tenant="group", is_admin=True),
        entry("retail-ops", RETAIL, is_admin=True),
        entry("branch", CALLER, team="cards", limits={"requests_per_minute": 1000, "tokens_per_day": 100_000}),
        entry("unlimited", UNLIMITED, tenant="group"),
    ]
    path = folder / "other-clients.json"
    path.write_text(json.dumps(clients))
    path.chmod(0o600)
    made = begin(start, folder, workers=2, clients_file=str(path))
    for key, model, stream in ((CALLER, "assistant", False), (CALLER, "assistant", True), (UNLIMITED, "inside", True)):
        messages = [{"role": "user", "content": "Hello and thank you"}]
        answer = made.client(key).chat.completions.create(model=model, messages=messages, stream=stream, max_tokens=9)
        assert not stream or [chunk.usage for chunk in answer if chunk.usage] == []
    return made


def usage(gateway: Any, key: str = ADMIN, query: str = "") -> dict[str, Any]:
    code, _, body = ask(gateway, "GET", f"/api/usage{query}", key=key)
    assert code == 200
    told: dict[str, Any] = json.loads(body)
    return told


def test_usage_is_summed_by_day_client_model_and_upstream(gateway: Any) -> None:
    told = until(lambda: (t := usage(gateway)) and sum(row["requests"] for row in t["table"]) == 3 and t, "all three")
    rows = {(row["tenant"], row["team"], row["client"], row["model"], row["upstream"]): row for row in told["table"]}
    cards = rows["retail", "cards", "client:branch", "assistant", "sovereign-cloud"]
    assert (cards["requests"], cards["unmeasured"], cards["prompt_tokens"], cards["completion_tokens"]) == (2, 0, 2, 4)
    assert cards["cost"] == pytest.approx(2 * 0.0001 + 4 * 0.001)
    alone = rows["group", "", "client:unlimited", "inside", "chat"]
    assert (alone["requests"], alone["prompt_tokens"], alone["completion_tokens"]) == (1, 1, 2)
    assert [(row["tenant"], row["team"]) for row in told["teams"]] == [("retail", "cards"), ("group", "")]
    month = usage(gateway, query="?by=month")
    assert {len(row["period"]) for row in month["table"]} == {7}
    budget = next(row for row in told["budgets"] if row["limit"] == "tokens_per_day")
    assert budget["remaining"] == budget["most"] - budget["used"]


def test_operators_see_the_usage_of_their_tenants_only(gateway: Any) -> None:
    until(lambda: sum(row["requests"] for row in usage(gateway)["table"]) == 3, "all three")
    for key, tenant in ((NARROW, "group"), (RETAIL, "retail")):
        told = usage(gateway, key)
        assert {row["tenant"] for row in told["table"]} == {tenant}
        assert {row["tenant"] for row in told["budgets"]} <= {tenant}
        for path in ("/usage", "/usage.csv", "/budgets.csv"):
            _, _, body = ask(gateway, "GET", path, key=key)
            assert ("client:branch" in body) == (tenant == "retail")
            assert ("client:unlimited" in body) == (tenant == "group" and path != "/budgets.csv")
    for path in ("/usage.csv", "/budgets.csv", "/api/usage"):
        assert ask(gateway, "GET", path)[0] == 401
        assert ask(gateway, "GET", path, key=CALLER)[0] == 401
    assert ask(gateway, "GET", "/usage")[0] == 303


def test_the_file_is_csv_with_a_name(gateway: Any) -> None:
    until(lambda: sum(row["requests"] for row in usage(gateway)["table"]) == 3, "all three")
    code, headers, body = ask(gateway, "GET", "/usage.csv?by=month", key=ADMIN)
    assert (code, headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert re.fullmatch(r'attachment; filename="usage-[0-9-]+-by-month\.csv"', headers["content-disposition"])
    rows = list(csv.DictReader(io.StringIO(body, newline="")))
    assert sum(int(row["requests"]) for row in rows) == 3
    assert {row["currency"] for row in rows} == {"EUR"}
    assert body.endswith("\r\n")


@pytest.mark.parametrize("query", ["?from=x", "?by=year", "?from=2020-01-01&to=2026-01-01"])
def test_an_invalid_span_is_refused(gateway: Any, query: str) -> None:
    assert ask(gateway, "GET", f"/usage{query}", key=ADMIN)[0] == 400


def test_the_page_is_plain_html_without_scripts_and_other_sources(gateway: Any) -> None:
    code, headers, page = ask(gateway, "GET", "/usage", key=ADMIN)
    assert code == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    markup = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    assert "<script" not in markup
    assert not re.search(r"\s(on[a-z]+|style)\s*=", markup)
    assert not re.search(r'(?:src|href|action)="(?:https?:)?//', markup)
    assert '<html lang="en">' in page
    assert page.count('<th scope="col"') >= 17
    for section in re.findall(r'<section aria-labelledby="([^"]+)"', page):
        assert f'id="{section}"' in page
    assert all("<label>" in part for part in re.findall(r"<label>[^<]*<(?:input|select)", page))
