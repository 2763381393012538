"""Plan of a site with Prometheus and Alertmanager: files, firewall, credentials, changes by hand, and refusals."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from example_sites import all_roles
from monitored_site import monitored_site, monitored_values
from planned_nodes import _HANDLES, _PUT, empty

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.build import changes, desired_on
from sovctl.engine.plan.unmanaged import commands
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.credential import credentials_on
from sovctl.engine.resources.monitoring.monitoring import KIND, RESOURCE_TYPE
from sovctl.engine.resources.monitoring.services import services_on
from sovctl.engine.resources.perimeter import rules_for
from sovctl.engine.resources.resource import Desired
from sovctl.engine.resources.software.package import needed
from sovctl.engine.site.site import Site
from sovctl.engine.spec import SiteSpec
from sovctl.engine.validation.load import load, references
from sovctl.support.errors import SpecError

CHECKS = {"node-exporter": "/usr/bin/promtool check web-config %s", "facts": "/usr/bin/python3 -m json.tool %s"}
"""Of services without a check on the node."""
GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    made = monitored_site(tmp_path_factory.mktemp("monitored") / "site")
    made.credentials.ensure(made.context())
    return made


@pytest.fixture(scope="module")
def context(site: Site) -> Context:
    return site.context()


def wanted(context: Context, node: str, facts: NodeFacts | None = None) -> dict[str, Desired]:
    found = RESOURCE_TYPE.expect(context, context.nodes[node], facts)
    return {each.name: each for each in found}


def configuration(context: Context) -> dict[str, str]:
    """Texts of all files of the server and of a node with GPUs by name."""
    services = [each for node in ("n1", "s1") for each in services_on(context, context.nodes[node])]
    return {Path(file.path).name: file.text for each in services for file in each.files}


def test_every_node_has_an_exporter_and_one_has_the_server(context: Context) -> None:
    assert {name: list(wanted(context, name)) for name in context.nodes} == {
        "n1": ["facts", "node-exporter", "dcgm-exporter"],
        "n2": ["facts", "node-exporter", "dcgm-exporter"],
        "s1": ["facts", "node-exporter", "alertmanager", "prometheus"],
    }


@pytest.mark.parametrize(
    "name", ["prometheus.yaml", "alertmanager.yaml", "node-exporter.yaml", "dcgm-exporter.yaml", "dcgm-counters.csv"]
)
def test_files_are_as_recorded(context: Context, name: str) -> None:
    assert configuration(context)[name] == (GOLDEN / name).read_text()


def test_commands_limit_storage_and_listen_on_the_node_only(context: Context) -> None:
    found = {name: each.variables["command"] for name, each in wanted(context, "s1").items()}
    assert "--storage.tsdb.retention.time=30d --storage.tsdb.retention.size=20GiB" in found["prometheus"]
    assert "--web.listen-address=127.0.0.1:9090" in found["prometheus"]
    assert "--web.listen-address=127.0.0.1:9093 --cluster.listen-address=" in found["alertmanager"]
    assert "--web.listen-address=10.77.0.21:9100 --web.config.file=" in found["node-exporter"]


def test_the_programs_accept_the_files(context: Context, site: Site, tmp_path: Path) -> None:
    """As the role runs them, below another folder: with certificates, keys and rules."""
    for credential in credentials_on(context, context.nodes["s1"]):
        path = tmp_path / credential.path.removeprefix("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(site.credentials.file(context.nodes["s1"], credential.file).read_bytes())
    for service in services_on(context, context.nodes["s1"]):
        for file in service.files:
            path = tmp_path / file.path.removeprefix("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text.replace("/etc/sovctl/", f"{tmp_path}/etc/sovctl/"))
            check = file.check or CHECKS[service.name]
            done = subprocess.run(check.replace("%s", str(path)).split(), capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr


def test_the_exporter_of_gpus_is_of_the_driver_lock_and_reads_the_host_engine(context: Context) -> None:
    exporter = wanted(context, "n1")["dcgm-exporter"]
    command = str(exporter.variables["command"])
    assert "--remote-hostengine-info=127.0.0.1:5555 --address=10.77.0.11:9400" in command
    assert exporter.variables["package_unit"] == "nvidia-dcgm-exporter"
    found = {each.name: each for each in needed(context, context.nodes["n1"], empty("n1"))}
    package = found["datacenter-gpu-manager-exporter"]
    assert package.state == {"version": f"{context.lock.values['dcgm_exporter']}-1", "is_held": True}
    plain = replace(context, spec=context.spec.model_copy(update={"monitoring": None}))
    assert package.name not in {each.name for each in needed(plain, context.nodes["n1"], empty("n1"))}


def test_only_the_scraper_reaches_the_exporters(context: Context) -> None:
    rules = {name: rules_for(context, node) for name, node in context.nodes.items()}
    assert "ip saddr 10.77.0.21 tcp dport 9100 accept" in rules["n1"].inbound
    assert not [rule for rule in rules["s1"].inbound if "9100" in rule or "909" in rule]
    assert [rule for rule in rules["s1"].outbound if "skuid 961" in rule] == [
        "ip daddr 10.77.0.11 tcp dport 9100 meta skuid 961 accept",
        "ip daddr 10.77.0.11 tcp dport 9400 meta skuid 961 accept",
        "ip daddr 10.77.0.11 tcp dport 8000 meta skuid 961 accept",
        "ip daddr 10.77.0.12 tcp dport 9100 meta skuid 961 accept",
        "ip daddr 10.77.0.12 tcp dport 9400 meta skuid 961 accept",
        "ip daddr 10.77.0.1 tcp dport 9443 meta skuid 961 accept",
        "ip daddr 10.77.0.2 tcp dport 587 meta skuid 961 accept",
    ]
    assert not [rule for name in ("n1", "n2") for rule in rules[name].outbound if "skuid 961" in rule]


def test_secrets_are_files_that_only_their_service_reads(context: Context, site: Site) -> None:
    secrets = {each.file: each for each in credentials_on(context, context.nodes["s1"]) if each.uid == 961}
    assert list(secrets) == ["monitoring-gateway.key", "receiver-incidents.secret", "receiver-team.secret"]
    assert {each.mode for each in secrets.values()} == {"0600"}
    assert not [each for each in credentials_on(context, context.nodes["n1"]) if each.uid]
    texts = str(all_roles(site))
    for reference in references(site.spec):
        if reference.is_secret:
            assert (site.folder / str(reference.file)).read_text().strip() not in texts


def laid(context: Context, node: str) -> NodeFacts:
    """A node as planned."""
    facts = empty(node)
    for each in desired_on(context, context.nodes[node], facts):
        if each.kind in (KIND, "credential"):
            facts = _PUT[each.kind](facts, each, context.nodes[node])
    return facts


@pytest.mark.parametrize("node", ["n1", "s1"])
def test_a_node_as_planned_has_no_change_and_every_change_by_hand_is_one(context: Context, node: str) -> None:
    def changed(facts: NodeFacts) -> dict[str, Any]:
        return {each.name: each.after for each in changes(context, {node: facts}) if each.kind == KIND}

    as_planned = laid(context, node)
    assert changed(as_planned) == {}
    for desired in wanted(context, node).values():
        for handle in _HANDLES[KIND](desired):
            after = changed(handle.change(as_planned))
            assert handle.key in after[desired.name], handle


def test_services_are_removed_with_their_section(context: Context) -> None:
    spec = context.spec.model_copy(update={"monitoring": None})
    found = wanted(replace(context, spec=spec), "s1", laid(context, "s1"))
    assert set(found) == {"alertmanager", "facts", "node-exporter", "prometheus"}
    assert found["facts"].variables["files"] == [
        "/etc/sovctl/monitoring/facts.json",
        "/var/lib/sovctl/metrics/sovctl.prom",
        "/usr/local/lib/sovctl/metrics",
        "/etc/systemd/system/sovctl-monitoring-facts.service",
    ]
    assert all(each.state is None for each in found.values())
    assert found["prometheus"].variables["units"] == ["sovctl-monitoring-prometheus.service"]


def test_no_file_of_monitoring_is_unmanaged(context: Context) -> None:
    node = context.nodes["s1"]
    query = RESOURCE_TYPE.query(context, node)
    request = json.loads(commands(context, node, [query])["unmanaged"][-1])
    for each in wanted(context, "s1").values():
        written = {f"/etc/systemd/system/{each.variables['unit']}.service"}
        written |= {file["path"] for file in each.variables["files"]}
        assert written <= set(request["known"])
        assert f"{each.variables['unit']}.service" in request["units"]
    assert "/usr/local/lib/sovctl/metrics" in request["known"]


def test_a_section_of_rules_alone_installs_nothing(context: Context) -> None:
    assert context.spec.monitoring is not None
    monitoring = context.spec.monitoring.model_copy(update={"server": None})
    bare = replace(context, spec=context.spec.model_copy(update={"monitoring": monitoring}))
    assert wanted(bare, "s1") == {}
    assert credentials_on(bare, bare.nodes["n2"]) == []


def _server(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda values: change(values["monitoring"]["server"])


def _mail(**fields: Any) -> Callable[[dict[str, Any]], object]:
    return _server(lambda server: server["receivers"][1]["mail"].update(fields))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (_server(lambda server: server.update(node="s9")), "monitoring.server.node"),
        (_server(lambda server: server.pop("gateway_client")), "monitoring.server.gateway_client"),
        (_server(lambda server: server.update(gateway_client="other")), "monitoring.server.gateway_client"),
        (_server(lambda server: server.update(gateway_client="branch-app")), "monitoring.server.gateway_client"),
        (lambda values: values["gateway"].update(admin={}), "gateway.admin"),
        (_server(lambda server: server.update(receivers=[])), "monitoring.server.receivers"),
        (_server(lambda server: server["receivers"][1].update(name="incidents")), "receivers[1].name"),
        (_server(lambda server: server["receivers"][1].pop("mail")), "receivers[1]"),
        (
            _server(lambda server: server["receivers"][0]["webhook"].update(url="http://10.77.0.1/")),
            "receivers[0].webhook.url",
        ),
        (
            _server(lambda server: server["receivers"][0]["webhook"].update(url="https://192.0.2.300/")),
            "receivers[0].webhook.url",
        ),
        (_mail(relay="8.8.8.8"), "receivers[1].mail.relay"),
        (_mail(user=None), "receivers[1].mail"),
        (_mail(password={"file": "a", "env": "B"}), "receivers[1].mail.password"),
    ],
)
def test_a_server_that_cannot_work_is_refused(
    change: Callable[[dict[str, Any]], object], where: str, tmp_path: Path
) -> None:
    values = monitored_values()
    change(values)
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(values))
    with pytest.raises(SpecError) as caught:
        load(tmp_path / "site.yaml")
    assert any(where in str(each) for each in caught.value.problems), caught.value.problems


def test_metrics_of_the_admin_surface_need_no_key(tmp_path: Path) -> None:
    values = monitored_values()
    values["gateway"]["admin"] = {"reach": "management"}
    del values["monitoring"]["server"]["gateway_client"]
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(values))
    spec: SiteSpec = load(tmp_path / "site.yaml").spec
    assert spec.monitoring is not None
    site = Site.open(tmp_path / "site.yaml", touches_nodes=False)
    [job] = [
        each
        for each in yaml.safe_load(configuration(site.context())["prometheus.yaml"])["scrape_configs"]
        if each["job_name"] == "sovctl-gateways"
    ]
    assert "authorization" not in job
    assert job["static_configs"] == [{"targets": ["10.77.0.21:9443"], "labels": {"node": "s1"}}]
