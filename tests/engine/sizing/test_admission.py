"""Requests run together as vLLM's scheduler admits them; expected values come from a simulation of its rules."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

import pytest
from vllm_admission import Scheduler

from sovctl.engine.catalog.gpus import load_gpus
from sovctl.engine.catalog.models import load_models
from sovctl.engine.sizing.demand.lengths import Lengths
from sovctl.engine.sizing.memory.weights import Precision
from sovctl.engine.sizing.performance.admission import held_tokens, recomputed_tokens
from sovctl.engine.sizing.performance.calibration import load_calibration
from sovctl.engine.sizing.performance.engines import TENSORRT, VLLM
from sovctl.engine.sizing.performance.replica_model import ReplicaModel
from sovctl.engine.sizing.performance.step_time import Steps
from sovctl.engine.sizing.performance.throughput import Serving

KV_TOKENS = 136_560  # Qwen3 30B-A3B in bf16 on an H100, logged by vLLM 0.26.0 on 2026-11-23


def _step_s(tokens: int, requests: int) -> float:
    return 0.006 + (tokens - requests) * 2.2e-5 + requests * 4e-5


@pytest.mark.parametrize(("input_tokens", "output_tokens"), [(512, 512), (1500, 150), (256, 768)])
@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_as_many_requests_run_as_fit_with_half_of_their_answers(
    input_tokens: int, output_tokens: int, spread: float
) -> None:
    fitting = KV_TOKENS / held_tokens(input_tokens, output_tokens)
    clients = round(1.5 * fitting)
    out = Scheduler(KV_TOKENS, clients, input_tokens, output_tokens, _step_s, spread).run(3 * clients)
    assert out.running == pytest.approx(fitting, rel=0.1)
    expected = recomputed_tokens(output_tokens, clients / fitting)
    assert 0.4 * expected <= out.recomputed / out.ended <= 1.1 * expected


def test_requests_that_fit_are_not_preempted() -> None:
    clients = round(0.8 * KV_TOKENS / held_tokens(512, 512))
    out = Scheduler(KV_TOKENS, clients, 512, 512, _step_s, spread=0.3).run(3 * clients)
    assert out.recomputed / out.ended < 10
    assert recomputed_tokens(512, 0.8) == 0


def test_nearly_all_of_192_streams_run_at_once_on_an_h100() -> None:
    """Measured on 2026-11-23: reserving input plus output computed a first token 9 times too late."""
    model, gpu = load_models()["qwen3-30b-a3b"], load_gpus()["H100-80GB-SXM"]
    steps = Steps(ReplicaModel.of(model, gpu, precision=Precision.BF16), load_calibration().constant)
    admitted = Serving(steps, KV_TOKENS / held_tokens(512, 512), 256).closed(192, 512, 512)
    reserving = Serving(
        replace(steps, engine=replace(VLLM, reserves_answer=True)),
        KV_TOKENS / held_tokens(512, 512, reserves_answer=True),
        256,
    ).closed(192, 512, 512)
    assert admitted.batch > 0.9 * 192
    assert reserving.batch < 0.7 * 192
    assert admitted.ttft_s is not None
    assert reserving.ttft_s is not None
    assert admitted.ttft_s < reserving.ttft_s / 3
    simulated = Scheduler(KV_TOKENS, 192, 512, 512, _step_s).run(192)
    assert mean(simulated.ttft_s) < reserving.ttft_s / 3


def test_preemption_costs_prefills_only_where_answers_are_not_reserved() -> None:
    model, gpu = load_models()["qwen3-30b-a3b"], load_gpus()["H100-80GB-SXM"]
    vllm = Steps(ReplicaModel.of(model, gpu, precision=Precision.BF16), load_calibration().constant)
    for steps, is_slower in ((vllm, True), (replace(vllm, engine=TENSORRT), False)):
        tight, roomy = (Serving(steps, fitting, 4096).open(150, 512, 512) for fitting in (150, 1500))
        assert (tight.itl_s > roomy.itl_s) is is_slower


def test_long_answers_hold_more_because_they_run_longer() -> None:
    assert Lengths(300, 300).held_mean == 150
    assert Lengths(300, 750).held_mean == pytest.approx(248, abs=5)
