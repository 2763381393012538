"""Stages on several nodes: flags of tensor and data parallelism, API servers, and the RDMA adapters that they need."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planned_nodes import planned
from strategies import context

from sovctl.engine.placement import assign_gpus
from sovctl.engine.plan.build import desired_on
from sovctl.engine.plan.support import refusals
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.perimeter import rules_for
from sovctl.engine.resources.pool import api_urls
from sovctl.engine.resources.serving.environment import environment
from sovctl.engine.resources.serving.flags import flags
from sovctl.engine.resources.serving.group import RDMA_ADAPTERS
from sovctl.engine.spec.serving.api_server import ApiServer
from sovctl.support.errors import SovctlError


def over_two_nodes(engine: str = "vllm-cpu", **values: object) -> Context:
    """The lab's site with its pool on n1 and n2."""
    site = context("lab")
    pool = site.spec.pools[0].model_copy(update={"nodes": ["n1", "n2"], "tensor_parallel_size": 1, **values})
    software = site.spec.software.model_copy(update={"engine": engine})
    spec = site.spec.model_copy(update={"pools": [pool], "software": software})
    return replace(site, spec=spec, replicas=tuple(assign_gpus(spec)))


def test_tensor_parallelism_over_two_nodes_connects_like_a_pipeline() -> None:
    site = over_two_nodes(tensor_parallel_size=2, nodes_per_stage=2)
    (replica,) = site.replicas
    chosen = [flags(site, replica, rank) for rank in replica.ranks]
    assert [(each["tensor-parallel-size"], each["nnodes"], each["node-rank"]) for each in chosen] == [
        (2, 2, 0),
        (2, 2, 1),
    ]
    assert environment(site, replica, replica.ranks[1])["VLLM_CPU_OMP_THREADS_BIND"] == "nobind"


def data_parallel(site: Context) -> list[dict[str, object]]:
    (replica,) = site.replicas
    names = {"headless", "nnodes", "port"}
    return [
        {name: value for name, value in flags(site, replica, rank).items() if "data" in name or name in names}
        for rank in replica.ranks
    ]


def test_data_parallel_ranks_on_two_nodes_serve_on_each() -> None:
    shared = {"port": 8000, "data-parallel-size": 4, "data-parallel-size-local": 2, "data-parallel-hybrid-lb": True}
    shared |= {"data-parallel-address": "10.77.0.11", "data-parallel-rpc-port": 29501}
    site = over_two_nodes(data_parallel_size=4, nodes_per_stage=2)
    assert data_parallel(site) == [{**shared, "data-parallel-start-rank": start} for start in (0, 2)]
    urls = [url for each in site.replicas for url in api_urls(site, each)]
    assert urls == ["https://10.77.0.11:8000/v1", "https://10.77.0.12:8000/v1"]
    for node in ("n1", "n2"):
        rules = rules_for(site, site.spec.node(node)).inbound
        assert "ip saddr 10.77.0.21 tcp dport 8000 accept" in rules


def test_experts_over_several_nodes_are_rendered_and_marked_as_not_run() -> None:
    site = over_two_nodes(data_parallel_size=4, nodes_per_stage=2, enable_expert_parallel=True)
    (replica,) = site.replicas
    chosen = flags(site, replica, replica.ranks[1])
    assert chosen["enable-expert-parallel"] is True
    assert chosen["data-parallel-start-rank"] == 2
    (pool,) = [each for each in desired_on(site, site.spec.node("n2"), None) if each.kind == "pool"]
    assert pool.why.endswith("experts over several nodes were not run with sovctl")
    assert pool.variables["serves_api"] is True
    assert pool.variables["url"] == "https://10.77.0.12:8000/v1"
    assert pool.state["probe"] == "active"


def test_a_rank_without_an_api_server_gets_no_setting_of_one() -> None:
    several = {"api_server": ApiServer(api_server_count=2)}
    site = over_two_nodes(data_parallel_size=2, nodes_per_stage=2, **several)
    (replica,) = site.replicas
    counts = [flags(site, replica, rank).get("api-server-count") for rank in replica.ranks]
    assert counts == [2, None], "vLLM refuses --api-server-count with --headless"


def test_one_data_parallel_rank_per_node_is_balanced_by_the_head() -> None:
    shared = {"port": 8000, "data-parallel-size": 2, "data-parallel-size-local": 1}
    shared |= {"data-parallel-address": "10.77.0.11", "data-parallel-rpc-port": 29501}
    site = over_two_nodes(data_parallel_size=2, nodes_per_stage=2)
    # A start rank on a node with an API server selects hybrid balancing, which one local rank turns into external.
    assert data_parallel(site) == [shared, {**shared, "data-parallel-start-rank": 1, "headless": True}]
    assert len([url for each in site.replicas for url in api_urls(site, each)]) == 1


def test_a_stage_on_several_nodes_needs_rdma_adapters_in_the_facts() -> None:
    site, facts = over_two_nodes("vllm", tensor_parallel_size=2, nodes_per_stage=2), planned("lab")[0]

    def found(*names: str) -> list[str]:
        answer = {"exit_code": 0, "stdout": "\n".join(names)}
        measured = {
            name: replace(each, answers={**each.answers, RDMA_ADAPTERS: answer}) for name, each in facts.items()
        }
        return [each.message for each in refusals(site, measured) if "RDMA" in each.message]

    assert found() == ["pool chat has stages on several nodes, and this node has no RDMA adapter"] * 2
    assert found("mlx5_0", "mlx5_1") == []
    with pytest.raises(SovctlError):  # not measured
        refusals(site, facts)
    assert not [each for each in refusals(over_two_nodes(tensor_parallel_size=2, nodes_per_stage=2), facts)
                if "RDMA" in each.message]  # fmt: skip
