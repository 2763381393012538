"""Every expression of rules and dashboards is valid PromQL, and every metric in it is one that a program exports."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from loopback_ports import unused_port
from monitored_site import monitored_values
from typer.testing import CliRunner

from sovctl.cli.main import app
from sovctl.engine.catalog.engines import ENGINES
from sovctl.engine.monitoring import metrics
from sovctl.engine.monitoring.dashboards import Dashboard, dashboard_json, dashboards
from sovctl.engine.monitoring.rules import rule_groups
from sovctl.engine.resources.context import ROLES
from sovctl.engine.resources.monitoring.services import COLLECTORS
from sovctl.engine.spec import SiteSpec
from sovctl.engine.validation.load import load
from sovctl.gateway.telemetry.metrics import Metrics
from sovctl.gateway.telemetry.metrics.table import PREFIX

WORDS = {"and", "or", "unless", "on", "by", "bool", "ignoring", "without", "offset"}
EXPORTER = "/usr/bin/prometheus-node-exporter"


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> SiteSpec:
    folder = tmp_path_factory.mktemp("site")
    (folder / "site.yaml").write_text(yaml.safe_dump(monitored_values()))
    return load(folder / "site.yaml").spec


def queries(found: tuple[Dashboard, ...]) -> Iterator[str]:
    return (query for each in found for panel in each.panels for query, _ in panel.queries)


def names_in(expression: str) -> set[str]:
    """Names of series: words that are neither functions, labels, operators nor parts of strings."""
    bare = re.sub(r'"[^"]*"', "", expression)
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", bare)
    bare = re.sub(r"\b(?:by|on|ignoring|without)\s*\([^)]*\)", "", bare)
    return set(re.findall(r"(?<![\w:.])[a-zA-Z_:][\w:]*(?!\s*\()(?![\w:])", bare)) - WORDS


def test_names_are_read_from_an_expression() -> None:
    found = 'sum by (le, node) (rate(a:b_total{job="x y"}[5m])) > on (pool) 2 * c and d unless time() - e > 1e9'
    assert names_in(found) == {"a:b_total", "c", "d", "e"}


def test_every_metric_of_rules_and_dashboards_is_exported(spec: SiteSpec) -> None:
    known = metrics.known_metrics(spec, ENGINES[spec.software.engine])
    expressions = [rule.expr for group in rule_groups(spec) for rule in group.rules] + list(queries(dashboards(spec)))
    assert len(expressions) > 80
    unknown = {name: each for each in expressions for name in names_in(each) - known}
    assert unknown == {}


def test_promtool_parses_every_expression(spec: SiteSpec, tmp_path: Path) -> None:
    rules = [{"record": f"a:{number}", "expr": each} for number, each in enumerate(queries(dashboards(spec)))]
    path = tmp_path / "rules.yaml"
    path.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_gateway_exports_the_metrics_of_the_table() -> None:
    names = {PREFIX + family.name for family in vars(Metrics()).values() if hasattr(family, "name")}
    assert names >= metrics.GATEWAY | metrics.GATEWAY_HISTOGRAMS


def test_the_program_of_facts_writes_the_metrics_of_the_table() -> None:
    assert set(runpy.run_path(str(ROLES / "monitoring/files/metrics"))["METRICS"]) == metrics.FACTS


def test_the_node_exporter_exports_the_metrics_of_the_table(tmp_path: Path) -> None:
    """The real program with the collectors of the site. Names of InfiniBand are texts of the program: no adapter."""
    (tmp_path / "a.prom").write_text("a 1\n")
    address = f"127.0.0.1:{unused_port()}"
    command = [EXPORTER, f"--web.listen-address={address}", "--collector.disable-defaults"]
    command += [f"--collector.{name}" for name in COLLECTORS]
    with subprocess.Popen(
        [*command, f"--collector.textfile.directory={tmp_path}"], stderr=subprocess.DEVNULL
    ) as process:
        try:
            text = _read(f"http://{address}/metrics")
        finally:
            process.terminate()
    assert set(re.findall(r"^(\w+)", text, re.MULTILINE)) >= metrics.NODE
    program = Path(EXPORTER).read_bytes()
    for name in metrics.INFINIBAND:
        assert name.removeprefix("node_infiniband_").encode() in program, name


def _read(url: str) -> str:
    until = time.monotonic() + 20
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return str(answer.read().decode())
        except urllib.error.URLError:
            assert time.monotonic() < until
            time.sleep(0.1)


def test_a_dashboard_has_the_form_of_grafana(spec: SiteSpec) -> None:
    found = dashboards(spec)
    assert [each.name for each in found] == ["site", "pools", "gpus-fabric", "gateway"]
    for each in found:
        made = json.loads(json.dumps(dashboard_json(each, "lab")))
        assert made["uid"] == f"sovctl-{each.name}"
        assert made["schemaVersion"] == 39
        assert made["templating"]["list"][0]["type"] == "datasource"
        assert [panel["id"] for panel in made["panels"]] == list(range(1, len(each.panels) + 1))
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in made["panels"]]
        assert len(set(places)) == len(places)
        variables = {entry["name"] for entry in made["templating"]["list"]}
        used = set(re.findall(r"\$(\w+)", " ".join(queries((each,)))))
        assert used <= variables
        assert all(target["datasource"]["uid"] == "${datasource}" for p in made["panels"] for target in p["targets"])


def test_a_site_without_approvals_and_gateway_has_no_panels_of_them(spec: SiteSpec) -> None:
    perimeter = spec.perimeter.model_copy(update={"exceptions": []})
    bare = spec.model_copy(update={"gateway": None, "perimeter": perimeter})
    found = dashboards(bare)
    assert [each.name for each in found] == ["site", "pools", "gpus-fabric"]
    full = dashboards(spec.model_copy(update={"perimeter": perimeter}))
    assert "Days until approvals expire" not in {panel.title for panel in full[-1].panels}


def test_a_gateway_with_a_queue_has_panels_and_the_alert_of_it(spec: SiteSpec) -> None:
    assert spec.gateway is not None
    limits = spec.gateway.limits.model_copy(update={"max_concurrent_requests": 8})
    with_queue = spec.model_copy(update={"gateway": spec.gateway.model_copy(update={"limits": limits})})

    def parts(site: SiteSpec) -> tuple[set[str], set[str]]:
        names = {alert.name for group in rule_groups(site) for alert in group.alerts}
        return {panel.title for panel in dashboards(site)[-1].panels}, names

    (panels, alerts), (more_panels, more_alerts) = parts(spec), parts(with_queue)
    assert len(more_panels - panels) == 4
    assert not panels - more_panels
    assert more_alerts - alerts == {"SovctlTenantWaits"}
    known = metrics.known_metrics(with_queue, ENGINES[spec.software.engine])
    assert [each for each in queries(dashboards(with_queue)) if names_in(each) - known] == []


def test_the_command_writes_the_files(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(monitored_values()))
    done = CliRunner().invoke(
        app, ["monitoring", "dashboards", str(tmp_path / "site.yaml"), "--to", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["gateway.json", "gpus-fabric.json", "pools.json", "site.json"]
    assert json.loads((tmp_path / "out/pools.json").read_text())["title"] == "lab: Pools"
