"""Kernels and compilation of a pool: attention, experts, linear layers, CUDA graphs.

Only kernels for NVIDIA GPUs are listed. Source: vLLM 0.32.0, config/kernel.py, config/compilation.py, config/mamba.py
and v1/attention/backends/registry.py.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..types import SpecModel
from .section import JsonObject, ServeSection


class Kernels(ServeSection):
    """Implementations of layers. Default: chosen by vLLM for model and GPU."""

    attention_backend: (
        Literal[
            "FLASH_ATTN",
            "FLASHINFER",
            "TRITON_ATTN",
            "FLEX_ATTENTION",
            "FLASH_ATTN_MLA",
            "FLASHINFER_MLA",
            "FLASHMLA",
            "CUTLASS_MLA",
            "TRITON_MLA",
        ]
        | None
    ) = None
    """Attention."""
    attention_config: JsonObject | None = None
    """Options of the attention backend."""
    moe_backend: (
        Literal[
            "auto",
            "triton",
            "deep_gemm",
            "cutlass",
            "flashinfer_trtllm",
            "flashinfer_cutlass",
            "flashinfer_cutedsl",
            "marlin",
        ]
        | None
    ) = None
    """Layers of experts."""
    linear_backend: (
        Literal[
            "auto",
            "cutlass",
            "deep_gemm",
            "flashinfer_trtllm",
            "flashinfer_cutlass",
            "flashinfer_cudnn",
            "marlin",
            "torch",
        ]
        | None
    ) = None
    """Quantized linear layers."""
    mamba_backend: Literal["triton", "flashinfer", "cpu"] | None = None
    """State-space layers."""
    mamba_ssu_algorithm: Literal["auto", "simple", "vertical", "horizontal"] | None = None
    """State update of state-space layers."""
    gdn_prefill_backend: Literal["flashinfer", "triton", "cutedsl"] | None = None
    """Prefill of gated delta networks."""
    kda_prefill_backend: Literal["auto", "triton", "flashkda", "flashinfer"] | None = None
    """Prefill of Kimi delta attention."""
    kda_decode_backend: Literal["auto", "native", "flashinfer", "triton"] | None = None
    """Decode of Kimi delta attention."""
    sparse_indexer_topk_backend: (
        Literal["auto", "cooperative", "deep_select", "flashinfer", "per_row", "persistent", "torch"] | None
    ) = None
    """Selection of entries in sparse attention."""
    enable_flashinfer_autotune: bool | None = None
    """Whether the start measures variants of FlashInfer kernels."""
    ir_op_priority: JsonObject | None = None
    """Order of implementations by operation."""
    kernel_config: JsonObject | None = None
    """Further options of kernels."""


class CompilationConfig(SpecModel):
    """Compilation by torch."""

    mode: Literal[0, 1, 2, 3] | None = None
    """0: none, 1: as torch compiles, 2: compiled once, 3: compiled by vLLM."""
    cudagraph_mode: Literal["NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"] | None = None
    """Parts of a step that run as CUDA graphs."""
    pass_config: JsonObject | None = None
    """Fusions by name, such as `fuse_allreduce_rms: true`."""
    use_inductor_graph_partition: bool | None = None
    """Whether torch divides the graph at attention."""


class Compilation(ServeSection):
    """Compilation and CUDA graphs. `enforce_eager` is a field of the pool."""

    optimization_level: Literal["0", "1", "2", "3"] | None = None
    """Trade-off between the time of a start and the speed of answers."""
    performance_mode: Literal["balanced", "interactivity", "throughput"] | None = None
    """Goal of the defaults that depend on the load."""
    cudagraph_capture_sizes: (
        Annotated[list[Annotated[int, Field(ge=1, le=65_536)]], Field(min_length=1, max_length=512)] | None
    ) = None
    """Batch sizes with a CUDA graph."""
    max_cudagraph_capture_size: Annotated[int, Field(ge=1, le=65_536)] | None = None
    """Largest batch with a CUDA graph."""
    compilation_config: CompilationConfig | None = None
    """Compilation by torch."""
