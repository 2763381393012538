"""Plan of a site with retrieval: files, packages, changes by hand, removal and refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
import yaml
from planned_nodes import _HANDLES, _PUT, empty
from retrieval_site import retrieval_site

from sovctl.engine.apply.ansible import PACKAGE
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.facts.operating_system import OperatingSystem
from sovctl.engine.plan.build import changes, desired_on
from sovctl.engine.plan.support import refusals
from sovctl.engine.plan.unmanaged import commands
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.credential import credentials_on
from sovctl.engine.resources.gateway.service import configuration as gateway_configuration
from sovctl.engine.resources.perimeter import rules_for
from sovctl.engine.resources.resource import Desired
from sovctl.engine.resources.retrieval import service
from sovctl.engine.resources.retrieval.database import KIND, PROBE
from sovctl.engine.resources.retrieval.retrieval import RESOURCE_TYPE
from sovctl.engine.resources.software.package import needed
from sovctl.gateway.access.assertion import PrincipalSigner
from sovctl.gateway.retrieval.ingest.settings import load_settings
from sovctl.gateway.retrieval.settings import RetrievalSettings
from sovctl.gateway.settings.load import check_settings


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    made = retrieval_site(tmp_path_factory.mktemp("retrieval") / "site")
    made.credentials.ensure(made.context())
    return made.context()


def wanted(context: Context, node: str, facts: NodeFacts | None = None) -> dict[str, Desired]:
    return {each.name: each for each in RESOURCE_TYPE.expect(context, context.nodes[node], facts)}


def laid(context: Context, node: str) -> NodeFacts:
    """A node as planned."""
    facts = empty(node)
    for each in desired_on(context, context.nodes[node], facts):
        if each.kind in (KIND, "credential"):
            facts = _PUT[each.kind](facts, each, context.nodes[node])
    return facts


def changed(context: Context, facts: NodeFacts) -> dict[str, Any]:
    return {each.name: each.after for each in changes(context, {facts.node: facts}) if each.kind == KIND}


def test_one_node_has_database_and_service(context: Context) -> None:
    assert {name: list(wanted(context, name)) for name in context.nodes} == {
        "n1": [],
        "n2": [],
        "s1": ["database", "service"],
    }


def test_only_its_users_on_the_node_reach_the_database(context: Context) -> None:
    texts = {Path(each["path"]).name: each["text"] for each in wanted(context, "s1")["database"].variables["files"]}
    assert "listen_addresses = ''\n" in texts["postgresql.conf"]
    lines = {name: [row for row in text.splitlines() if not row.startswith("#")] for name, text in texts.items()}
    assert lines["pg_hba.conf"] == [
        "local sovctl_retrieval sovctl_retrieval peer map=sovctl",
        "local all postgres peer map=sovctl",
    ]
    assert lines["pg_ident.conf"] == [
        "sovctl postgres postgres",
        "sovctl root postgres",
        "sovctl sovctl-retrieval sovctl_retrieval",
    ]


@pytest.mark.parametrize(("version", "major"), [("12", 15), ("24.04", 16)])
def test_packages_are_those_of_the_operating_system(context: Context, version: str, major: int) -> None:
    system = replace(empty("s1").system, id="debian" if version == "12" else "ubuntu", version=version)
    facts = replace(empty("s1"), system=system)
    names = {each.name for each in needed(context, context.nodes["s1"], facts)}
    assert {f"postgresql-{major}", f"postgresql-{major}-pgvector"} <= names
    assert wanted(context, "s1", facts)["database"].variables["programs"] == f"/usr/lib/postgresql/{major}/bin"
    assert not [each for each in needed(context, context.nodes["n1"], facts) if each.name.startswith("postgresql")]


def test_apply_refuses_an_operating_system_without_packages(context: Context) -> None:
    system: OperatingSystem = replace(empty("s1").system, id="ubuntu", version="22.04")
    facts = replace(empty("s1"), system=system)
    assert [each.message for each in refusals(context, {"s1": facts}) if "retrieval" in each.message] == [
        "retrieval is not implemented for Ubuntu 22.04"
    ]
    assert wanted(context, "s1", facts) == {}


def test_a_node_as_planned_has_no_change_and_every_change_by_hand_is_one(context: Context) -> None:
    as_planned = laid(context, "s1")
    assert changed(context, as_planned) == {}
    for desired in wanted(context, "s1").values():
        found = list(_HANDLES[KIND](desired))
        assert {each.key for each in found} == set(desired.state or ())
        for handle in found:
            assert handle.key in changed(context, handle.change(as_planned))[desired.name], handle


@pytest.mark.parametrize("text", ["", "{}", "[1]", "psql: error: connection to server on socket failed"])
def test_a_database_that_does_not_answer_is_a_change(context: Context, text: str) -> None:
    facts = laid(context, "s1")
    silent = replace(facts, answers={**facts.answers, PROBE: {"exit_code": 2, "stdout": text, "stderr": ""}})
    keys = {"settings", "pgvector", "roles", "role_settings", "memberships", "tables_without_forced_rls"}
    assert keys <= set(changed(context, silent)["database"])


def test_units_are_removed_with_their_section_and_data_stay(context: Context) -> None:
    bare = replace(context, spec=context.spec.model_copy(update={"retrieval": None}))
    found = wanted(bare, "s1", laid(context, "s1"))
    assert list(found) == ["service", "database"], "the service stops before its database"
    assert [each.state for each in found.values()] == [None, None]
    units = {name: each.variables["units"] for name, each in found.items()}
    assert units == {"service": ["sovctl-retrieval.service"], "database": ["sovctl-retrieval-database.service"]}
    removed = [path for each in found.values() for path in each.variables["files"]]
    assert not [path for path in removed if not path.startswith("/etc/")]


def test_the_service_accepts_its_settings(context: Context) -> None:
    settings = RetrievalSettings.model_validate(service.configuration(context))
    assert (settings.embedding.dimensions, settings.gateways) == (128, ["s1"])
    assert settings.administrators == ["retrieval-admin"]


def test_the_gateway_accepts_its_settings_and_searches_the_service(context: Context) -> None:
    settings = check_settings(gateway_configuration(context) | {"clients_sha256": []}, Path("gateway.yaml"))
    assert settings.retrieval is not None
    assert str(settings.retrieval.url) == "https://10.77.0.21:8446/"
    assert [str(each) for each in settings.access.principal_key_files] == ["/etc/sovctl/secrets/principal.key"]


def test_only_gateways_and_administrators_reach_the_service(context: Context) -> None:
    def rules(context: Context) -> dict[str, list[str]]:
        found = {name: rules_for(context, node) for name, node in context.nodes.items()}
        return {
            name: [rule for rule in each.inbound if "8446" in rule or "8001" in rule] for name, each in found.items()
        }

    assert rules(context) == {
        "n1": [],
        "n2": ["ip saddr 10.77.0.21 tcp dport 8001 accept"],
        "s1": ["ip saddr 10.77.0.1 tcp dport 8446 accept"],
    }
    assert (
        "ip daddr 10.77.0.12 tcp dport 8001 meta skuid 960 accept" in rules_for(context, context.nodes["s1"]).outbound
    )
    elsewhere = context.retrieval.model_copy(update={"node": "n1", "administrators": [IPv4Network("10.77.0.9/32")]})
    moved = replace(context, spec=context.spec.model_copy(update={"retrieval": elsewhere}))
    assert rules(moved)["n1"] == [
        "ip saddr 10.77.0.21 tcp dport 8446 accept",
        "ip saddr 10.77.0.9 tcp dport 8446 accept",
    ]
    assert "ip daddr 10.77.0.11 tcp dport 8446 meta skuid 964 accept" in rules_for(moved, moved.nodes["s1"]).outbound


def test_the_service_verifies_principals_with_the_key_of_the_gateway(context: Context, tmp_path: Path) -> None:
    site = retrieval_site(tmp_path / "site")
    site.credentials.ensure(site.context())
    signer = PrincipalSigner.open([site.state.keys / "principal.key"], site="lab")
    assert json.loads((site.state.keys / "principal.jwks.json").read_text()) == signer.jwks
    files = {each.file: each for each in credentials_on(context, context.nodes["s1"])}
    assert (files["retrieval-claim.key"].mode, files["retrieval-claim.key"].uid) == ("0600", 960)
    assert not [each for each in credentials_on(context, context.nodes["n2"]) if "retrieval" in each.file]
    assert (site.state.pki / "retrieval-admin.pem").exists()


def test_root_of_the_node_can_ingest_and_no_service_can(context: Context, tmp_path: Path) -> None:
    path = tmp_path / "rag.yaml"
    texts = {each["path"]: each["text"] for each in wanted(context, "s1")["service"].variables["files"]}
    path.write_text(texts["/etc/sovctl/rag.yaml"])
    settings = load_settings(path)
    assert settings.service is not None
    files = {each.path: each for each in credentials_on(context, context.nodes["s1"])}
    for used in (settings.service.certificate, settings.service.key):
        assert (files[str(used)].mode, files[str(used)].uid) == ("0600", 0)
    assert str(settings.service.url) == "https://10.77.0.21:8446/"
    for name in ("n1", "n2"):
        assert not [each for each in credentials_on(context, context.nodes[name]) if "admin" in each.file]


def test_a_stale_certificate_of_the_administrator_is_renewed(tmp_path: Path) -> None:
    site = retrieval_site(tmp_path / "site")
    site.credentials.ensure(site.context())
    names = {"retrieval-admin.pem", "retrieval-admin.key"}
    assert {("s1", each) for each in names} <= set(site.credentials.fingerprints(site.context()))
    later = site.credentials.fingerprints(site.context(), now=datetime.now(UTC) + timedelta(days=3_000))
    assert not {("s1", each) for each in names} & set(later)


def test_apply_does_not_wait_for_a_pool_of_another_node() -> None:
    # The lab: the pool of n2 answered 5 minutes after the service of s1, in the same wave, and the apply failed.
    tasks = yaml.safe_load((PACKAGE / "roles" / "retrieval" / "tasks" / "service.yml").read_text())
    [url] = [each["ansible.builtin.uri"]["url"] for each in tasks if "ansible.builtin.uri" in each]
    assert url.endswith("/metrics"), "/health needs the pool (tests/gateway/retrieval/test_retrieval_service.py)"


def test_no_file_of_retrieval_is_unmanaged(context: Context) -> None:
    node = context.nodes["s1"]
    request = json.loads(commands(context, node, [RESOURCE_TYPE.query(context, node)])["unmanaged"][-1])
    for each in wanted(context, "s1").values():
        assert {file["path"] for file in each.variables["files"]} <= set(request["known"])
        assert f"{each.variables['unit']}.service" in request["units"]
    assert "/etc/sovctl-retrieval/roles.sql" in request["known"]
