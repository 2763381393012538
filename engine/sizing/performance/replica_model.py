"""One replica: a model in some precision on some GPUs, reduced to the numbers that time depends on.

Everything a step needs is counted here once: weights that every token passes, experts, the output layer, what the
cache holds, what the links carry. No time, no constant that was fitted: see `step`.

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
    """A model as time sees it. Parameters, not bytes."""

    layers: int
    hidden: int
    attention_width: int
    """Query heads times their size."""
    attention_layers: int
    """Layers whose attention looks at the whole context."""
    dense_parameters: int
    """What every token passes, without embeddings and output layer."""
    head_parameters: int
    """The output layer."""
    expert_parameters: int
    """All routed experts; 0 for a dense model."""
    experts: int
    top_k: int
    kv: KvCache
    exchanges: int = 0
    """All-reduces of a step under tensor parallelism: one behind every attention or state, one behind every MLP."""
    expert_ffn: int = 0
    """Numbers between an expert's two matrices; 0 for a dense model."""
    latent_width: int = 0
    """Of latent attention: numbers that all query heads multiply with a cached token, scores and values; else 0."""

    @classmethod
    def of(cls, model: ModelEntry) -> Shape:
        """The shape of a model in the catalogue.

        Raises:
            InputError: the catalogue does not know enough of it.
        """
        kv, arch, weights = kv_cache(model), model.arch, Weights.of(model, Precision.BF16)
        if isinstance(kv, CompositeCache):  # nothing to hold the time of such layers against was published
            raise InputError(
                f"expected a kind of attention whose times are known, got {model.attention}", where=model.id
            )
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
        """True when all query heads look at one latent, as in DeepSeek-V2 and what came of it."""
        return self.latent_width > 0

    @property
    def decode_width(self) -> int:
        """Numbers that the query heads of a new token multiply with one cached token of a layer, scores and values."""
        return self.latent_width or 2 * self.attention_width

    def touched(self, tokens: float) -> float:
        """Share of the experts that `tokens` tokens wake, when each takes `top_k` of them at random."""
        return 1 - (1 - self.top_k / self.experts) ** tokens if self.expert_parameters else 0.0


@dataclass(frozen=True, slots=True)
class ReplicaModel:
    """A model on GPUs."""

    shape: Shape
    gpu: Gpu
    generation: str
    """Of the GPU's arithmetic; see `generation_of`."""
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
        """A replica of a model in the catalogue.

        Raises:
            InputError: the catalogue does not know enough of the model's shape.
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
        """In which precision it computes, and the GPU's dense TFLOP/s in it; weights it has no arithmetic for widen."""
        tflops = self.gpu.dense_tflops
        has_scales = self.precision in (Precision.NVFP4, Precision.MXFP4)
        if has_scales and tflops.fp4 is not None:
            return "fp4", tflops.fp4
        if self.precision in (Precision.NVFP4, Precision.FP8, Precision.INT8) and tflops.fp8 is not None:
            return "fp8", tflops.fp8
        return "bf16", tflops.bf16

    @property
    def is_widened(self) -> bool:
        """True when its weights have fewer bits than what it computes in: each is unpacked before it is multiplied."""
        return self.precision.bytes_per_weight < _ARITHMETIC_BYTES[self.arithmetic[0]]

    @property
    def has_fast_links(self) -> bool:
        """True when the GPUs of a replica talk over NVLink or its like, not over PCIe."""
        return self.gpu.scale_up.link.startswith(("NVLink", "Infinity"))

    @property
    def kv_ranks(self) -> int:
        """Ranks over which tensor parallelism divides a session's cache; 1 when each GPU serves its own requests."""
        return 1 if self.data_parallel_size > 1 else self.tensor_parallel_size

    def context_bytes(self, tokens: float) -> float:
        """Bytes of cache that one more token of a session with `tokens` reads on one rank, all stages together."""
        return sum(
            group.layers * group.rank_bytes(self.kv_ranks, self.kv_cache_dtype_bytes) * _seen(group, tokens)
            for group in self.shape.kv.groups
        )

    def attended(self, tokens: float) -> float:
        """Cached tokens of a session with `tokens` that its next one looks at, summed over the layers."""
        groups = self.shape.kv.groups
        return sum(group.layers * _seen(group, tokens) for group in groups if group.span is not AttentionSpan.STATE)

    def weights_bytes(self, tokens: float = 1e9) -> float:
        """Bytes of the weights that a step over `tokens` tokens reads, over all GPUs."""
        experts = self.shape.expert_parameters * self.shape.touched(tokens) * self.precision.bytes_per_weight
        return self.dense_bytes + experts

    @property
    def dense_bytes(self) -> float:
        """Bytes of what every step reads."""
        shape = self.shape
        return shape.dense_parameters * self.dense_bytes_per_weight + shape.head_parameters * _BF16_BYTES


def _attention_width(arch: Arch) -> int:
    """Numbers that a query multiplies with every token of a prompt, the mean of scores and values."""
    heads = arch.heads or 0
    if arch.kv_lora_rank and arch.v_head_dim:  # a prefill unfolds the latent: DeepSeek-V2, arXiv 2405.04434, 2.1
        return heads * ((arch.qk_nope_head_dim or 0) + (arch.qk_rope_head_dim or 0) + arch.v_head_dim) // 2
    return heads * (arch.head_dim or 0)


def _exchanges(arch: Arch, mixers: int) -> int:
    """`mixers` layers look at other tokens; an MLP follows each layer, or is a layer of its own as in Nemotron-H."""
    layers = arch.layers or 0
    is_single = arch.moe is not None and 0 < mixers < layers and mixers + arch.moe.layers <= layers
    return layers if is_single else (mixers or layers) + layers  # encoders keep no cache that would name their mixers


def _seen(group: LayerGroup, tokens: float) -> float:
    """Tokens (or states) of a layer's cache that one new token reads; a state is read and written."""
    if group.span is AttentionSpan.STATE:
        return 2
    return min(tokens, group.window) if group.span is AttentionSpan.WINDOW else tokens


def generation_of(gpu: Gpu) -> str:
    """The family whose efficiency a GPU shares: `sm80`, `sm90`, ..., or `cdna3`."""
    capability = gpu.compute_capability
    if capability.startswith("gfx"):
        return {"gfx942": "cdna3", "gfx950": "cdna4"}.get(capability, "cdna3")
    major = capability.partition(".")[0]
    return "sm89" if capability == "8.9" else f"sm{major}0"
