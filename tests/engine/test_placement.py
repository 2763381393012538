"""Placing replicas on GPUs: nothing is held twice, stages stay on a node, and the same file gives the same places."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from sovctl.engine.catalog import load_catalog
from sovctl.engine.placement import Rank, Replica, assign_gpus, try_assign_gpus
from sovctl.engine.spec import Node, NodeGroup, Pool, SiteSpec
from sovctl.engine.validation.load import load
from sovctl.engine.validation.presets import FOLDER, names
from sovctl.support.errors import SpecError

CATALOG = load_catalog()
LAB = load(FOLDER / "lab.yaml").spec


def _pool(name: str, **values: Any) -> Pool:
    return Pool.model_validate({"name": name, "model": "echo", "node_group": "gpu", "max_model_len": 512, **values})


def _site(*pools: Pool, nodes: int = 2, platform: str = "dgx-h100") -> SiteSpec:
    members = [
        Node.model_validate({"name": f"n{number}", "address": f"10.77.1.{number}"}) for number in range(1, nodes + 1)
    ]
    group = NodeGroup(name="gpu", platform=platform, nodes=members)
    return LAB.model_copy(update={"node_groups": [group], "pools": list(pools)})


def _where(replicas: list[Replica], pool: str) -> list[list[tuple[str, tuple[int, ...]]]]:
    return [[(rank.node, rank.gpus) for rank in each.ranks] for each in replicas if each.pool == pool]


pools = st.lists(
    st.fixed_dictionaries(
        {
            "replicas": st.integers(1, 5),
            "tensor_parallel_size": st.sampled_from([1, 2, 3, 4, 8]),
            "pipeline_parallel_size": st.sampled_from([1, 1, 2, 3, 4]),
            "gpus": st.one_of(st.just([]), st.lists(st.integers(0, 8), unique=True, max_size=8)),
        }
    ),
    min_size=1,
    max_size=5,
).map(lambda rows: [_pool(f"p{number}", **row) for number, row in enumerate(rows)])


@examples(300)
@given(pools, st.integers(1, 5), st.sampled_from(["dgx-h100", "l40s-4"]))
def test_no_gpu_is_held_twice_and_every_replica_is_whole(chosen: list[Pool], nodes: int, platform: str) -> None:
    site = _site(*chosen, nodes=nodes, platform=platform)
    replicas, problems = try_assign_gpus(site, CATALOG)
    held = Counter((rank.node, gpu) for each in replicas for rank in each.ranks for gpu in rank.gpus)
    assert set(held.values()) <= {1}
    assert all(0 <= gpu < CATALOG.platforms[platform].gpus for _, gpu in held)
    for number, pool in enumerate(chosen):
        own = [each for each in replicas if each.pool == pool.name]
        refused = [each for each in problems if each.where.startswith(f"pools[{number}]")]
        assert (len(own), len(refused)) in ((pool.replicas, 0), (0, 1)), "a pool is placed whole, or refused once"
        assert [each.index for each in own] == list(range(len(own)))
        for each in own:
            assert [rank.node_rank for rank in each.ranks] == list(range(len(each.ranks)))
            assert len({rank.node for rank in each.ranks}) == len(each.ranks)
            sizes = {len(rank.gpus) for rank in each.ranks}
            assert len(sizes) == 1, "vLLM wants as many ranks on every node"
            size = sizes.pop()
            assert size % pool.tensor_parallel_size == 0, "a stage never leaves its node"
            assert size * len(each.ranks) == pool.tensor_parallel_size * pool.pipeline_parallel_size
            if pool.gpus:
                assert all(set(rank.gpus) <= set(pool.gpus) for rank in each.ranks)


@settings(deadline=None)
@given(pools, st.integers(1, 4))
def test_heads_of_one_pool_on_one_node_have_ports_of_their_own(chosen: list[Pool], nodes: int) -> None:
    replicas, _ = try_assign_gpus(_site(*chosen, nodes=nodes), CATALOG)
    taken = Counter((each.pool, each.head, each.port) for each in replicas)
    assert set(taken.values()) <= {1}
    for each in replicas:
        assert each.port >= 8000


@settings(deadline=None)
@given(pools, st.integers(1, 4), st.integers())
def test_what_fits_does_not_depend_on_anything_but_the_file(chosen: list[Pool], nodes: int, seed: int) -> None:
    site = _site(*chosen, nodes=nodes)
    random.seed(seed)
    first, again = try_assign_gpus(site, CATALOG), try_assign_gpus(site.model_copy(deep=True), CATALOG)
    assert first[0] == again[0]
    assert [str(each) for each in first[1]] == [str(each) for each in again[1]]


def test_a_large_pool_gets_its_node_whatever_the_order_of_the_file() -> None:
    small, large = _pool("small", replicas=4, tensor_parallel_size=2), _pool("large", tensor_parallel_size=8)
    for site in (_site(small, large), _site(large, small)):
        replicas = assign_gpus(site, CATALOG)
        assert _where(replicas, "large") == [[("n1", tuple(range(8)))]]
        assert {node for ranks in _where(replicas, "small") for node, _ in ranks} == {"n2"}
    assert [each.pool for each in assign_gpus(_site(small, large), CATALOG)] == ["small"] * 4 + ["large"]


def test_replicas_are_spread_so_that_one_node_may_go() -> None:
    replicas = assign_gpus(_site(_pool("chat", replicas=4, tensor_parallel_size=2)), CATALOG)
    assert [each.head for each in replicas] == ["n1", "n2", "n1", "n2"]
    assert [each.port for each in replicas] == [8000, 8000, 8001, 8001]
    assert _where(replicas, "chat")[2] == [("n1", (2, 3))]


def test_stages_share_a_node_while_they_fit_and_spread_evenly_when_not() -> None:
    one = assign_gpus(_site(_pool("one", tensor_parallel_size=4, pipeline_parallel_size=2)), CATALOG)
    assert one[0].ranks == (Rank("n1", tuple(range(8)), 0),)
    two = assign_gpus(_site(_pool("two", tensor_parallel_size=8, pipeline_parallel_size=2)), CATALOG)
    assert two[0].ranks == (Rank("n1", tuple(range(8)), 0), Rank("n2", tuple(range(8)), 1))
    three = assign_gpus(_site(_pool("three", tensor_parallel_size=4, pipeline_parallel_size=3), nodes=3), CATALOG)
    assert [len(rank.gpus) for rank in three[0].ranks] == [4, 4, 4], "two and one would be uneven"


def test_stages_spread_where_other_pools_have_left_room() -> None:
    held = _pool("held", gpus=[0, 1, 2, 3], replicas=2, tensor_parallel_size=4)
    replicas = assign_gpus(_site(held, _pool("chat", tensor_parallel_size=4, pipeline_parallel_size=2)), CATALOG)
    assert _where(replicas, "chat") == [[("n1", (4, 5, 6, 7)), ("n2", (4, 5, 6, 7))]]


@pytest.mark.parametrize(
    ("values", "gpus", "endpoints"),
    [
        ({"tensor_parallel_size": 2, "nodes_per_stage": 2}, [1, 1], ("n1",)),
        ({"tensor_parallel_size": 16, "nodes_per_stage": 2}, [8, 8], ("n1",)),
        ({"tensor_parallel_size": 8, "nodes_per_stage": 2, "pipeline_parallel_size": 2}, [4] * 4, ("n1",)),
        ({"data_parallel_size": 2, "nodes_per_stage": 2}, [1, 1], ("n1",)),
        ({"data_parallel_size": 16, "nodes_per_stage": 2}, [8, 8], ("n1", "n2")),
    ],
)
def test_a_stage_is_on_several_nodes_only_on_request(
    values: dict[str, int], gpus: list[int], endpoints: tuple[str, ...]
) -> None:
    (replica,) = assign_gpus(_site(_pool("chat", **values), nodes=4), CATALOG)
    assert [len(rank.gpus) for rank in replica.ranks] == gpus
    assert replica.endpoints == endpoints
    (alone,) = assign_gpus(_site(_pool("chat", tensor_parallel_size=2), nodes=4), CATALOG)
    assert len(alone.ranks) == 1


def test_replicas_whose_nodes_all_serve_have_the_same_port_on_each() -> None:
    hybrid = {"data_parallel_size": 4, "nodes_per_stage": 2, "replicas": 3}
    replicas = assign_gpus(_site(_pool("chat", **hybrid), nodes=3), CATALOG)
    taken = Counter((node, each.port) for each in replicas for node in each.endpoints)
    assert set(taken.values()) == {1}
    assert max(port for _, port in taken) <= 8002


def test_named_nodes_are_taken_in_the_order_given() -> None:
    replicas = assign_gpus(_site(_pool("chat", nodes=["n3", "n1"], replicas=2), nodes=3), CATALOG)
    assert [each.head for each in replicas] == ["n3", "n1"]


def test_place_refuses_what_does_not_fit_and_says_who_holds_what() -> None:
    with pytest.raises(SpecError) as caught:
        assign_gpus(_site(_pool("a", replicas=2, tensor_parallel_size=8), _pool("b", tensor_parallel_size=8)), CATALOG)
    assert [str(each) for each in caught.value.problems] == [
        (
            "pools[1]: expected room for 1 x 8 GPUs on 2 nodes, "
            "got n1 (a holds 0-7, free none); n2 (a holds 0-7, free none)"
        )
    ]


@pytest.mark.parametrize("name", names())
def test_every_preset_is_placed_whole(name: str) -> None:
    spec = load(FOLDER / f"{name}.yaml").spec
    replicas = assign_gpus(spec)
    assert Counter(each.pool for each in replicas) == {pool.name: pool.replicas for pool in spec.pools}


def test_the_superpod_keeps_two_systems_in_reserve_and_spans_nodes() -> None:
    replicas = assign_gpus(load(FOLDER / "superpod-b200.yaml").spec)
    used = {rank.node for each in replicas for rank in each.ranks}
    assert len(used) == 30
    assert {"dgx-31", "dgx-32"}.isdisjoint(used)
    assert {len(each.ranks) for each in replicas if each.pool == "long-context"} == {2}
