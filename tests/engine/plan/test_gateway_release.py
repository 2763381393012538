"""What an answer must pass and who takes over, from site.yaml to the gateway: the same words at both ends."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
import yaml
from strategies import EXAMPLES, TODAY

from sovctl.engine.catalog import load_catalog
from sovctl.engine.plan.build import context_of
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.credential import credentials_on
from sovctl.engine.resources.gateway.service import configuration
from sovctl.engine.resources.perimeter import rules_for
from sovctl.engine.spec.gateway import release as spec_release
from sovctl.engine.spec.gateway.tracing import Tracing
from sovctl.engine.spec.gateway.vault import Postgresql
from sovctl.engine.spec.service_accounts import GATEWAY_UID
from sovctl.engine.validation.load import parse
from sovctl.engine.validation.presets import FOLDER
from sovctl.gateway.settings import HandoffSettings, TracingSettings, WebhookSettings, load_settings
from sovctl.gateway.settings.answers import release
from sovctl.gateway.settings.answers.release import OnFailure

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/spec/release.yaml").read_text())


@pytest.fixture(scope="module")
def site() -> Context:
    text = (FOLDER / "lab.yaml").read_text()
    for old, new in CASES["all of it at once, and well"]["replace"]:
        assert old in text
        text = text.replace(old, new)
    spec = parse(text.encode(), path=Path("site.yaml"), today=TODAY, catalog=load_catalog()).spec
    return context_of(spec, EXAMPLES / "lab")


def test_the_gateway_reads_what_site_yaml_says(site: Context, tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text(yaml.safe_dump(configuration(site), sort_keys=False, allow_unicode=True))
    settings = load_settings(path)
    route = settings.route("assistant")
    assert route is not None
    assert route.release is not None
    assert route.release.citations is not None
    assert (route.release.citations.min_support, route.release.max_hold_s) == (0.7, 3)
    assert route.release.forbidden[0].on_failure is OnFailure.REFUSE
    assert route.release.may_hand_off
    private = settings.route("private")
    assert private is not None
    assert private.release is None
    assert settings.tracing is not None
    assert (str(settings.tracing.endpoint), settings.tracing.sample_ratio) == (
        "https://10.77.0.40:4318/v1/traces",
        0.5,
    )
    handoff = settings.handoff
    assert handoff is not None
    assert handoff.webhook is not None
    assert (handoff.max_open, list(handoff.texts), str(handoff.webhook.url)) == (
        *(50, ["de", "en"]),
        "https://10.77.0.30:8443/hook",
    )


def test_the_gateways_node_holds_the_webhooks_key_and_its_wall_opens_for_it(site: Context) -> None:
    wanted = {
        f"ip daddr 10.77.0.30 tcp dport 8443 meta skuid {GATEWAY_UID} accept",
        f"ip daddr 10.77.0.40 tcp dport 4318 meta skuid {GATEWAY_UID} accept",
    }
    for _, node in site.spec.nodes():
        held = {each.path for each in credentials_on(site, node)}
        keys = {
            "/etc/sovctl/secrets/handoff-webhook.key",
            "/etc/sovctl/tls/handoff-webhook-ca.pem",
            "/etc/sovctl/tls/tracing-ca.pem",
        }
        assert (keys <= held) == site.is_gateway(node)
        assert (wanted <= set(rules_for(site, node).outbound)) == site.is_gateway(node)


@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        (spec_release.Citations, release.CitationSettings),
        (spec_release.Forbidden, release.ForbiddenSettings),
        (spec_release.Identifiers, release.IdentifierSettings),
        (spec_release.JsonSchema, release.SchemaSettings),
        (spec_release.Release, release.ReleaseSettings),
        (spec_release.Handoff, HandoffSettings),
        (spec_release.Webhook, WebhookSettings),
        (Tracing, TracingSettings),
    ],
)
def test_both_ends_have_the_same_words_and_defaults(spec: Any, settings: Any) -> None:
    own = {"path", "secret_file"}  # where things lie on a node is not the operator's business
    assert set(spec.model_fields) == set(settings.model_fields) - own
    for name, field in spec.model_fields.items():
        theirs = settings.model_fields[name]
        assert field.get_default(call_default_factory=True) == theirs.get_default(call_default_factory=True), name


def test_a_site_that_hands_nothing_over_has_no_queue() -> None:
    text = (FOLDER / "lab.yaml").read_text()
    spec = parse(text.encode(), path=Path("site.yaml"), today=TODAY, catalog=load_catalog()).spec
    assert "handoff" not in configuration(context_of(spec, EXAMPLES / "lab"))


def test_queue_and_quotas_are_files_of_the_node_or_where_all_nodes_have_their_vault(site: Context) -> None:
    assert configuration(site)["handoff"]["path"] == "/var/lib/sovctl/gateway/handoffs.db"
    assert configuration(site)["quota"]["path"] == "/var/lib/sovctl/gateway/quota.db"
    database = Postgresql.model_construct(host=IPv4Address("10.77.0.30"))
    vault = site.gateway.vault.model_copy(update={"postgresql": database})
    gateway = site.gateway.model_copy(update={"vault": vault})
    shared = replace(site, spec=site.spec.model_copy(update={"gateway": gateway}))
    assert "path" not in configuration(shared)["handoff"]
    assert "path" not in configuration(shared)["quota"]
