"""Bytes of a model's weights on one GPU after loading.

More than parameters x bytes: 4-bit formats include scales, embeddings and the output layer mostly stay in bf16, and
kernels pad experts. Tensor parallelism divides every layer, pipeline parallelism divides the number of layers.

    weights = Weights.of(load_models()["llama-3.1-70b"], Precision.FP8)
    weights.rank_bytes(tensor_parallel_size=2)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from sovctl.support.errors import InputError

from ...catalog.models import ModelEntry

_BF16_BYTES = 2


class Precision(StrEnum):
    """Storage format of the linear layers."""

    BF16 = "bf16"
    FP8 = "fp8"
    INT8 = "int8"
    INT4 = "int4"
    NVFP4 = "nvfp4"
    MXFP4 = "mxfp4"
    INT4_BF16 = "int4+bf16"  # routed experts in INT4, the rest in bf16, as Kimi-K2.5 is published
    MXFP4_FP8 = "mxfp4+fp8"  # routed experts in MXFP4, the rest in FP8, as DeepSeek-V4 is published

    @property
    def bytes_per_weight(self) -> float:
        """Bytes of one weight, including its scales."""
        return _BYTES[self]


ONLY_EXPERTS = (Precision.MXFP4, Precision.INT4_BF16)
"""Precisions of routed experts in models whose other weights are in bf16."""

_BYTES = {
    Precision.BF16: 2.0,
    Precision.FP8: 1.0 + 4 / (128 * 128),  # one fp32 scale for each block of 128 x 128, as DeepSeek and Qwen publish
    Precision.INT8: 1.0,  # one scale per output channel is negligible
    Precision.INT4: 0.5 + 2.5 / 128,  # AWQ and GPTQ, groups of 128: an fp16 scale and a 4-bit zero
    Precision.NVFP4: 0.5 + 1 / 16,  # an fp8 scale for each 16; NVIDIA, NVFP4 format, read 2026-11-20
    Precision.MXFP4: 0.5 + 1 / 32,  # an 8-bit exponent for each 32; OCP Microscaling Formats 1.0, 5.1
    Precision.MXFP4_FP8: 0.5 + 1 / 32,  # experts only
    Precision.INT4_BF16: 0.5 + 2 / 32,  # a bf16 scale for each 32: 594 GB; its checkpoint has 595 GB (models.yaml)
}

# Kernels need whole tiles. On Hopper vLLM pads MXFP4 experts to these sizes: gpt-oss-120b loads as 66.14 GiB on one
# GPU, 2 x 34.38, 4 x 17.22 and 8 x 8.66; its checkpoint has 60.8 GiB (published vLLM 0.22 logs, read 2026-11-20).
_MXFP4_HIDDEN_TILE, _MXFP4_FFN_TILE = 256, 128


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's weights in one precision."""

    model: ModelEntry
    precision: Precision

    @classmethod
    def of(cls, model: ModelEntry, precision: Precision | None = None) -> Weights:
        """Return the weights in `precision`, by default the released precision."""
        return cls(model, precision or released_precision(model))

    @property
    def embedding_parameters(self) -> int:
        """Parameters of the input embedding and output layer, which stay in bf16; 0 if the shape is unknown."""
        arch = self.model.arch
        if arch.vocab is None or arch.hidden is None:
            return 0
        return arch.vocab * arch.hidden * (1 if arch.tied else 2)

    @property
    def expert_parameters(self) -> int:
        """Parameters of all routed experts; 0 for a dense model."""
        arch = self.model.arch
        if arch.moe is None or arch.hidden is None:
            return 0
        matrices, width = 3 if arch.is_gated else 2, arch.moe.latent or arch.hidden
        return arch.moe.layers * arch.moe.experts * matrices * width * arch.moe.ffn

    @property
    def total_parameters(self) -> int:
        """Parameters of the model, computed from the shape; the published number if the shape is unknown."""
        params = self.model.params
        return params.computed_total or round(params.published_total_b * 1e9)

    @property
    def bf16_parameters(self) -> int:
        """Parameters in bf16: the embeddings, and all but the experts if only experts are quantized."""
        if self.precision in ONLY_EXPERTS:
            return self.total_parameters - self.expert_parameters
        return self.embedding_parameters

    def total_bytes(self, *, tensor_parallel_size: int = 1) -> float:
        """Return the bytes over all ranks, including padding.

        Args:
            tensor_parallel_size: GPUs that share each expert; the padding depends on it.
        """
        if self.precision is Precision.MXFP4_FP8:
            rest = self.total_parameters - self.bf16_parameters - self.expert_parameters
            stored = rest * _BYTES[Precision.FP8] + self.expert_bytes()
            return self.bf16_parameters * _BF16_BYTES + stored
        stored = (self.total_parameters - self.bf16_parameters) * self.precision.bytes_per_weight
        return self.bf16_parameters * _BF16_BYTES + stored * self.padding(tensor_parallel_size)

    def expert_bytes(self, *, tensor_parallel_size: int = 1) -> float:
        """Return the bytes of all routed experts, including padding; 0 for a dense model."""
        return self.expert_parameters * self.precision.bytes_per_weight * self.padding(tensor_parallel_size)

    def rank_bytes(
        self,
        *,
        tensor_parallel_size: int = 1,
        pipeline_parallel_size: int = 1,
        data_parallel_size: int = 1,
        enable_expert_parallel: bool = False,
    ) -> float:
        """Return the bytes on the fullest GPU of one replica.

        Args:
            data_parallel_size: ranks that share the experts and each hold all other weights.
            enable_expert_parallel: each expert is on one GPU, so it is padded once.
        """
        layers = self.model.arch.layers
        stage = 1 / pipeline_parallel_size if layers is None else ceil(layers / pipeline_parallel_size) / layers
        gpus_per_expert = 1 if enable_expert_parallel else tensor_parallel_size
        experts = self.expert_bytes(tensor_parallel_size=gpus_per_expert)
        rest = self.total_bytes(tensor_parallel_size=gpus_per_expert) - experts
        return (rest + experts / data_parallel_size) * stage / tensor_parallel_size

    def padding(self, tensor_parallel_size: int) -> float:
        """Return bytes of an expert with padding / without; 1 except for MXFP4."""
        arch = self.model.arch
        if arch.moe is None or arch.hidden is None or self.precision is not Precision.MXFP4:
            return 1.0
        ffn = arch.moe.ffn / tensor_parallel_size
        hidden = _up(arch.hidden, _MXFP4_HIDDEN_TILE) / arch.hidden
        return hidden * _up(ffn, _MXFP4_FFN_TILE) / ffn


def released_precision(model: ModelEntry) -> Precision:
    """Return the precision in which the maker published the model.

    Raises:
        InputError: unknown precision.
    """
    if model.released_dtype.startswith("fp8") and model.released_dtype.endswith("experts fp4"):
        return Precision.MXFP4_FP8
    for beginning, precision in _RELEASED.items():
        if model.released_dtype.startswith(beginning):
            return precision
    raise InputError(f"unknown released_dtype {model.released_dtype}", where=model.id)


_RELEASED = {
    "bfloat16": Precision.BF16,
    "float16": Precision.BF16,
    "fp8": Precision.FP8,
    "int4 experts": Precision.INT4_BF16,
    "int4": Precision.INT4,
    "mxfp4": Precision.MXFP4,
    "nvfp4": Precision.NVFP4,
}


def _up(size: float, tile: int) -> float:
    return ceil(size / tile) * tile
