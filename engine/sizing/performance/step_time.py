"""Times of one step of a replica, in seconds: a decode step of a batch, or a prefill of prompt tokens. Pure.

A step is the sum of:
- matrix products: the larger of arithmetic and reading of weights, smoothed; only the experts in use are read;
- attention: reading of the cache and arithmetic over it;
- links: two all-reduces per layer;
- software: time per layer, per step and per sequence.

    steps = Steps(replica, load_calibration().constant, VLLM)
    steps.decode_s(batch=32, context=2048)
    steps.prefill_s(tokens=2048, input_tokens=2048)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import NamedTuple

from .engines import VLLM, Engine
from .replica_model import ReplicaModel

_ACTIVATION_BYTES = 2  # bf16 between layers
_LATENCY_PER_DOUBLING = 0.15  # increase of an all-reduce's latency per doubling of the ranks: guess

_HIDDEN = 8192  # hidden size of Llama 70B, reference point of `width_power`
_WATTS_PER_TFLOPS = 0.7  # of an H100 SXM in dense bf16, reference point of `arithmetic_power`
_MAX_FLOPS_SHARE = 0.95  # largest fraction of a GPU's peak: guess, for GPUs such as the H20 with a power reserve


class StepBreakdown(NamedTuple):
    """Components of a step's time."""

    products_s: float
    """Matrix products: arithmetic or reading of the weights."""
    attention_s: float
    """Decode: reading of the cache, scores and values. Prefill: scores and values."""
    links_s: float
    software_s: float


@dataclass(frozen=True, slots=True)
class Steps:
    """Step times of one replica.

    Args:
        constant: returns a calibration constant by name; an argument because the fit varies it.
        engine: names of the engine's constants.
        factor: measured step time of the site's server / computed step time.
    """

    replica: ReplicaModel
    constant: Callable[[str], float]
    engine: Engine = VLLM
    factor: float = 1.0

    def decode_s(self, batch: float, context: float) -> float:
        """Return the time of one token for each of `batch` sequences with `context` tokens on average.

        A pipeline splits the batch over its stages; the result is the time until every sequence has its token.
        """
        return sum(self.decode_breakdown(batch, context))

    def decode_breakdown(self, batch: float, context: float) -> StepBreakdown:
        """Return the components of a decode step."""
        part = batch / self.replica.pipeline_parallel_size
        software_s = self.software_s + part * self.constant(self.engine.per_sequence) * 1e-6
        return self._parts(self._products_s(part, part), self._cache_s(part, context), part, software_s)

    def prefill_s(self, tokens: float, input_tokens: float) -> float:
        """Return the seconds to prefill `tokens` tokens of prompts of `prompt` tokens."""
        return sum(self.prefill_breakdown(tokens, input_tokens))

    def prefill_breakdown(self, tokens: float, input_tokens: float) -> StepBreakdown:
        """Return the components of a prefill."""
        replica, shape = self.replica, self.replica.shape
        scores = (
            2 * shape.attention_width * input_tokens * tokens * shape.attention_layers
        )  # causal mask: half of both products
        bf16 = self._flops(replica.gpu.dense_tflops.bf16)
        attention_s = scores / (bf16 * self.constant("attention_share")) / replica.gpus_per_stage
        return self._parts(self._products_s(tokens, tokens / input_tokens), attention_s, tokens, self.software_s)

    def _parts(self, products_s: float, attention_s: float, tokens: float, software_s: float) -> StepBreakdown:
        factor = self._time_factor
        links_s = self._links_s(tokens)
        return StepBreakdown(products_s * factor, attention_s * factor, links_s * factor, software_s * factor)

    def _cache_s(self, batch: float, context: float) -> float:
        """Return the time to read the cache of `batch` sequences, plus the arithmetic of all query heads.

        If many query heads share the cache, arithmetic dominates; a smaller cache dtype then saves little time.
        """
        replica, constant = self.replica, self.constant
        read = batch * replica.context_bytes(context)
        if replica.data_parallel_size > 1:
            read /= replica.gpus_per_stage
        read_s = read / (replica.gpu.memory_bandwidth_gb_s * 1e9 * constant("hbm_cache"))
        share = constant("attention_share" if replica.shape.has_latent else "attention_decode")
        products = 2 * batch * replica.shape.decode_width * replica.attended(context)
        flops = self._flops(replica.gpu.dense_tflops.bf16) * share
        return read_s + products / flops / replica.gpus_per_stage

    def _flops(self, tflops: float, width: float = _HIDDEN) -> float:
        """Return the FLOP/s that matrix products reach, from a peak in TFLOP/s.

        The fraction decreases with fewer watts per TFLOP/s, because such a GPU lowers its clock during a prefill. It
        increases with the width of the matrices.
        """
        gpu, constant = self.replica.gpu, self.constant
        watts = gpu.tdp_w / gpu.dense_tflops.bf16 / _WATTS_PER_TFLOPS
        share = constant("arithmetic") * constant(f"arithmetic_{self.replica.generation}")
        share *= watts ** constant("arithmetic_power") * (width / _HIDDEN) ** constant("width_power")
        return tflops * 1e12 * min(_MAX_FLOPS_SHARE, float(share))

    @property
    def _time_factor(self) -> float:
        return self.factor * (self.constant(self.engine.factor) if self.engine.factor else 1.0)

    def _products_s(self, tokens: float, outputs: float) -> float:
        """Return the time of all matrix products over `tokens` tokens; `outputs` of them use the output layer."""
        replica, shape, constant = self.replica, self.replica.shape, self.constant
        precision, tflops = replica.arithmetic
        flops = self._flops(tflops, shape.hidden)
        if precision != "bf16":
            flops *= constant(f"arithmetic_{precision}")
        if replica.is_widened:
            flops *= constant("arithmetic_widened")
        bandwidth = replica.gpu.memory_bandwidth_gb_s * 1e9 * constant("hbm_weights")
        ranks, corner = replica.gpus_per_stage, constant("corner")
        compute_s = 2 * (shape.dense_parameters * tokens + shape.head_parameters * outputs) / flops
        dense_read_s = replica.dense_bytes / bandwidth
        experts_s = 0.0
        if shape.expert_parameters:
            active = shape.expert_parameters * shape.top_k / shape.experts
            expert_bytes = shape.expert_parameters * shape.active_experts(tokens) * replica.precision.bytes_per_weight
            share = shape.expert_ffn / (shape.expert_ffn + constant("narrow_ffn"))
            experts_s = _soft_max(2 * active * tokens / (flops * share), expert_bytes / bandwidth, corner)
        if replica.data_parallel_size > 1:  # each rank reads all dense weights
            return _soft_max(compute_s / ranks, dense_read_s, corner) + experts_s / ranks
        return (_soft_max(compute_s, dense_read_s, corner) + experts_s) / ranks

    def _links_s(self, tokens: float) -> float:
        """Return the time of all-reduces (with data parallelism: of expert exchanges) over `tokens` tokens."""
        replica, shape, constant = self.replica, self.replica.shape, self.constant
        ranks = replica.gpus_per_stage
        if ranks == 1:
            return 0.0
        sent = tokens * shape.hidden * _ACTIVATION_BYTES
        if replica.data_parallel_size > 1:
            sent *= min(shape.top_k, ranks) / ranks
        latency_us = constant("exchange_us" if replica.has_fast_links else "exchange_pcie_us") * (
            1 + _LATENCY_PER_DOUBLING * log2(ranks)
        )
        link = replica.gpu.scale_up.gb_s_per_gpu_per_direction * 1e9 * constant("links")
        return shape.exchanges * (latency_us * 1e-6 + 2 * sent * (ranks - 1) / ranks / link)

    @property
    def software_s(self) -> float:
        """Software time of a step, independent of its tokens."""
        per_layer = "layer_experts_us" if self.replica.shape.expert_parameters else self.engine.layer
        return (self._layers * self.constant(per_layer) + self.constant("step_us")) * 1e-6

    @property
    def launches_s(self) -> float:
        """Time before a prefill in which its first kernels are launched."""
        shape, engine = self.replica.shape, self.engine
        name = engine.launch_experts if shape.expert_parameters else engine.launch
        name = engine.launch_states if shape.has_states else name
        return self._layers * self.constant(name) * 1e-6 if name else 0.0

    @property
    def _layers(self) -> float:
        return self.replica.shape.exchanges / 2  # one attention or state plus one MLP


def _soft_max(a: float, b: float, corner: float) -> float:
    """Return a smooth maximum of `a` and `b`; a larger `corner` is closer to the exact maximum."""
    return float((a**corner + b**corner) ** (1 / corner))
