"""A client that sends guesses learns as little as possible about who is listed, and is stopped."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from clients_digests import with_digests
from echo_upstream import EchoUpstream
from hypothesis import given
from hypothesis import strategies as st
from listed_givens import write_list
from loopback_gateway import KEY, LoopbackGateway, running_gateway, say, write_loopback_config

from sovctl.gateway.commands.main import main
from sovctl.gateway.policy.decision import COARSE, coarse
from sovctl.gateway.quota.listed_hits import MAX_SUBJECTS, WINDOW_S, ListedHits
from sovctl.gateway.telemetry.metrics import Metrics

ALERTS = Path(__file__).parents[3] / "templates" / "prometheus" / "gateway-alerts.yaml"
LISTED, UNKNOWN = "The loan that Solveig Haraldsdottir wanted is open.", "The loan that the customer wanted is open."
OPERATOR = "test-key-of-the-operator"


def configured(folder: Path, cloud_port: int, *, budget: int = 10_000, **changes: Any) -> Path:
    """A gateway with a list, whose route has a cloud and no pool."""
    source = write_list(folder / "list.csv", [{"given name": "Solveig", "surname": "Haraldsdottir"}])
    command = ["edm", "build", "--out", str(folder / "listed.edm"), "--key-file", str(folder / "edm.key"), str(source)]
    assert main(command) == 0
    clients = [
        {"name": name, "tenant": "retail", "key_sha256": hashlib.sha256(key.encode()).hexdigest(), **more}
        for name, key, more in (("prober", KEY, {"is_monitor": True}), ("ops", OPERATOR, {"is_admin": True}))
    ]
    config = write_loopback_config(folder, cloud_port=cloud_port)
    (folder / "clients.json").write_text(json.dumps(clients))
    settings = {
        "detect": {"exact_data_match": {"index_file": str(folder / "listed.edm"), "key_file": str(folder / "edm.key")}},
        "access": {"listed_hits_per_hour": budget},
        "routes": [{"model": "assistant", "cloud": "cloud"}],
        **changes,
    }
    config.write_text(yaml.safe_dump(with_digests({**yaml.safe_load(config.read_text()), **settings})))
    return config


def refusal(gateway: LoopbackGateway, text: str, key: str = KEY) -> tuple[int, dict[str, Any]]:
    status, _, body = gateway.post(say(text), headers={"authorization": f"Bearer {key}"})
    return status, json.loads(body).get("error", {})


@pytest.mark.parametrize("action", ["on-prem", "block"])
def test_a_refusal_names_no_type_to_a_client_and_all_reasons_to_an_operator(tmp_path: Path, action: str) -> None:
    policy = {"name_languages": ["en"], "entity_types": {"PERSON": action, "EMAIL": action}}
    with EchoUpstream() as cloud, running_gateway(configured(tmp_path, cloud.port, policy=policy)) as gateway:
        listed, other = refusal(gateway, LISTED), refusal(gateway, f"{UNKNOWN} Write to anna@example.com.")
        assert listed[0] == other[0] == 403
        assert listed[1]["sovctl"]["reasons"] == other[1]["sovctl"]["reasons"] == [COARSE]
        assert "PERSON" not in json.dumps(listed[1])
        assert any("PERSON" in reason for reason in refusal(gateway, LISTED, OPERATOR)[1]["sovctl"]["reasons"])
        records = [each for each in gateway.records() if each["type"] == "gateway.request"]
        assert any("PERSON" in reason for reason in records[0]["reasons"])
        assert not cloud.raw


def test_another_reason_hides_whether_a_name_is_listed(tmp_path: Path) -> None:
    policy = {"name_languages": ["de"], "entity_types": {"PERSON": "on-prem"}}
    with EchoUpstream() as cloud, running_gateway(configured(tmp_path, cloud.port, policy=policy)) as gateway:
        said = [refusal(gateway, text)[1]["sovctl"]["reasons"] for text in (LISTED, UNKNOWN)]
        assert said[0] == said[1] == ["language:en"]


def test_a_key_over_its_budget_is_refused_with_and_without_listed_names(tmp_path: Path) -> None:
    with EchoUpstream() as cloud, running_gateway(configured(tmp_path, cloud.port, budget=3)) as gateway:
        statuses = [refusal(gateway, f"{LISTED} {number}")[0] for number in range(5)]
        assert statuses[0] == 200
        assert statuses[-1] == 429
        reached = len(cloud.requests)
        status, error = refusal(gateway, UNKNOWN)
        assert (status, error["code"]) == (429, "listed_hits_exceeded")
        assert refusal(gateway, UNKNOWN, OPERATOR)[0] == 200
        assert len(cloud.requests) == reached + 1
        figures = gateway.get("/metrics")[1].decode()
        assert re.search(r'listed_hits_total\{outcome="over-budget"\} [1-9]', figures)
        assert "prober" not in figures
        assert re.search(
            r'"event": "listed names over budget", "client": "prober", "key_id": "[0-9a-f]{12}"', gateway.log()
        )
        refused = [each for each in gateway.records() if "listed_hits_exceeded" in (each.get("reasons") or [])]
        assert len(refused) == 1


def test_a_retry_after_is_within_the_hour(tmp_path: Path) -> None:
    with EchoUpstream() as cloud, running_gateway(configured(tmp_path, cloud.port, budget=1)) as gateway:
        for number in range(3):
            status, headers, _ = gateway.post(say(f"{LISTED} {number}"))
        assert status == 429
        assert 0 < int(headers["retry-after"]) <= WINDOW_S
        assert headers["x-should-retry"] == "false"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9), st.floats(0, 2000))))
def test_no_key_gets_more_than_its_budget_in_an_hour(requests: list[tuple[str, int, float]]) -> None:
    hits, now_s, served = ListedHits(), 0.0, []
    for subject, count, passed_s in requests:
        now_s += passed_s
        if hits.retry_after_s(subject, now_s=now_s) is None and not hits.count(subject, count, limit=20, now_s=now_s):
            served.append((subject, count, now_s))
    for subject in "abc":
        own = [(count, at_s) for each, count, at_s in served if each == subject]
        for _, end_s in own:  # two windows may touch any hour
            assert sum(count for count, at_s in own if end_s - WINDOW_S < at_s <= end_s) <= 2 * 20


def test_many_keys_need_bounded_memory() -> None:
    hits = ListedHits()
    for number in range(2 * MAX_SUBJECTS):
        hits.count(f"client:{number}", 1, limit=1, now_s=0)
    assert len(hits._windows) == MAX_SUBJECTS


_REASONS = st.lists(
    st.sampled_from(["no-cloud", "language:de", "obstacle:image", "vault-failed"])
    | st.sampled_from(["entity-type-blocked:PERSON", "entity-type-on-prem:IBAN", "tokenized:PERSON", "clean"])
    | st.sampled_from(["outgoing-scan:EMAIL", "obstacle:key", "obstacle-blocked:number", "masked:TAX_ID/DE_TAX_ID"])
)


@given(_REASONS, _REASONS)
def test_coarse_reasons_do_not_depend_on_findings(reasons: Sequence[str], others: Sequence[str]) -> None:
    independent = [each for each in reasons if coarse([each]) != [COARSE]]
    assert coarse(reasons) == (independent or ([COARSE] if reasons else []))
    of_findings = [each for each in others if coarse([each]) == [COARSE]]
    if independent:
        assert coarse([*independent, *of_findings]) == independent


def test_alert_rules_use_metrics_that_exist() -> None:
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    names = {f"sovctl_gateway_{family.name}" for family in vars(Metrics()).values() if hasattr(family, "name")}
    expected: Callable[[str], list[str]] = re.compile(r"sovctl_gateway_\w+").findall
    assert len(rules) >= 3
    for rule in rules:
        assert set(expected(rule["expr"])) <= names, rule["alert"]
