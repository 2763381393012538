"""Every alert fires in its case and is silent in the other one, as judged by promtool on the rules of a real site."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import AnyHttpUrl
from strategies import EXAMPLES

from sovctl.engine.monitoring.objectives import SERVER_ERRORS
from sovctl.engine.monitoring.rule import RUNBOOK, Alert, Severity
from sovctl.engine.monitoring.rules import rule_groups, rules_yaml
from sovctl.engine.spec import SiteSpec
from sovctl.engine.spec.monitoring import AlertReceiver, AlertWebhook, Monitoring, MonitoringServer, PoolObjectives
from sovctl.engine.spec.verify import LimitWaiver, Verify
from sovctl.engine.validation.load import load
from sovctl.gateway.domain.errors import Code, status_and_message

ROOT = Path(__file__).parents[3]
CASES = {
    name: case
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for name, case in yaml.safe_load(path.read_text()).items()
}
WAIVERS = [
    LimitWaiver(
        limit=limit,
        reason="a looser limit of a test",
        requested_by="one person",
        approved_by="another person",
        reference="T-1",
        expires=day,
    )
    for limit, day in (("disk.free-space.least", "1970-01-05"), ("certificate.min-days", "1970-01-15"))
]


@pytest.fixture(scope="module")
def spec() -> SiteSpec:
    receiver = AlertReceiver(name="incidents", webhook=AlertWebhook(url=AnyHttpUrl("https://10.77.0.1/")))
    server = MonitoringServer(node="s1", receivers=[receiver])
    monitoring = Monitoring(pools=[PoolObjectives(pool="chat")], server=server)
    site = load(EXAMPLES / "lab" / "site.yaml").spec
    assert site.gateway is not None
    limits = site.gateway.limits.model_copy(update={"max_concurrent_requests": 8, "queue_timeout_s": 60})
    gateway = site.gateway.model_copy(update={"limits": limits})
    return site.model_copy(update={"monitoring": monitoring, "verify": Verify(waivers=WAIVERS), "gateway": gateway})


@pytest.fixture(scope="module")
def rule_path(spec: SiteSpec, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "rules.yaml"
    path.write_text(rules_yaml(spec))
    return path


def _alerts(spec: SiteSpec) -> list[Alert]:
    return [alert for group in rule_groups(spec) for alert in group.alerts]


def _promtool(*arguments: str | Path) -> None:
    ended = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_promtool_finds_no_fault(rule_path: Path) -> None:
    _promtool("check", "rules", "--lint=all", "--lint-fatal", rule_path)


def _unit_test(name: str, case: dict[str, Any], *, is_firing: bool) -> dict[str, Any]:
    labels = {"alertname": name.split()[0], "alertstate": "firing", **case.get("labels", {})}
    matchers = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return {
        "interval": "1m",
        "input_series": [{"series": each, "values": str(values)} for each, values in case["series"].items()],
        "promql_expr_test": [
            {
                "expr": f"count(ALERTS{{{matchers}}})",
                "eval_time": case["at"],
                "exp_samples": [{"labels": "{}", "value": 1}] if is_firing else [],
            }
        ],
    }


@pytest.mark.parametrize("name", CASES)
def test_fires_in_one_case_and_is_silent_in_the_other(name: str, rule_path: Path, tmp_path: Path) -> None:
    tests = [_unit_test(name, CASES[name][word], is_firing=word == "fires") for word in CASES[name]]
    file = tmp_path / "test.yaml"
    file.write_text(
        yaml.safe_dump({"rule_files": [str(rule_path)], "evaluation_interval": "1m", "tests": tests}, sort_keys=False)
    )
    _promtool("test", "rules", file)


def test_every_alert_has_both_cases(spec: SiteSpec) -> None:
    assert {alert.name for alert in _alerts(spec)} == {name.split()[0] for name in CASES}
    assert {name for name, case in CASES.items() if set(case) != {"fires", "silent"}} == {"SovctlHeartbeat"}


def test_every_alert_has_a_section_in_the_runbook(spec: SiteSpec) -> None:
    headings = set(re.findall(r"^## (\w+)$", (ROOT / RUNBOOK).read_text(), re.MULTILINE))
    assert headings == {alert.name for alert in _alerts(spec)}


def test_every_alert_names_its_place(spec: SiteSpec) -> None:
    """Alerts without a node or a pool in their summary are those of the whole site."""
    placeless = {
        alert.name for alert in _alerts(spec) if not re.search(r"labels\.(node|pool)|(node|pool) ", alert.summary)
    }
    assert placeless == {"SovctlApprovalExpiring", "SovctlHeartbeat", "SovctlNotificationsFailing"}
    assert {alert.name for alert in _alerts(spec) if alert.severity is Severity.NONE} == {"SovctlHeartbeat"}


def test_server_errors_are_the_gateways_codes_from_500() -> None:
    assert set(SERVER_ERRORS) == {code.value for code in Code if status_and_message(code)[0] >= 500}
