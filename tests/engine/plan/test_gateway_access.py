"""Who may call, from site.yaml to the gateway: what is rendered is what it reads, and the wall opens for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from planned_nodes import OTHER_SHA256, planned, with_file
from strategies import EXAMPLES, TODAY, context

from sovctl.engine.catalog import load_catalog
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.build import changes, context_of
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.credential import credentials_on
from sovctl.engine.resources.gateway.access import LOCAL_CLIENTS_DIGEST, client_entry
from sovctl.engine.resources.gateway.service import LOCAL_CLIENTS, configuration
from sovctl.engine.resources.perimeter import rules_for
from sovctl.engine.spec.gateway.access import Admin
from sovctl.engine.spec.service_accounts import GATEWAY_UID
from sovctl.engine.validation.load import parse
from sovctl.engine.validation.presets import FOLDER
from sovctl.gateway.access.clients import check_clients, load_clients
from sovctl.gateway.settings import load_settings

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/spec/access.yaml").read_text())
KEY = "0" * 64


@pytest.fixture(scope="module")
def site() -> Context:
    """The lab, with everything about callers that site.yaml can say."""
    text = (FOLDER / "lab.yaml").read_text()
    for old, new in CASES["all of it at once, and well"]["replace"]:
        text = text.replace(old, new)
    return context_of(
        parse(text.encode(), path=Path("site.yaml"), today=TODAY, catalog=load_catalog()).spec, EXAMPLES / "lab"
    )


def test_the_gateway_reads_what_site_yaml_says(site: Context, tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text(yaml.safe_dump(configuration(site), sort_keys=False))
    read = load_settings(path)
    (team,) = read.access.teams
    assert (team.name, team.tenant, team.routes, team.limits.tokens_per_day) == (
        "cards",
        "retail",
        ["assistant"],
        1_000_000,
    )
    (issuer,) = read.access.identity_providers
    assert (issuer.name, str(issuer.jwks_url)) == ("staff", "https://10.77.0.20/realms/staff/certs")
    assert issuer.grants[0].team == "cards"
    assert (read.access.failures.per_minute, read.access.failures.total_per_minute) == (5, 200)
    assert [each.listed_hits_per_hour for each in (read.access, team, issuer.grants[0])] == [500, 100, 20]
    assert read.limits.max_tenant_bytes_in_flight == 1 << 20
    assert read.vault.max_rows_per_tenant == 5000
    assert read.quota.default_limits.concurrent_requests == 8
    assert read.quota.prices is not None
    assert read.quota.prices.upstreams["sovereign-cloud"].output_price_per_million == 15
    assert read.upstream("chat").send_principal
    assert not read.upstream("sovereign-cloud").send_principal
    assert read.listen.client_ca_file is not None
    assert read.admin is not None
    assert (read.admin.host, read.admin.port, read.admin.requires_client_certificate) == ("0.0.0.0", 9443, True)
    assert read.admin.certificate_file is not None


def test_the_gateway_reads_the_clients_that_site_yaml_names(site: Context, tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text(yaml.safe_dump(configuration(site), sort_keys=False))
    settings = load_settings(path)
    clients_file = tmp_path / "clients.json"
    clients_file.write_text(json.dumps([client_entry(client, KEY) for client in site.gateway.clients]))
    (client,) = load_clients(clients_file)
    check_clients([client], settings, where="x")
    assert client.all_keys[0].expires_at is not None
    assert client.all_keys[0].expires_at.isoformat() == "2027-11-21T23:59:59+00:00"
    assert (client.team, client.groups, client.certificates) == ("cards", ["staff"], ["dns:branch.bank.example"])
    assert (client.may_restore, client.is_admin, client.limits.cost_per_day) == (False, True, 2.5)


def test_the_gateway_s_node_holds_what_its_settings_name_and_no_other_does(site: Context) -> None:
    rendered = json.dumps(configuration(site))
    for _, node in site.spec.nodes():
        held = {each.path for each in credentials_on(site, node)}
        named = {
            path for path in ("/etc/sovctl/tls/clients-ca.pem", "/etc/sovctl/secrets/principal.key") if path in held
        }
        assert len(named) == (2 if site.is_gateway(node) else 0)
        assert all(path in rendered for path in named)


def test_the_wall_opens_for_the_gateway_towards_its_identity_provider_alone(site: Context) -> None:
    wanted = f"ip daddr 10.77.0.20 tcp dport 443 meta skuid {GATEWAY_UID} accept"
    for _, node in site.spec.nodes():
        assert (wanted in rules_for(site, node).outbound) == site.is_gateway(node)


def test_operators_are_reached_from_the_management_network_or_from_the_node_itself(site: Context) -> None:
    def opened(context: Context) -> list[str]:
        [node] = context.gateway_nodes
        return [rule for rule in rules_for(context, node).inbound if "dport 9443" in rule]

    assert opened(site) == ["ip saddr 10.77.0.1 tcp dport 9443 accept"]
    gateway = site.gateway.model_copy(update={"admin": Admin()})
    own = replace(site, spec=site.spec.model_copy(update={"gateway": gateway}))
    assert opened(own) == []
    assert configuration(own)["admin"] == {"port": 9443}


def gateway_changes(context: Context, facts: NodeFacts) -> dict[str, object]:
    """What a plan changes of the gateway's state on its node."""
    observed = {**planned("lab")[0], facts.node: facts}
    found = [each for each in changes(context, observed) if (each.node, each.kind) == (facts.node, "gateway")]
    return dict(found[0].after or {}) if found else {}


@pytest.mark.parametrize(
    ("digests", "is_foreign"),
    [(None, True), (f"{'cd' * 32}\n", True), (f"{OTHER_SHA256}\n", False), (f"{'cd' * 32}\n{OTHER_SHA256}\n", False)],
)
def test_a_local_clients_file_that_nobody_approved_is_drift(digests: str | None, is_foreign: bool) -> None:
    lab = context("lab")
    node = lab.gateway_nodes[0].name
    facts = with_file(planned("lab")[0][node], LOCAL_CLIENTS)
    facts = replace(facts, texts={**facts.texts, LOCAL_CLIENTS_DIGEST: digests})
    assert ("local_clients" in gateway_changes(lab, facts)) is is_foreign


def test_settings_name_the_clients_file(site: Context, tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text(yaml.safe_dump(configuration(replace(site, clients_sha256="ab" * 32)), sort_keys=False))
    read = load_settings(path)
    assert read.clients_sha256 == ["ab" * 32]
    assert str(read.access.local_clients_sha256_file) == LOCAL_CLIENTS_DIGEST
