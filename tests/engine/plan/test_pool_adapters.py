"""Adapters of a pool: fetched and checked like weights, put on by vLLM, and reached through a route of their name."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import yaml
from strategies import context

from sovctl.engine.catalog import load_catalog
from sovctl.engine.plan.build import RESTARTS
from sovctl.engine.resources import pool
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.gateway import service as gateway
from sovctl.engine.resources.resource import Change, Desired, Risk, Verb
from sovctl.engine.resources.resource_type import ResourceType
from sovctl.engine.resources.serving.flags import flags
from sovctl.engine.resources.software import model
from sovctl.engine.spec import SiteSpec
from sovctl.engine.spec.lora import Lora
from sovctl.engine.validation.rules.lora import check_licences, check_tenants
from sovctl.engine.validation.rules.rule import SiteUnderValidation
from sovctl.gateway.settings import load_settings

SHA = "ab" * 32
LORA = Lora.model_validate(
    {
        "max_loras": 2,
        "max_lora_rank": 32,
        "adapters": [{"name": "contracts", "manifest_sha256": SHA}, {"name": "letters", "manifest_sha256": SHA}],
    }
)


@pytest.fixture
def adapted() -> Context:
    """The bank; its first pool has two adapters, and a route asks for one of them."""
    plain = context("bank-hybrid")
    spec = plain.spec
    pools = [spec.pools[0].model_copy(update={"lora": LORA}), *spec.pools[1:]]
    assert spec.gateway is not None
    first = spec.gateway.routes[0]
    routes = [*spec.gateway.routes, first.model_copy(update={"model": "drafts", "pool": "contracts", "fallbacks": []})]
    made = spec.model_copy(update={"pools": pools, "gateway": spec.gateway.model_copy(update={"routes": routes})})
    return replace(plain, spec=made)


def expected(kind: ResourceType, made: Context) -> list[Desired]:
    return [each for _, node in made.spec.nodes() for each in kind.expect(made, node, None)]


def test_adapters_are_fetched_where_their_pool_is_and_checked_by_their_manifest(adapted: Context) -> None:
    found = [each for each in expected(model.RESOURCE_TYPE, adapted) if each.name == "contracts"]
    nodes = {rank.node for each in adapted.replicas if each.pool == adapted.spec.pools[0].name for rank in each.ranks}
    assert len(found) == len(nodes)
    assert {each.state["manifest_sha256"] for each in found} == {SHA}
    assert all(each.variables["url"].endswith("/contracts") for each in found)


def test_vllm_is_told_where_they_are_and_how_many_fit_at_once(adapted: Context) -> None:
    name = adapted.spec.pools[0].name
    replica = next(each for each in adapted.replicas if each.pool == name)
    told = flags(adapted, replica, replica.ranks[0])
    assert told["enable-lora"] is True
    assert (told["max-loras"], told["max-lora-rank"]) == (2, 32)
    assert told["lora-modules"] == [
        "contracts=/srv/sovctl/models/contracts",
        "letters=/srv/sovctl/models/letters",
    ]
    others = [each for each in adapted.replicas if each.pool != name]
    assert others
    assert all("enable-lora" not in flags(adapted, each, each.ranks[0]) for each in others)


def test_what_was_verified_of_an_adapter_is_looked_at_beside_its_server(adapted: Context) -> None:
    node = next(node for _, node in adapted.spec.nodes() if adapted.replicas_on(node))
    looked = pool.RESOURCE_TYPE.query(adapted, node)
    assert "/srv/sovctl/models/contracts/.verified" in looked.hash


def test_a_route_of_an_adapter_asks_the_servers_of_its_pool_for_it(adapted: Context, tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text(yaml.safe_dump(gateway.configuration(adapted), sort_keys=False))
    read = load_settings(path)
    pool_name = adapted.spec.pools[0].name
    of_adapter, of_pool = read.upstream("contracts"), read.upstream(pool_name)
    assert of_adapter.model == "contracts"
    assert of_adapter.base_urls == of_pool.base_urls
    assert of_pool.model == adapted.spec.pools[0].model


def owned(made: Context, *tenants: str | None) -> Context:
    """Return the site with an owner for each adapter of its first pool."""
    lora = made.spec.pools[0].lora
    assert lora is not None
    adapters = [each.model_copy(update={"tenant": t}) for each, t in zip(lora.adapters, tenants, strict=True)]
    first = made.spec.pools[0].model_copy(update={"lora": lora.model_copy(update={"adapters": adapters})})
    return replace(made, spec=made.spec.model_copy(update={"pools": [first, *made.spec.pools[1:]]}))


def site_under_validation(spec: SiteSpec) -> SiteUnderValidation:
    return SiteUnderValidation(spec, load_catalog(), date(2026, 11, 21))


def test_routes_of_an_adapter_exist_only_for_its_tenant(adapted: Context) -> None:
    routes = {each["model"]: each for each in gateway.configuration(owned(adapted, "legal", None))["routes"]}
    assert routes.pop("drafts")["tenants"] == ["legal"]
    assert routes
    assert all("tenants" not in each for each in routes.values())
    assert all("tenants" not in each for each in gateway.configuration(adapted)["routes"])


def test_refuses_adapters_of_two_tenants_in_one_route(adapted: Context) -> None:
    assert adapted.spec.gateway is not None
    *others, drafts = adapted.spec.gateway.routes
    mixed = [*others, drafts.model_copy(update={"fallbacks": ["letters"]})]
    for second, problems in (("sales", 1), ("legal", 0), (None, 0)):
        made = owned(adapted, "legal", second)
        spec = made.spec.model_copy(update={"gateway": adapted.spec.gateway.model_copy(update={"routes": mixed})})
        found = list(check_tenants(site_under_validation(spec)))
        assert len(found) == problems


def test_an_approved_licence_of_an_adapter_has_name_and_reason(adapted: Context) -> None:
    lora = Lora.model_validate(
        {"adapters": [{"name": "contracts", "manifest_sha256": SHA, "licence_approved_by": "head of IT"}]}
    )
    pool = adapted.spec.pools[0].model_copy(update={"lora": lora})
    found = list(check_licences(site_under_validation(adapted.spec.model_copy(update={"pools": [pool]}))))
    assert [each.where.rpartition(".")[2] for each in found] == ["licence", "licence_approved_because"]


def test_a_change_of_an_adapter_restarts_the_servers_that_load_it(adapted: Context) -> None:
    """The plan has the restart, because apply fails if a difference remains after its changes."""
    asked = next(node for _, node in adapted.spec.nodes() if adapted.replicas_on(node))
    change = Change(asked.name, "model", "letters", Verb.UPDATE, {"x": 1}, {"x": 2}, "why", Risk.WORKLOAD, 0.2)
    pools = [each for each in expected(pool.RESOURCE_TYPE, adapted) if each.kind == "pool"]
    restarted = {each.name for each in pools if RESTARTS["model"](change, each)}
    own = adapted.spec.pools[0].name
    assert restarted == {pool.instance(each) for each in adapted.replicas if each.pool == own}
