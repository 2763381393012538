"""Inference engines: one module for each, with capabilities, metrics and command line.

ENGINES["llama.cpp"].capabilities
"""

from __future__ import annotations

from .engine import Engine, EngineCapability, Metric, Metrics
from .llama_cpp import LLAMA_CPP
from .sglang import SGLANG
from .tensorrt_llm import TENSORRT_LLM
from .vllm import VLLM, VLLM_CPU

__all__ = ["ENGINES", "REFUSED", "Engine", "EngineCapability", "Metric", "Metrics"]

ENGINES = {each.name: each for each in (VLLM, VLLM_CPU, LLAMA_CPP, SGLANG, TENSORRT_LLM)}
"""By the value of `software.engine`."""

REFUSED = {
    "tgi": "its repository is archived since 2026-03-21, so that it receives no security fixes",
    "ollama": "it has no metrics of its queue and no TLS, and downloads models on request",
}
"""Reasons against other engines, by name."""
