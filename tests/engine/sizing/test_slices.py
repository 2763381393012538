"""MIG: GPUs cut into slices are sized and placed as small GPUs, one server each."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from preset_values import preset_values

from sovctl.engine.catalog import load_catalog
from sovctl.engine.catalog.figure import read_entries
from sovctl.engine.catalog.gpus import load_gpus
from sovctl.engine.catalog.mig import slice_gpu, slices_of
from sovctl.engine.placement import assign_gpus
from sovctl.engine.sizing.explain.pool import explain
from sovctl.engine.sizing.memory.gpu_memory import usable_bytes
from sovctl.engine.sizing.pool.pool import PoolSizing, pool_cases, size_pool
from sovctl.engine.sizing.site.data_hall import site_layout
from sovctl.engine.validation.load import LoadedSpec, parse
from sovctl.support.errors import SpecError

BANK = preset_values("bank-hybrid")
PLANNED: dict[str, Any] = {"is_draft": False, "kv_cache_memory_bytes": 1 << 30}
EVERY = [
    (gpu, profile) for row in read_entries("mig", "profiles") for gpu in row["gpus"] for profile in [row["profile"]]
]


def site(
    mig: str | None = "3g.40gb", model: str = "llama-3.1-8b", platform: str = "", *, is_draft: bool = True, **pool: Any
) -> LoadedSpec:
    """The bank's pool with a small model, on machines whose GPUs are cut."""
    value = {key: item for key, item in BANK.items() if key != "gateway"}
    value["site"] = {**value["site"], "placement": "on-prem"}
    value["perimeter"] = {"management": ["10.20.0.0/28"]}
    groups = [dict(group) for group in BANK["node_groups"]]
    groups[0] |= {"mig": mig, **({"platform": platform} if platform else {})}
    value["node_groups"] = groups
    value["models"] = [
        {
            "name": "small",
            "catalog": model,
            "manifest_sha256": "ab" * 32,
            "licence_approved_by": "legal",
            "licence_approved_because": "fewer users than the licence counts",
        }
    ]
    first = {**BANK["pools"][0], "model": "small", "tensor_parallel_size": 1, "max_model_len": 8192, **pool}
    value["pools"] = [first]
    value["workload"] = [{"name": "branches", "pool": first["name"], "users": 100}]
    return parse(
        yaml.safe_dump(value).encode(),
        path=Path("site.yaml"),
        today=date(2026, 11, 21),
        catalog=load_catalog(),
        is_draft=is_draft,
    )


def sized(loaded: LoadedSpec) -> PoolSizing:
    (found,) = [size_pool(case) for case in pool_cases(loaded.spec, load_catalog())]
    return found


def problems(**more: Any) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        site(**more)
    return {each.where.split(": ")[-1]: f"{each.message} | {each.hint}" for each in caught.value.problems}


@pytest.mark.parametrize(("gpu", "profile"), EVERY)
def test_slices_of_a_gpu_never_add_up_to_more_than_it(gpu: str, profile: str) -> None:
    whole, mig = load_gpus()[gpu], slices_of(gpu)[profile]
    one = slice_gpu(whole, profile)
    assert mig.instances * usable_bytes(one) <= usable_bytes(whole)
    assert mig.instances * one.memory_bandwidth_gb_s <= whole.memory_bandwidth_gb_s * 1.0001
    assert mig.instances * one.dense_tflops.bf16 <= whole.dense_tflops.bf16 * 1.0001
    # The name says the memory, rounded up by the vendor.
    assert usable_bytes(one) / 2**30 < float(profile.partition(".")[2].removesuffix("gb"))
    assert one.has_fp8 == whole.has_fp8


def test_an_h200s_quarter_is_no_larger_than_what_its_driver_lists() -> None:
    listed_gib = 32.5  # `nvidia-smi mig -lgip`, 2g.35gb; community, read 2026-11-22
    assert 0.9 * listed_gib < usable_bytes(slice_gpu(load_gpus()["H200-141GB-SXM"], "2g.35gb")) / 2**30 <= listed_gib


def test_placement_counts_slices_and_a_pool_has_a_server_on_each() -> None:
    replicas = assign_gpus(site(**PLANNED, replicas=32).spec)  # two nodes of eight GPUs of two slices
    for node in {each.head for each in replicas}:
        taken = [gpu for each in replicas for rank in each.ranks if rank.node == node for gpu in rank.gpus]
        assert sorted(taken) == list(range(16))
    assert "room for 33 x 1 GPU" in problems(**PLANNED, replicas=33)["pools[0].replicas"]


def test_a_slice_carries_less_than_a_gpu_and_the_steps_say_what_it_is() -> None:
    whole, part = sized(site(mig=None)), sized(site())
    assert whole.limit is not None
    assert whole.server is not None
    assert part.limit is not None
    assert part.server is not None
    assert part.server.kv_bytes() < whole.server.kv_bytes() / 2
    assert part.limit.point.tokens_per_s.high < whole.limit.point.tokens_per_s.high
    assert part.case.gpu.id == "H100-80GB-SXM/3g.40gb"
    steps = {step.title: step for step in explain(part)}
    assert steps["one MIG slice"].inputs[0] == "3g.40gb: 2 on one GPU, 16 on one node"
    assert "modelled" in steps["one MIG slice"].instead
    layout = site_layout(site().spec, load_catalog(), [part])
    assert layout.groups[0].nodes == 1


def test_auto_never_spans_two_slices() -> None:
    (pool,) = site(tensor_parallel_size="auto", replicas="auto").spec.pools
    assert pool.gpus_per_replica == 1
    assert "pools[0].tensor_parallel_size" in problems(model="llama-3.3-70b", tensor_parallel_size="auto")


def test_what_cannot_be_is_refused_with_the_reason() -> None:
    spans = problems(tensor_parallel_size=2)["pools[0].tensor_parallel_size"]
    assert "no NVLink and no peer-to-peer" in spans
    assert "expected no pinned GPUs" in problems(gpus=[0, 1])["pools[0].gpus"]
    unknown = problems(mig="3g.41gb")["node_groups[0].mig"]
    assert "expected a MIG profile of H100-80GB-SXM" in unknown
    assert "1g.10gb, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb" in unknown
    assert "the catalogue has no MIG profiles for this GPU" in problems(platform="l40s-4")["node_groups[0].mig"]
    assert "a MIG profile such as 3g.40gb" in problems(mig="half")["node_groups[0].mig"]
    assert "pools[0]" in problems(mig="1g.10gb")
