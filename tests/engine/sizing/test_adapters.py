"""Room for LoRA adapters, as vLLM's layers lay it out, from site.yaml to the KV cache."""

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
from sovctl.engine.sizing import GIB
from sovctl.engine.sizing.explain.pool import explain
from sovctl.engine.sizing.memory.lora_adapters import adapter_bytes
from sovctl.engine.sizing.memory.weights import Weights
from sovctl.engine.sizing.pool.pool import PoolSizing, pool_cases, size_pool
from sovctl.engine.sizing.report.summary import summary
from sovctl.engine.validation.load import LoadedSpec, parse
from sovctl.support.errors import SpecError

SHA = "ab" * 32
BANK = preset_values("bank-hybrid")
BANK["perimeter"]["exceptions"][0]["expires"] = "2036-12-31"


def site(lora: dict[str, Any] | None, **pool: Any) -> LoadedSpec:
    """The bank with one pool, which has these adapters."""
    value = {key: item for key, item in BANK.items() if key != "gateway"}
    value["site"] = {**value["site"], "placement": "on-prem"}
    value["perimeter"] = {"management": ["10.20.0.0/28"]}
    value["pools"] = [{**BANK["pools"][0], **pool, **({"lora": lora} if lora else {})}]
    value["workload"] = BANK["workload"][:1]
    return parse(
        yaml.safe_dump(value).encode(),
        path=Path("site.yaml"),
        today=date(2026, 11, 21),
        catalog=load_catalog(),
        is_draft=True,
    )


def adapters(*names: str, **more: Any) -> dict[str, Any]:
    return {"adapters": [{"name": name, "manifest_sha256": SHA} for name in names], **more}


def sized(loaded: LoadedSpec) -> PoolSizing:
    (found,) = [size_pool(case) for case in pool_cases(loaded.spec, load_catalog())]
    return found


def problems(lora: dict[str, Any], **pool: Any) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as caught:
        site(lora, **pool)
    return [(each.where.split(": ")[-1], each.message) for each in caught.value.problems]


def test_one_gpu_holds_both_matrices_and_eight_hold_more_than_an_eighth() -> None:
    weights = Weights.of(load_models()["llama-3.3-70b"])
    alone, split = adapter_bytes(weights, 16), adapter_bytes(weights, 16, tensor_parallel_size=8)
    # By hand, one layer and rank: q and o 8192 + 8192 each, k and v 8192 + 1024 each, gate, up, down 8192 + 28672.
    assert alone == 80 * 16 * 2 * (2 * 16384 + 2 * 9216 + 3 * 36864)
    # Divided by 8: the outputs of q, k, v, gate, up, and the inputs of o and down.
    assert split == 80 * 16 * 2 * (2 * (8192 + 1024) + 2 * (8192 + 128) + 3 * (8192 + 3584))
    assert split > alone / 8 * 2


def test_experts_have_adapters_of_their_own() -> None:
    weights = Weights.of(load_models()["qwen3-30b-a3b"])
    experts = 48 * 128 * 16 * 2 * 3 * (2048 + 768)
    assert experts < adapter_bytes(weights, 16) < experts * 1.1


@given(
    st.sampled_from(sorted(load_models())),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([8, 16, 64]),
)
def test_more_gpus_never_hold_more_of_it_each_and_never_less_than_their_share(
    model: str, tensor: int, pipeline: int, rank: int
) -> None:
    weights = Weights(load_models()[model], precision=None)  # type: ignore[arg-type]  # not looked at
    alone = adapter_bytes(weights, rank)
    each = adapter_bytes(weights, rank, tensor_parallel_size=tensor, pipeline_parallel_size=pipeline)
    assert alone / (tensor * pipeline) - 1e-6 <= each <= alone
    assert adapter_bytes(weights, 2 * rank) == pytest.approx(2 * alone)


def test_adapters_of_a_pool_take_from_its_kv_cache_and_the_steps_say_so() -> None:
    plain, adapted = sized(site(None)), sized(site(adapters("a", "b", "c", "d", max_loras=4, max_lora_rank=64)))
    assert plain.server is not None
    assert adapted.server is not None
    taken = adapted.server.memory().adapters_bytes
    one = adapter_bytes(adapted.server.weights, 64, tensor_parallel_size=adapted.server.tensor_parallel_size)
    assert taken == 4 * one > GIB
    assert plain.server.kv_bytes() - adapted.server.kv_bytes() == pytest.approx(taken)
    assert plain.limit is not None
    assert adapted.limit is not None
    assert adapted.limit.point.in_flight <= plain.limit.point.in_flight
    assert summary(adapted)["gpu_bytes"]["adapters"] == round(taken)
    titles = {step.title: step for step in explain(adapted)}
    assert "max_loras 4, max_lora_rank 64, bf16" in titles["LoRA adapters on one GPU"].inputs
    assert any(each.startswith("LoRA adapters") for each in titles["memory of one GPU"].inputs)
    assert "LoRA adapters on one GPU" not in {step.title for step in explain(plain)}


def test_auto_leaves_room_for_adapters() -> None:
    lora = adapters(*(f"a{i}" for i in range(16)), max_loras=16, max_lora_rank=256)
    sizes = [site(each, tensor_parallel_size="auto").spec.pools[0].tensor_parallel_size for each in (None, lora)]
    assert sizes[0] < sizes[1]
    assert problems(lora, tensor_parallel_size=sizes[0])


def test_adapters_that_do_not_fit_are_refused_with_the_arithmetic() -> None:
    found = problems(adapters(*(f"a{i}" for i in range(64)), max_loras=64, max_lora_rank=512))
    assert [where for where, _ in found] == ["pools[0]"]
    assert "LoRA adapters" in found[0][1]


def test_bad_adapters_are_named_all_at_once() -> None:
    pool, model = BANK["pools"][0]["name"], BANK["pools"][0]["model"]
    found = problems(adapters(pool, model, "twice", "twice", max_loras=9, max_cpu_loras=2))
    assert sorted(found) == sorted(
        [
            ("pools[0].lora.adapters[0].name", f"expected a name of its own, got `{pool}`, which is a pool"),
            ("pools[0].lora.adapters[1].name", f"expected a name of its own, got `{model}`, which is a model"),
            ("pools[0].lora.adapters[3].name", "expected every adapter once, got `twice` again"),
            ("pools[0].lora.max_loras", "expected at most 4, as many as there are adapters, got 9"),
            ("pools[0].lora.max_cpu_loras", "expected at least max_loras, 9, got 2"),
        ]
    )
