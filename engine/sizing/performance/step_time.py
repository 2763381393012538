"""How long one step of a replica takes: a decode step over a batch, or a prefill of some tokens. Seconds; pure.

A step is matrix products, which take as long as their arithmetic or the reading of their weights (whichever is
longer, with a soft corner), the attention's reading of the cache and its arithmetic over it, two all-reduces a layer,
and what the software spends per layer, per step and per sequence. Experts are read as far as the batch wakes them.

    steps = Steps(replica, load_calibration().constant, VLLM)
    steps.decode_s(batch=32, context=2048)
    steps.prefill_s(tokens=2048, prompt=2048)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import NamedTuple

from .engines import VLLM, Engine
from .replica_model import ReplicaModel

_ACTIVATION_BYTES = 2  # bf16 between layers
_MORE_HOPS = (
    0.15  # of an all-reduce's latency more with each doubling of its ranks: guess, of the reference's prototype
)

_HIDDEN = 8192  # of Llama 70B: what `width_power` counts from
_WATTS_PER_TFLOPS = 0.7  # of an H100 SXM in bf16, dense: what `arithmetic_power` counts from
_MOST_SHARE = 0.95  # of its peak that any GPU reaches: guess, for the likes of H20 with power to spare


class StepBreakdown(NamedTuple):
    """Seconds that a step is the sum of."""

    products_s: float
    """Matrix products: their arithmetic, or the reading of their weights."""
    attention_s: float
    """Reading the cache in a decode step, with scores and values; these alone in a prefill."""
    links_s: float
    software_s: float


@dataclass(frozen=True, slots=True)
class Steps:
    """Step times of one replica.

    Args:
        constant: a calibration's; an argument, so that the fit can vary it.
        engine: names of the constants in which engines differ.
        factor: how much longer still this server's steps take, as a site measured it.
    """

    replica: ReplicaModel
    constant: Callable[[str], float]
    engine: Engine = VLLM
    factor: float = 1.0

    def decode_s(self, batch: float, context: float) -> float:
        """One more token for each of `batch` sequences, whose contexts are `context` tokens on average.

        In a pipeline the batch is split over the stages; this is the time until each sequence has its token.
        """
        return sum(self.decode_breakdown(batch, context))

    def decode_breakdown(self, batch: float, context: float) -> StepBreakdown:
        """What a decode step is made of."""
        part = batch / self.replica.pipeline_parallel_size
        software_s = self.software_s + part * self.constant(self.engine.per_sequence) * 1e-6
        return self._parts(self._products_s(part, part), self._cache_s(part, context), part, software_s)

    def prefill_s(self, tokens: float, input_tokens: float) -> float:
        """`tokens` tokens of prompts that are `prompt` long."""
        return sum(self.prefill_breakdown(tokens, input_tokens))

    def prefill_breakdown(self, tokens: float, input_tokens: float) -> StepBreakdown:
        """What a prefill is made of."""
        replica, shape = self.replica, self.replica.shape
        scores = (
            2 * shape.attention_width * input_tokens * tokens * shape.attention_layers
        )  # causal: half of both products
        bf16 = self._flops(replica.gpu.dense_tflops.bf16)
        attention_s = scores / (bf16 * self.constant("attention_share")) / replica.gpus_per_stage
        return self._parts(self._products_s(tokens, tokens / input_tokens), attention_s, tokens, self.software_s)

    def _parts(self, products_s: float, attention_s: float, tokens: float, software_s: float) -> StepBreakdown:
        longer = self._longer
        links_s = self._links_s(tokens)
        return StepBreakdown(products_s * longer, attention_s * longer, links_s * longer, software_s * longer)

    def _cache_s(self, batch: float, context: float) -> float:
        """Reading the cache of `batch` sequences, then the arithmetic of every query head with every cached token.

        Where many query heads share what is cached, much of the time is arithmetic: fewer bytes of cache save little.
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
        """FLOP/s that products reach, of a peak in TFLOP/s.

        A GPU whose peak is high for its power cannot hold its clock through a prefill: the share falls with the watts
        that it has for each of its TFLOP/s. It grows with the width of what is multiplied.
        """
        gpu, constant = self.replica.gpu, self.constant
        watts = gpu.tdp_w / gpu.dense_tflops.bf16 / _WATTS_PER_TFLOPS
        share = constant("arithmetic") * constant(f"arithmetic_{self.replica.generation}")
        share *= watts ** constant("arithmetic_power") * (width / _HIDDEN) ** constant("width_power")
        return tflops * 1e12 * min(_MOST_SHARE, float(share))

    @property
    def _longer(self) -> float:
        return self.factor * (self.constant(self.engine.factor) if self.engine.factor else 1.0)

    def _products_s(self, tokens: float, outputs: float) -> float:
        """All matrix products of a step over `tokens` tokens, of which `outputs` go through the output layer."""
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
            expert_bytes = shape.expert_parameters * shape.touched(tokens) * replica.precision.bytes_per_weight
            share = shape.expert_ffn / (shape.expert_ffn + constant("narrow_ffn"))
            experts_s = _soft_max(2 * active * tokens / (flops * share), expert_bytes / bandwidth, corner)
        if replica.data_parallel_size > 1:  # every GPU reads the dense weights for its share of the tokens
            return _soft_max(compute_s / ranks, dense_read_s, corner) + experts_s / ranks
        return (_soft_max(compute_s, dense_read_s, corner) + experts_s) / ranks

    def _links_s(self, tokens: float) -> float:
        """All-reduces, mostly two a layer (or the exchange of an expert-parallel one) over `tokens` tokens."""
        replica, shape, constant = self.replica, self.replica.shape, self.constant
        ranks = replica.gpus_per_stage
        if ranks == 1:
            return 0.0
        sent = tokens * shape.hidden * _ACTIVATION_BYTES
        if replica.data_parallel_size > 1:
            sent *= min(shape.top_k, ranks) / ranks
        latency_us = constant("exchange_us" if replica.has_fast_links else "exchange_pcie_us") * (
            1 + _MORE_HOPS * log2(ranks)
        )
        link = replica.gpu.scale_up.gb_s_per_gpu_per_direction * 1e9 * constant("links")
        return shape.exchanges * (latency_us * 1e-6 + 2 * sent * (ranks - 1) / ranks / link)

    @property
    def software_s(self) -> float:
        """What the software spends on a step, whatever is in it."""
        per_layer = "layer_experts_us" if self.replica.shape.expert_parameters else self.engine.layer
        layers = self.replica.shape.exchanges / 2  # an attention or state and an MLP, be they one layer or two
        return (layers * self.constant(per_layer) + self.constant("step_us")) * 1e-6


def _soft_max(a: float, b: float, corner: float) -> float:
    """The larger of both, a little more where they are equal; the larger `corner`, the sharper."""
    return float((a**corner + b**corner) ** (1 / corner))
