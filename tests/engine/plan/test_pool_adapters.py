"""Adapters of a pool: fetched and checked like weights, put on by vLLM, and reached through a route of their name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from strategies import context

from sovctl.engine.plan.build import RESTARTS
from sovctl.engine.resources import pool
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.gateway import service as gateway
from sovctl.engine.resources.resource import Change, Desired, Risk, Verb
from sovctl.engine.resources.resource_type import ResourceType
from sovctl.engine.resources.serving.flags import flags
from sovctl.engine.resources.software import model
from sovctl.engine.spec.lora import Lora
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


def test_a_change_of_an_adapter_restarts_the_servers_that_load_it(adapted: Context) -> None:
    """The plan has the restart, because apply fails if a difference remains after its changes."""
    asked = next(node for _, node in adapted.spec.nodes() if adapted.replicas_on(node))
    change = Change(asked.name, "model", "letters", Verb.UPDATE, {"x": 1}, {"x": 2}, "why", Risk.WORKLOAD, 0.2)
    pools = [each for each in expected(pool.RESOURCE_TYPE, adapted) if each.kind == "pool"]
    restarted = {each.name for each in pools if RESTARTS["model"](change, each)}
    own = adapted.spec.pools[0].name
    assert restarted == {pool.instance(each) for each in adapted.replicas if each.pool == own}
