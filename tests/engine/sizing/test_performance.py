"""The performance model: it behaves as the field knows it, and it is as close to measurements as it promises."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.catalog.gpus import load_gpus
from sovctl.engine.catalog.models import load_models
from sovctl.engine.sizing.memory.kv_cache import AttentionSpan
from sovctl.engine.sizing.memory.weights import Precision
from sovctl.engine.sizing.performance.calibration import load_calibration
from sovctl.engine.sizing.performance.engines import TENSORRT, VLLM
from sovctl.engine.sizing.performance.replica_model import ReplicaModel, Shape, generation_of
from sovctl.engine.sizing.performance.step_time import Steps
from sovctl.engine.sizing.performance.throughput import Serving

CONSTANT = load_calibration().constant


def steps(model: str = "llama-3.1-70b", gpu: str = "H100-80GB-SXM", tensor_parallel_size: int = 4) -> Steps:
    replica = ReplicaModel.of(
        load_models()[model],
        load_gpus()[gpu],
        precision=Precision.FP8,
        kv_cache_dtype_bytes=1,
        tensor_parallel_size=tensor_parallel_size,
    )
    return Steps(replica, CONSTANT)


@given(st.floats(1, 512), st.floats(1, 512), st.floats(16, 100_000))
def test_a_larger_batch_takes_longer_and_yields_more(one: float, other: float, context: float) -> None:
    small, large = sorted((one, other))
    assert steps().decode_s(small, context) <= steps().decode_s(large, context)
    assert small / steps().decode_s(small, context) <= large / steps().decode_s(large, context) * (1 + 1e-9)


@given(st.floats(1, 256), st.floats(16, 50_000), st.floats(16, 50_000))
def test_longer_contexts_take_longer(batch: float, one: float, other: float) -> None:
    short, long = sorted((one, other))
    assert steps().decode_s(batch, short) <= steps().decode_s(batch, long)
    assert steps().prefill_s(short, short) <= steps().prefill_s(long, long)


def test_more_gpus_shorten_a_step_and_never_by_more_than_their_number() -> None:
    one, four = steps(tensor_parallel_size=1).decode_s(8, 1000), steps(tensor_parallel_size=4).decode_s(8, 1000)
    assert one / 4 < four < one


def test_experts_are_read_as_far_as_the_batch_wakes_them() -> None:
    mixture = steps("qwen3-235b-a22b").replica
    assert mixture.weights_bytes(1) < 0.15 * mixture.weights_bytes()
    assert mixture.weights_bytes(1000) == pytest.approx(mixture.weights_bytes(), rel=0.01)


def test_expert_parallel_replicas_hold_whole_caches() -> None:
    model, gpu = load_models()["qwen3-235b-a22b"], load_gpus()["H200-141GB-SXM"]
    apart = ReplicaModel.of(model, gpu, precision=Precision.FP8, data_parallel_size=8)
    sliced = ReplicaModel.of(model, gpu, precision=Precision.FP8, tensor_parallel_size=8)
    assert apart.context_bytes(1000) == 4 * sliced.context_bytes(1000)  # 4 KV heads, one on each rank at least


def test_waiting_begins_where_the_cache_ends() -> None:
    serving = Serving(steps(), kv_max_concurrency=50, max_batch=256)
    assert serving.closed(100, 1000, 500).batch == 50
    waiting, served = serving.closed(100, 1000, 500).ttft_s, serving.closed(50, 1000, 500).ttft_s
    assert waiting is not None
    assert served is not None
    assert waiting > served + 0.75 * 500 * serving.closed(50, 1000, 500).itl_s  # the rest follows preemptions


@given(st.floats(1, 256), st.floats(16, 20_000), st.floats(2, 4_000))
def test_littles_law_holds_where_prefills_make_answers_wait(
    load: float, input_tokens: float, output_tokens: float
) -> None:
    serving = Serving(steps(), kv_max_concurrency=512, max_batch=512)
    for found in (serving.closed(load, input_tokens, output_tokens), serving.open(load, input_tokens, output_tokens)):
        assert found.ttft_s is not None
        took_s, step_s = (
            found.ttft_s + found.itl_s * (output_tokens - 1),
            serving.decode_s(load, input_tokens + output_tokens / 2),
        )
        assert found.itl_s >= step_s
        if found.itl_s > step_s:
            assert found.output_tokens_per_s == pytest.approx(load * output_tokens / took_s)


def test_a_request_alone_waits_for_nobody() -> None:
    serving = Serving(steps(), kv_max_concurrency=50, max_batch=256)
    for found in (serving.open(1, 1000, 500), serving.closed(1, 1000, 500)):
        assert found.ttft_s == pytest.approx(serving.before_s + serving.prefill_s(1000))


def test_clients_whose_answers_are_of_one_length_wait_in_convoys_that_stop_growing() -> None:
    one = steps()
    alike, varied = (
        Serving(Steps(one.replica, CONSTANT, replace(VLLM, queue=queue)), kv_max_concurrency=9999, max_batch=4096)
        for queue in ("queue_closed", "")
    )

    def longer_s(clients: float) -> float:
        with_convoy, without = (each.closed(clients, 2000, 500).ttft_s for each in (alike, varied))
        assert with_convoy is not None
        assert without is not None
        return with_convoy - without

    assert longer_s(1) == 0
    assert longer_s(16) == pytest.approx(2 * longer_s(8.5), rel=0.1)
    assert longer_s(4000) == pytest.approx(longer_s(2000), rel=0.05)


def test_software_is_counted_by_attention_and_mlp_be_they_one_layer_or_two() -> None:
    layers = 52  # of Nemotron-3-Nano, each an attention, a state or an MLP
    replica = ReplicaModel.of(
        load_models()["nemotron-3-nano-30b-a3b"], load_gpus()["B200-SXM"], precision=Precision.FP8
    )
    spent_us = Steps(replica, CONSTANT, TENSORRT).decode_breakdown(0, 1).software_s * 1e6
    assert spent_us == pytest.approx(layers / 2 * CONSTANT("layer_experts_us") + CONSTANT("step_us"))


@pytest.mark.parametrize(
    ("precision", "gpu", "is_widened"),
    [
        (Precision.BF16, "H100-80GB-SXM", False),
        (Precision.FP8, "H100-80GB-SXM", False),
        (Precision.MXFP4, "B200-SXM", False),
        (Precision.MXFP4, "H100-80GB-SXM", True),
        (Precision.INT4, "B200-SXM", True),
        (Precision.FP8, "A100-80GB-SXM", True),
    ],
)
def test_weights_that_a_gpu_has_no_arithmetic_for_are_unpacked(
    precision: Precision, gpu: str, is_widened: bool
) -> None:
    replica = ReplicaModel.of(load_models()["gpt-oss-120b"], load_gpus()[gpu], precision=precision)
    assert replica.is_widened is is_widened
    others = {"arithmetic_widened": 0.1}
    slow = Steps(replica, lambda name: others.get(name) or CONSTANT(name))
    assert (slow.prefill_s(4096, 4096) > Steps(replica, CONSTANT).prefill_s(4096, 4096)) is is_widened


def test_stages_of_a_pipeline_prefill_different_prompts() -> None:
    one = steps(tensor_parallel_size=4)
    two = replace(one, replica=replace(one.replica, pipeline_parallel_size=2))
    at_once = [Serving(each, kv_max_concurrency=64, max_batch=64).together_s(4000, 8) for each in (one, two)]
    assert at_once[1] == pytest.approx(at_once[0] / 2)


def test_prompts_prefilled_together_cost_less_each_up_to_what_the_engine_takes() -> None:
    serving = Serving(steps(), kv_max_concurrency=512, max_batch=512)
    costs = [serving.together_s(500, prompts) for prompts in (1, 4, 16, 1000)]
    assert costs == sorted(costs, reverse=True)
    assert serving.together_s(500, 1000) == serving.together_s(500, 8192 / 500)


@pytest.mark.parametrize(
    ("model", "exchanges"),
    [("llama-3.3-70b", 2 * 80), ("nemotron-super-49b", 49 + 80), ("nemotron-3-nano-30b-a3b", 52)],
)
def test_all_reduces_follow_what_a_layer_is_made_of(model: str, exchanges: int) -> None:
    assert Shape.of(load_models()[model]).exchanges == exchanges


def test_every_constant_that_an_engine_names_is_there() -> None:
    for engine in (VLLM, TENSORRT):
        values = [getattr(engine, each.name) for each in fields(engine) if each.name != "name"]
        assert {value for value in values if isinstance(value, str) and value} <= set(load_calibration().constants)


def test_a_step_is_the_sum_of_its_parts() -> None:
    decode, prefill = steps().decode_breakdown(32, 2000), steps().prefill_breakdown(4000, 2000)
    assert sum(decode) == steps().decode_s(32, 2000)
    assert sum(prefill) == steps().prefill_s(4000, 2000)
    assert min(*decode, *prefill) > 0


def test_every_gpu_has_a_generation_with_a_constant() -> None:
    for gpu in load_gpus().values():
        assert f"arithmetic_{generation_of(gpu)}" in load_calibration().constants


@given(st.sampled_from(sorted(load_gpus())), st.floats(0.2, 5))
def test_more_power_for_the_same_peak_helps_a_prefill_and_never_past_the_peak(gpu: str, times: float) -> None:
    one = load_gpus()[gpu]
    other = one.model_copy(update={"tdp_w": max(1, round(one.tdp_w * times))})
    took = [
        Steps(ReplicaModel.of(load_models()["llama-3.1-8b"], each, precision=Precision.BF16), CONSTANT).prefill_s(
            4096, 4096
        )
        for each in (one, other)
    ]
    assert (took[1] <= took[0]) == (other.tdp_w >= one.tdp_w) or took[0] == took[1]
    at_peak_s = 2 * 8.03e9 * 4096 / (one.dense_tflops.bf16 * 1e12)
    assert min(took) > 0.85 * at_peak_s  # embeddings are looked up, not multiplied


def test_heads_over_one_latent_cost_arithmetic_not_only_reading() -> None:
    model, gpu = load_models()["deepseek-r1"], load_gpus()["H200-141GB-SXM"]
    tflops = gpu.dense_tflops.model_copy(update={"bf16": 200.0})
    slower = gpu.model_copy(update={"dense_tflops": tflops, "tdp_w": 141})  # as much power for each TFLOP/s
    took = [
        Steps(ReplicaModel.of(model, each, precision=Precision.FP8, tensor_parallel_size=8), CONSTANT).decode_s(
            16, 100_000
        )
        for each in (gpu, slower)
    ]
    assert took[1] > 1.05 * took[0]  # its products are FP8: only the attention computes in bf16


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_of_experts_with_the_same_arithmetic_narrow_ones_take_longer(one: int, other: int) -> None:
    replica = ReplicaModel.of(load_models()["mixtral-8x7b"], load_gpus()["H100-80GB-SXM"], precision=Precision.FP8)
    narrow, wide = (
        Steps(replace(replica, shape=replace(replica.shape, expert_ffn=ffn)), CONSTANT).prefill_s(4096, 4096)
        for ffn in sorted((one, other))
    )
    assert narrow >= wide


@given(st.floats(1, 256), st.floats(16, 100_000))
def test_fewer_bytes_of_cache_save_less_where_more_query_heads_look_at_it(batch: float, context: float) -> None:
    def saved(heads: int) -> float:
        one = steps(tensor_parallel_size=1)
        shape = replace(one.replica.shape, attention_width=heads * 128)
        wide, slim = (
            Steps(replace(one.replica, shape=shape, kv_cache_dtype_bytes=size), CONSTANT).decode_breakdown(
                batch, context
            )
            for size in (2, 1)
        )
        return 1 - slim.attention_s / wide.attention_s

    assert 0 < saved(64) < saved(8) <= 0.5


def test_a_wider_model_comes_nearer_to_the_peak_and_never_past_it() -> None:
    replica = ReplicaModel.of(load_models()["llama-3.1-8b"], load_gpus()["H100-80GB-SXM"], precision=Precision.BF16)
    took = [
        Steps(replace(replica, shape=replace(replica.shape, hidden=hidden)), CONSTANT, TENSORRT).prefill_s(8192, 8192)
        for hidden in (1024, 4096, 16_384, 1 << 20, 1 << 21)
    ]
    assert took == sorted(took, reverse=True)
    assert took[-1] == took[-2] > 0.85 * 2 * 8.03e9 * 8192 / 989e12  # embeddings are looked up, not multiplied


def test_a_prefill_of_vllm_is_launched_layer_by_layer() -> None:
    few, many = (
        Serving(steps(model), kv_max_concurrency=8, max_batch=8).before_s for model in ("llama-3.1-8b", "qwen3-32b")
    )
    assert many > 1.5 * few  # 32 and 64 layers
    recorded = replace(steps(), engine=TENSORRT)
    assert Serving(recorded, kv_max_concurrency=8, max_batch=8).before_s == CONSTANT("first_ms") * 1e-3


def test_a_state_is_read_and_written_however_long_the_context() -> None:
    replica = ReplicaModel.of(
        load_models()["nemotron-3-nano-30b-a3b"], load_gpus()["B200-SXM"], precision=Precision.FP8
    )
    [state] = [group for group in replica.shape.kv.groups if group.span is AttentionSpan.STATE]
    assert replica.context_bytes(1) > 2 * state.layers * state.elements * (state.heads or 1)
    assert replica.context_bytes(2) - replica.context_bytes(1) == replica.shape.kv.token_bytes()
