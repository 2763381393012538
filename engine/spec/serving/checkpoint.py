"""Checkpoint of a pool: configuration, tokenizer, sampling defaults, and loading of the weights.

Source: vLLM 0.32.0, config/model.py and config/load.py.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .section import Count, JsonObject, ServeSection


class Checkpoint(ServeSection):
    """Interpretation of the model's files, and sampling defaults."""

    tokenizer_mode: Literal["auto", "hf", "mistral", "deepseek_v32", "deepseek_v4"] | None = None
    """Tokenizer implementation."""
    config_format: Literal["auto", "hf", "mistral"] | None = None
    """Format of the model's configuration."""
    model_impl: Literal["auto", "vllm", "transformers"] | None = None
    """Implementation of the model."""
    hf_overrides: JsonObject | None = None
    """Values that replace those of the model's `config.json`, such as `rope_parameters`."""
    generation_config: Literal["auto", "vllm"] | None = None
    """Sampling defaults: `auto`: the model's `generation_config.json`; `vllm`: vLLM's."""
    override_generation_config: JsonObject | None = None
    """Sampling defaults that replace those of `generation_config`."""
    seed: Annotated[int, Field(ge=0, le=4_294_967_295)] | None = None
    """Seed of the random numbers."""
    max_logprobs: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """Maximum log probabilities per token that a request can ask."""
    logprobs_mode: Literal["raw_logprobs", "processed_logprobs", "raw_logits", "processed_logits"] | None = None
    """Values that log probabilities contain."""
    return_sampling_mask: bool | None = None
    """Whether answers name the tokens that sampling considered."""
    use_fp64_gumbel: bool | None = None
    """Whether sampling computes in 64 bits."""
    disable_sliding_window: bool | None = None
    """Whether the context is limited to the sliding window of the model."""
    skip_tokenizer_init: bool | None = None
    """Whether the server has no tokenizer; requests and answers are then token numbers."""
    quantization_config: JsonObject | None = None
    """Options of the quantization method."""
    allow_deprecated_quantization: bool | None = None
    """Whether vLLM accepts quantization methods that it will remove."""
    diffusion_config: JsonObject | None = None
    """Options of diffusion language models."""
    engram_config: JsonObject | None = None
    """Options of models with engram memory."""
    watermark_config: JsonObject | None = None
    """Options of the watermark in generated text."""
    additional_config: JsonObject | None = None
    """Options of the hardware platform."""


class Loading(ServeSection):
    """Loading of the weights when the server starts."""

    load_format: (
        Literal["auto", "hf", "safetensors", "mistral", "fastsafetensors", "instanttensor", "sharded_state"] | None
    ) = None
    """Format of the weights, or the library that reads them. Excluded: formats that execute pickles, and
    libraries that are in no lock."""
    safetensors_load_strategy: Literal["lazy", "eager", "prefetch", "torchao"] | None = None
    """Reading of safetensors files: `lazy` maps them, `eager` reads them whole, `prefetch` fills the page cache."""
    safetensors_prefetch_num_threads: Annotated[int, Field(ge=1, le=256)] | None = None
    """Threads that fill the page cache."""
    safetensors_prefetch_block_size: Annotated[int, Field(ge=4096, le=1_073_741_824)] | None = None
    """Bytes of one read that fills the page cache."""
    model_loader_extra_config: JsonObject | None = None
    """Options of the loader."""
    ignore_patterns: Annotated[list[str], Field(max_length=32)] | None = None
    """Patterns of files that are not loaded."""
    use_tqdm_on_load: bool | None = None
    """Whether the log shows the progress of loading."""
    max_parallel_loading_workers: Count | None = None
    """Ranks that load at the same time, to limit main memory."""
