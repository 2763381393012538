"""CUDA MPS: golden plan of two pools on one GPU, refusals, orphans of the daemon, and routes of the tenant only."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from mps_site import share, shared_values
from planned_nodes import empty, with_file
from preset_values import preset_values

from sovctl.engine.catalog import load_catalog
from sovctl.engine.plan.build import changes, context_of, desired_on
from sovctl.engine.resources.context import Context, render
from sovctl.engine.resources.gateway.service import configuration
from sovctl.engine.resources.host import mps
from sovctl.engine.resources.pool import variables_of
from sovctl.engine.spec import SiteSpec
from sovctl.engine.validation.rules import check

TODAY = date(2026, 11, 29)
UNIT = """\
# Written by sovctl from site.yaml (pools[].mps). Do not edit: the next apply overwrites it.
[Unit]
Description=CUDA MPS of GPU 0, for embed, rank
Documentation=https://docs.nvidia.com/deploy/mps/
After=nvidia-persistenced.service nvidia-fabricmanager.service
# A reload of the driver stops nvidia-persistenced, and needs the end of all processes with an open GPU.
PartOf=nvidia-persistenced.service
StartLimitIntervalSec=0

[Service]
Type=exec
User=sovctl-vllm
Environment=CUDA_DEVICE_ORDER=PCI_BUS_ID
Environment=CUDA_VISIBLE_DEVICES=0
Environment=CUDA_MPS_PIPE_DIRECTORY=/run/sovctl-mps-0
Environment=CUDA_MPS_LOG_DIRECTORY=/var/log/sovctl-mps-0
RuntimeDirectory=sovctl-mps-0
RuntimeDirectoryMode=0700
LogsDirectory=sovctl-mps-0
LogsDirectoryMode=0700
# "+": as root. Only the server of MPS can use the GPU, so that no client runs without it.
ExecStartPre=+/usr/bin/nvidia-smi -i 0 -c EXCLUSIVE_PROCESS
ExecStart=/usr/bin/nvidia-cuda-mps-control -f
ExecStopPost=+/usr/bin/nvidia-smi -i 0 -c DEFAULT
# After a fault, the daemon accepts clients again when all clients ended. Pools that require this unit stop with it.
Restart=always
RestartSec=5
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
RestrictAddressFamilies=AF_UNIX AF_NETLINK
LockPersonality=yes

[Install]
WantedBy=multi-user.target
"""


def context(site: dict[str, Any]) -> Context:
    return context_of(SiteSpec.model_validate(site), Path("/nonexistent"))


@pytest.fixture(scope="module")
def planned() -> Context:
    return context(shared_values())


def unit_of(made: Context, name: str) -> str:
    """Text of the unit of a pool on dgx-1."""
    [desired] = [
        each for each in desired_on(made, made.nodes["dgx-1"], None) if (each.kind, each.name) == ("pool", name)
    ]
    return render("pool", "unit.service.j2", item={"name": name, **desired.variables})


def test_the_pools_of_a_group_have_one_gpu_and_others_have_their_own(planned: Context) -> None:
    places = {each.pool: (each.ranks[0].node, each.ranks[0].gpus, each.port) for each in planned.replicas}
    assert places == {
        "embed": ("dgx-1", (0,), 8000),
        "rank": ("dgx-1", (0,), 8010),
        "chat": ("dgx-1", (1,), 8020),
    }
    [daemon] = [each for each in desired_on(planned, planned.nodes["dgx-1"], None) if each.name == "mps-0"]
    assert daemon.variables == {"gpu": 0, "unit": "sovctl-mps-0", "pools": ["embed", "rank"]}
    assert daemon.why.startswith("embed, rank: pools of one tenant share the GPU by CUDA MPS")
    assert daemon.why.endswith("Never run on a GPU")
    assert not [each for each in desired_on(planned, planned.nodes["dgx-2"], None) if each.name.startswith("mps-")]


def test_the_units_are_as_recorded(planned: Context) -> None:
    assert (
        render("gpu_modes", "mps.service.j2", item={"gpu": 0, "unit": "sovctl-mps-0", "pools": ["embed", "rank"]})
        == UNIT
    )
    lines = unit_of(planned, "embed").splitlines()
    for expected in (
        "Requires=sovctl-mps-0.service",
        "After=sovctl-mps-0.service",
        'Environment="CUDA_VISIBLE_DEVICES=0"',
        'Environment="CUDA_MPS_PIPE_DIRECTORY=/run/sovctl-mps-0"',
        'Environment="CUDA_MPS_LOG_DIRECTORY=/var/log/sovctl-mps-0"',
        'Environment="CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=40"',
        'Environment="CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=30G"',
        "ReadWritePaths=/run/sovctl-mps-0 /var/log/sovctl-mps-0",
        'ExecStopPost=-/usr/bin/find /dev/shm -maxdepth 1 -user sovctl-vllm ! -name "cuda.shm.*" -delete',
    ):
        assert expected in lines, expected
    flags = {each.pool: variables_of(planned, planned.nodes["dgx-1"], each)["flags"] for each in planned.replicas}
    assert (flags["embed"]["gpu-memory-utilization"], flags["embed"]["kv-cache-memory-bytes"]) == (0.3, 4 << 30)
    other = unit_of(planned, "chat")
    assert "sovctl-mps" not in other
    assert "CUDA_MPS" not in other
    assert '! -name "cuda.shm.*"' in other
    assert 'Environment="CUDA_VISIBLE_DEVICES=1"' in other


def test_a_group_on_another_gpu_has_device_0_of_its_daemon() -> None:
    site = shared_values()
    for pool in site["pools"][:2]:
        pool["gpus"] = [3]
    made = context(site)
    found = [each for each in desired_on(made, made.nodes["dgx-1"], None) if each.name.startswith("mps-")]
    assert [each.name for each in found] == ["mps-3"]
    assert 'Environment="CUDA_VISIBLE_DEVICES=0"' in unit_of(made, "rank")
    assert "Requires=sovctl-mps-3.service" in unit_of(made, "rank")


def test_a_daemon_of_before_is_removed_first(planned: Context) -> None:
    site = shared_values()
    site["pools"] = [site["pools"][2]]
    made, facts = context(site), with_file(empty("dgx-1"), mps.unit_file(0))
    found = [each for each in desired_on(made, made.nodes["dgx-1"], facts) if each.kind == "gpu_modes"]
    assert (found[0].name, found[0].state) == ("mps-0", None)
    assert found[0].variables == {"units": ["sovctl-mps-0.service"], "files": [mps.unit_file(0)]}
    ids = [each.id for each in changes(made, {"dgx-1": facts}) if "gpu_modes" in each.id]
    assert "dgx-1/gpu_modes/mps-0" in ids
    still = [each.name for each in desired_on(planned, planned.nodes["dgx-1"], facts) if each.kind == "gpu_modes"]
    assert still.count("mps-0") == 1


def test_an_unavailable_node_has_no_daemon(planned: Context) -> None:
    made = replace(planned, unavailable=frozenset({"dgx-1"}))
    assert not [each for each in desired_on(made, made.nodes["dgx-1"], None) if each.name.startswith("mps-")]


def refused(**changes: Any) -> dict[str, str]:
    """Messages by place, for changes of the second pool of the group."""
    site = shared_values()
    site["pools"][1] |= changes
    found = check(SiteSpec.model_validate(site), load_catalog(), today=TODAY)
    return {each.where or "": each.message for each in found}


REFUSALS = {
    "tenant": ({"mps": share(60, 30, tenant="sales")}, "pools[1].mps.tenant", "expected tenant `legal`"),
    "alone": ({"mps": share(60, 30, group="other")}, "pools[1].mps.group", "at least two pools in MPS group `other`"),
    "swap": ({"swap_group": "turns"}, "pools[1].swap_group", "expected no swap group in an MPS group"),
    "parallel": ({"tensor_parallel_size": 2}, "pools[1].tensor_parallel_size", "expected 1 in an MPS group, got 2"),
    "replicas": ({"replicas": 2}, "pools[1].replicas", "expected 1 as in pool embed of its MPS group, got 2"),
    "cache": ({"kv_cache_memory_bytes": None}, "pools[1].kv_cache_memory_bytes", "expected kv_cache_memory_bytes"),
    "limit": ({"mps": share(60, 20)}, "pools[1].mps.device_memory_gib", "got 20"),
    "sum": ({"mps": share(60, 60)}, "pools[0].mps.device_memory_gib", "in MPS group `small`, got 90"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_group_is_refused_for_its_reason(name: str) -> None:
    changes, where, message = REFUSALS[name]
    assert message in refused(**changes).get(where, ""), refused(**changes)


def test_a_valid_group_has_no_problem() -> None:
    assert refused() == {}


def test_a_group_is_refused_on_mig_and_with_another_engine() -> None:
    site = shared_values()
    site["node_groups"][0]["mig"] = "3g.40gb"
    site["software"]["engine"] = "vllm-cpu"
    found = check(SiteSpec.model_validate(site), load_catalog(), today=TODAY)
    messages = [each.message for each in found if each.where == "pools[0].mps"]
    assert messages == ["expected engine vllm, got vllm-cpu", "expected a node group with whole GPUs, got dgx with MIG"]


def test_an_adapter_of_another_tenant_is_refused() -> None:
    adapter = {"name": "contracts", "tenant": "sales", "manifest_sha256": "ab" * 32, "licence": "Apache-2.0",
               "licence_approved_by": "head of IT", "licence_approved_because": "trained on our own texts"}  # fmt: skip
    found = refused(lora={"max_loras": 1, "adapters": [adapter]})
    assert found["pools[1].lora.adapters[0].tenant"] == "expected tenant `legal` of the pool, got `sales`"


def test_routes_of_a_shared_pool_exist_for_its_tenant_only() -> None:
    site = shared_values()
    given = preset_values("bank-hybrid")
    gateway = {**given["gateway"], "nodes": ["dgx-2"], "routes": [
        {"model": "embeddings", "pool": "embed"}, {"model": "assistant", "pool": "chat"},
    ], "clouds": [], "detect": {}}  # fmt: skip
    spec = SiteSpec.model_validate(site | {"gateway": gateway})
    assert spec.owners_of(("embed",)) == ["legal"]
    assert spec.owners_of(("chat",)) == []
    routes = {each["model"]: each for each in configuration(context_of(spec, Path("/nonexistent")))["routes"]}
    assert routes["embeddings"]["tenants"] == ["legal"]
    assert "tenants" not in routes["assistant"]


def test_retrieval_uses_no_pool_of_one_tenant() -> None:
    retrieval = {"node": "dgx-2", "embedding_pool": "embed", "collections": [{"name": "rules"}]}
    found = check(SiteSpec.model_validate({**shared_values(), "retrieval": retrieval}), load_catalog(), today=TODAY)
    assert "expected a pool without `mps`, got embed" in [each.message for each in found]
