"""Expert and data parallelism of a pool: what it holds, what is refused, and that it is never chosen unasked."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from preset_values import preset_values

from sovctl.engine.catalog import load_catalog
from sovctl.engine.catalog.models import load_models
from sovctl.engine.placement import assign_gpus
from sovctl.engine.plan.build import context_of
from sovctl.engine.resources.serving.flags import flags
from sovctl.engine.sizing.explain.pool import explain
from sovctl.engine.sizing.memory.weights import Precision, Weights
from sovctl.engine.sizing.pool.pool import PoolSizing, pool_cases, size_pool
from sovctl.engine.sizing.pool.site_calibration import calibrate
from sovctl.engine.spec import Pool
from sovctl.engine.validation.load import LoadedSpec, parse
from sovctl.support.errors import InputError, SpecError

SHA = "ab" * 32
BANK = preset_values("bank-hybrid")
MIXTURES = sorted(name for name, model in load_models().items() if model.arch.moe and model.arch.hidden)


def site(model: str = "qwen3-235b-a22b", **pool: Any) -> LoadedSpec:
    """The bank with one replica of one pool of this model."""
    value = {key: item for key, item in BANK.items() if key != "gateway"}
    value["site"] = {**value["site"], "placement": "on-prem"}
    value["perimeter"] = {"management": ["10.20.0.0/28"]}
    value["models"] = [{"name": "mixture", "catalog": model, "manifest_sha256": SHA}]
    first = {key: item for key, item in BANK["pools"][0].items() if key != "tensor_parallel_size"}
    value["pools"] = [{**first, "model": "mixture", "quantization": "fp8", "replicas": 1, **pool}]
    value["workload"] = [{"name": "branches", "pool": first["name"], "users": 200}]
    return parse(
        yaml.safe_dump(value).encode(), path=Path("site.yaml"), today=date(2026, 11, 21), catalog=load_catalog()
    )


def sized(loaded: LoadedSpec) -> PoolSizing:
    (found,) = [size_pool(case) for case in pool_cases(loaded.spec, load_catalog())]
    return found


def problems(model: str = "qwen3-235b-a22b", **pool: Any) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        site(model, **pool)
    return {each.where.split(": ")[-1]: each.message for each in caught.value.problems}


APART = {"data_parallel_size": 8, "enable_expert_parallel": True}


@given(st.sampled_from(MIXTURES), st.sampled_from([2, 4, 8]))
def test_ranks_share_the_experts_and_hold_the_rest_each(model: str, ranks: int) -> None:
    weights = Weights(load_models()[model], Precision.FP8)
    rest = weights.total_bytes() - weights.expert_bytes()
    apart = weights.rank_bytes(data_parallel_size=ranks, enable_expert_parallel=True)
    assert apart == pytest.approx(rest + weights.expert_bytes() / ranks)
    assert apart >= weights.rank_bytes(tensor_parallel_size=ranks) - 1


def test_eight_gpus_apart_have_eight_caches_and_room_for_fewer_or_more_as_attention_says() -> None:
    tensor, apart = sized(site(tensor_parallel_size=4)).server, sized(site(**APART)).server
    assert tensor is not None
    assert apart is not None
    assert apart.gpus == 8
    # Four key-value heads: whole in each rank's cache, so a session takes four times as much of one GPU, and none of
    # the seven others.
    assert apart.sequence_bytes(4096) == 4 * tensor.sequence_bytes(4096)
    one = apart.kv_cache.max_concurrency(apart.kv_bytes(), 4096, kv_cache_dtype_bytes=apart.kv_cache_dtype_bytes)
    assert apart.max_concurrency(4096) == 8 * one


def test_vllm_is_told_and_the_gpus_are_those_of_one_node(tmp_path: Path) -> None:
    loaded = site(**APART)
    (replica,) = assign_gpus(loaded.spec)
    assert [rank.gpus for rank in replica.ranks] == [tuple(range(8))]
    made = context_of(loaded.spec, tmp_path)
    told = flags(made, replica, replica.ranks[0])
    assert (told["tensor-parallel-size"], told["data-parallel-size"], told["enable-expert-parallel"]) == (1, 8, True)
    plain = site(tensor_parallel_size=4)
    (replica,) = assign_gpus(plain.spec)
    told = flags(context_of(plain.spec, tmp_path), replica, replica.ranks[0])
    assert not {"data-parallel-size", "enable-expert-parallel"} & set(told)


def test_whole_experts_start_where_slices_of_fp8_blocks_do_not() -> None:
    assert "FP8 blocks" in problems(tensor_parallel_size=8)["pools[0].tensor_parallel_size"]
    found = sized(site(tensor_parallel_size=8, enable_expert_parallel=True))
    assert found.limit is not None


def test_auto_takes_it_only_where_site_yaml_says_so() -> None:
    auto = {"tensor_parallel_size": "auto", "data_parallel_size": "auto"}
    (plain,) = site(**auto).spec.pools
    assert (plain.data_parallel_size, plain.enable_expert_parallel) == (1, False)
    (asked,) = site(**auto, enable_expert_parallel=True).spec.pools
    assert asked.tensor_parallel_size == 1 or asked.data_parallel_size == 1
    assert asked.gpus_per_stage > 1
    steps = {step.title: step for step in explain(sized(site(tensor_parallel_size=4)))}
    ways = steps["parallel layouts of one replica on a node"]
    assert any(row.startswith("DP 8 + EP: ") for row in ways.inputs)
    assert "used only if site.yaml sets it" in ways.result


def test_the_steps_say_what_is_shared_and_that_it_is_modelled() -> None:
    steps = {step.title: step for step in explain(sized(site(**APART)))}
    assert "16 per layer on each of 8 GPUs" in steps["expert parallelism"].inputs[0]
    assert "modelled" in steps["expert parallelism"].result
    assert "DP 8" in steps["memory of one GPU"].inputs[2]
    assert "expert parallelism" not in {step.title for step in explain(sized(site(tensor_parallel_size=4)))}


def test_what_cannot_start_is_refused_with_the_reason() -> None:
    dense = problems("llama-3.3-70b", **APART)
    assert {"pools[0].data_parallel_size", "pools[0].enable_expert_parallel"} <= set(dense)
    assert "has no experts" in dense["pools[0].data_parallel_size"]
    assert "pools[0].enable_expert_parallel" in problems(data_parallel_size=8)
    assert "expected 1 with" in problems(**APART, tensor_parallel_size=2)["pools[0].tensor_parallel_size"]
    assert "expected 1 with" in problems(**APART, pipeline_parallel_size=2)["pools[0].pipeline_parallel_size"]
    odd = problems(data_parallel_size=6, enable_expert_parallel=True)
    assert "divisor of the 128 experts" in odd["pools[0].data_parallel_size"]
    wide = problems(data_parallel_size=16, enable_expert_parallel=True)
    assert "at most 8 GPUs per stage" in wide["pools[0].data_parallel_size"]
    lora = {"adapters": [{"name": "letters", "manifest_sha256": SHA}]}
    assert "no adapters" in problems(**APART, lora=lora)["pools[0].lora"]


def test_measurements_of_a_server_without_it_say_nothing_of_one_with_it() -> None:
    server = sized(site(**APART)).server
    assert server is not None
    assert server.site_calibration is None
    with pytest.raises(InputError, match="expert parallelism is not supported"):
        calibrate(server, [], source=("mine",), day=date(2026, 11, 21))


def test_a_pool_says_in_a_few_words_how_it_lies_on_its_gpus() -> None:
    base = Pool(name="p", model="m", node_group="g", max_model_len=4096)
    said = [
        base.model_copy(update=more).spread
        for more in ({}, {"tensor_parallel_size": 8, "pipeline_parallel_size": 2}, APART)
    ]
    assert said == ["TP 1", "TP 8 x PP 2", "DP 8 + EP"]
