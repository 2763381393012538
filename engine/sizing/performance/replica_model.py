"""Model of one replica: parameters, cache bytes and GPU figures from which step times are computed.

Counts the dense weights, experts, output layer, cache bytes and all-reduces of a step. Contains no times and no fitted
constants; see `step_time`.

    replica = Replica.of(load_models()["llama-3.3-70b"], gpu, precision=Precision.FP8, tensor_parallel_size=2)
"""

from __future__ import annotations

from dataclasses import dataclass

from sovctl.support.errors import InputError

from ...catalog.gpus import Gpu
from ...catalog.models import Arch, ModelEntry
from ..memory.cache_layout import kv_cache
from ..memory.composite_cache import CompositeCache
from ..memory.kv_cache import AttentionSpan, KvCache, LayerGroup
from ..memory.weights import ONLY_EXPERTS, Precision, Weights

_BF16_BYTES = 2
_ARITHMETIC_BYTES = {"bf16": 2.0, "fp8": 1.0, "fp4": 0.5}


@dataclass(frozen=True, slots=True)
class Shape:
    """Figures of a model that determine the step time; weights in parameters, not bytes."""

    layers: int
    hidden: int
    attention_width: int
    """Query heads x head dimension."""
    attention_layers: int
    """Layers with attention over the whole context."""
    dense_parameters: int
    """Parameters used by every token, without embeddings and output layer."""
    head_parameters: int
    """Parameters of the output layer."""
    expert_parameters: int
    """Parameters of all routed experts; 0 for a dense model."""
    experts: int
    top_k: int
    kv: KvCache
    exchanges: int = 0
    """All-reduces of a step with tensor parallelism: one after every attention or state layer and every MLP."""
    expert_ffn: int = 0
    """Intermediate size of an expert; 0 for a dense model."""
    latent_width: int = 0
    """Latent attention: multiplications of all query heads with one cached token, scores and values; else 0."""

    @classmethod
    def of(cls, model: ModelEntry) -> Shape:
        """Return the shape of a model in the catalogue.

        Raises:
            InputError: the catalogue lacks a figure of the shape, or the attention was not measured.
        """
        kv, arch, weights = kv_cache(model), model.arch, Weights.of(model, Precision.BF16)
        if isinstance(kv, CompositeCache):  # no published measurement of such layers
            raise InputError(f"no published step times for attention {model.attention}", where=model.id)
        assert arch.layers is not None
        assert arch.hidden is not None
        embedding = (arch.vocab or 0) * arch.hidden
        experts = weights.expert_parameters
        outside = embedding * (1 if arch.tied else 2)
        return cls(
            layers=arch.layers,
            hidden=arch.hidden,
            attention_width=_attention_width(arch),
            attention_layers=sum(group.layers for group in kv.groups if group.span is AttentionSpan.FULL),
            dense_parameters=max(weights.total_parameters - experts - outside, arch.layers * arch.hidden),
            head_parameters=embedding,
            expert_parameters=experts,
            experts=arch.moe.experts if arch.moe else 1,
            top_k=arch.moe.top_k if arch.moe else 1,
            kv=kv,
            exchanges=_exchanges(arch, sum(group.layers for group in kv.groups)),
            expert_ffn=arch.moe.ffn if arch.moe else 0,
            latent_width=(arch.heads or 0) * (2 * arch.kv_lora_rank + (arch.qk_rope_head_dim or 0))
            if arch.kv_lora_rank
            else 0,
        )

    @property
    def has_latent(self) -> bool:
        """Whether all query heads share one latent, as in DeepSeek-V2 and its successors."""
        return self.latent_width > 0

    @property
    def has_states(self) -> bool:
        """Whether layers have a state of fixed size, as in Mamba and linear attention."""
        return any(group.span is AttentionSpan.STATE for group in self.kv.groups)

    @property
    def decode_width(self) -> int:
        """Multiplications of a new token's query heads with one cached token of a layer, scores and values."""
        return self.latent_width or 2 * self.attention_width

    def active_experts(self, tokens: float) -> float:
        """Return the fraction of experts used by `tokens` tokens, if each selects `top_k` at random."""
        return 1 - (1 - self.top_k / self.experts) ** tokens if self.expert_parameters else 0.0


@dataclass(frozen=True, slots=True)
class ReplicaModel:
    """A model in one precision and parallel layout on GPUs."""

    shape: Shape
    gpu: Gpu
    generation: str
    """GPU family; see `generation_of`."""
    precision: Precision
    dense_bytes_per_weight: float
    kv_cache_dtype_bytes: float
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    data_parallel_size: int = 1

    @classmethod
    def of(
        cls,
        model: ModelEntry,
        gpu: Gpu,
        *,
        precision: Precision,
        kv_cache_dtype_bytes: float = 2,
        tensor_parallel_size: int = 1,
        pipeline_parallel_size: int = 1,
        data_parallel_size: int = 1,
    ) -> ReplicaModel:
        """Return the replica of a model in the catalogue.

        Raises:
            InputError: the catalogue lacks a figure of the model's shape.
        """
        is_for_experts = precision in ONLY_EXPERTS and model.arch.moe is not None
        dense = _BF16_BYTES if is_for_experts else precision.bytes_per_weight
        return cls(
            Shape.of(model),
            gpu,
            generation_of(gpu),
            precision,
            dense,
            kv_cache_dtype_bytes,
            tensor_parallel_size,
            pipeline_parallel_size,
            data_parallel_size,
        )

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.gpus_per_stage * self.pipeline_parallel_size

    @property
    def gpus_per_stage(self) -> int:
        """GPUs of one pipeline stage."""
        return self.tensor_parallel_size * self.data_parallel_size

    @property
    def arithmetic(self) -> tuple[str, float]:
        """Precision of the arithmetic and the GPU's dense TFLOP/s in it.

        Weights are unpacked to the next precision that the GPU supports.
        """
        tflops = self.gpu.dense_tflops
        has_scales = self.precision in (Precision.NVFP4, Precision.MXFP4)
        if has_scales and tflops.fp4 is not None:
            return "fp4", tflops.fp4
        if self.precision in (Precision.NVFP4, Precision.FP8, Precision.INT8) and tflops.fp8 is not None:
            return "fp8", tflops.fp8
        return "bf16", tflops.bf16

    @property
    def is_widened(self) -> bool:
        """Whether weights have fewer bits than the arithmetic, so that they are unpacked first."""
        return self.precision.bytes_per_weight < _ARITHMETIC_BYTES[self.arithmetic[0]]

    @property
    def has_fast_links(self) -> bool:
        """Whether the GPUs of a replica are connected by NVLink or Infinity Fabric instead of PCIe."""
        return self.gpu.scale_up.link.startswith(("NVLink", "Infinity"))

    @property
    def kv_ranks(self) -> int:
        """Ranks that divide a session's cache; 1 with data parallelism, where each rank serves its own requests."""
        return 1 if self.data_parallel_size > 1 else self.tensor_parallel_size

    def context_bytes(self, tokens: float) -> float:
        """Return the cache bytes that the next token of a session of `tokens` reads on one rank, over all stages."""
        return sum(
            group.layers * group.rank_bytes(self.kv_ranks, self.kv_cache_dtype_bytes) * _tokens_read(group, tokens)
            for group in self.shape.kv.groups
        )

    def attended(self, tokens: float) -> float:
        """Return the cached tokens that the next token of a session of `tokens` attends to, summed over layers."""
        groups = self.shape.kv.groups
        return sum(
            group.layers * _tokens_read(group, tokens) for group in groups if group.span is not AttentionSpan.STATE
        )

    def weights_bytes(self, tokens: float = 1e9) -> float:
        """Return the bytes of weights that a step over `tokens` tokens reads, over all GPUs."""
        experts = self.shape.expert_parameters * self.shape.active_experts(tokens) * self.precision.bytes_per_weight
        return self.dense_bytes + experts

    @property
    def dense_bytes(self) -> float:
        """Bytes of the dense weights and the output layer, which every step reads."""
        shape = self.shape
        return shape.dense_parameters * self.dense_bytes_per_weight + shape.head_parameters * _BF16_BYTES


def _attention_width(arch: Arch) -> int:
    """Return the multiplications of a query with one prompt token, the mean of scores and values."""
    heads = arch.heads or 0
    if arch.kv_lora_rank and arch.v_head_dim:  # a prefill expands the latent: DeepSeek-V2, arXiv 2405.04434, 2.1
        return heads * ((arch.qk_nope_head_dim or 0) + (arch.qk_rope_head_dim or 0) + arch.v_head_dim) // 2
    return heads * (arch.head_dim or 0)


def _exchanges(arch: Arch, mixers: int) -> int:
    """Return the all-reduces of a step.

    Args:
        mixers: layers with attention or a state. An MLP follows each layer, or is its own layer as in Nemotron-H.
    """
    layers = arch.layers or 0
    is_single = arch.moe is not None and 0 < mixers < layers and mixers + arch.moe.layers <= layers
    return layers if is_single else (mixers or layers) + layers  # encoders have no cache groups, so mixers is 0


def _tokens_read(group: LayerGroup, tokens: float) -> float:
    """Return the cached tokens (or states) of a layer that a new token reads; a state is read and written: 2."""
    if group.span is AttentionSpan.STATE:
        return 2
    return min(tokens, group.window) if group.span is AttentionSpan.WINDOW else tokens


def generation_of(gpu: Gpu) -> str:
    """Return the GPU family with the same efficiency: `sm80`, `sm90`, ..., or `cdna3`."""
    capability = gpu.compute_capability
    if capability.startswith("gfx"):
        return {"gfx942": "cdna3", "gfx950": "cdna4"}.get(capability, "cdna3")
    major = capability.partition(".")[0]
    return "sm89" if capability == "8.9" else f"sm{major}0"
