"""Flags and environment of a server, by engine: one module for each.

    flags(context, replica, rank)["ctx-size"]     # 4096, of llama.cpp

Names, capabilities and metrics of engines are in `engine/catalog/engines/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ....catalog.engines.llama_cpp import LLAMA_CPP
from ....catalog.engines.sglang import SGLANG
from ....catalog.engines.tensorrt_llm import TENSORRT_LLM
from ....catalog.engines.vllm import VLLM, VLLM_CPU
from ....placement import Rank, Replica
from ....spec.serving.section import FlagValue
from ...context import Context
from .. import environment as vllm_environment
from .. import flags as vllm_flags
from . import llama_cpp, sglang, tensorrt_llm


@dataclass(frozen=True)
class _Rendering:
    flags: Callable[[Context, Replica, Rank], dict[str, FlagValue]]
    environment: Callable[[Context, Replica, Rank], dict[str, str]]


_VLLM = _Rendering(vllm_flags.flags, vllm_environment.environment)
_ENGINES: Mapping[str, _Rendering] = {
    VLLM.name: _VLLM,
    VLLM_CPU.name: _VLLM,
    LLAMA_CPP.name: _Rendering(llama_cpp.flags, llama_cpp.environment),
    SGLANG.name: _Rendering(sglang.flags, sglang.environment),
    TENSORRT_LLM.name: _Rendering(tensorrt_llm.flags, tensorrt_llm.environment),
}


def flags(context: Context, replica: Replica, rank: Rank) -> dict[str, FlagValue]:
    """Return the flags by name without hyphens in front, in the order of the file on the node."""
    return _ENGINES[context.engine.name].flags(context, replica, rank)


def environment(context: Context, replica: Replica, rank: Rank) -> dict[str, str]:
    """Return the variables that the unit sets, by name."""
    return _ENGINES[context.engine.name].environment(context, replica, rank)
