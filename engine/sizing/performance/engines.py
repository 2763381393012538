"""Names of the fitted constants in which inference engines differ. Pure.

sovctl deploys `VLLM`. Most constants are fitted to `TENSORRT`. `bench/sized/rows.py` defines the engines of older
measurements.

    Steps(replica, constant, VLLM)
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Engine:
    """Names of the constants of one engine."""

    name: str
    factor: str = ""
    """Factor on the time of every step; empty for TensorRT-LLM, to which the constants are fitted."""
    layer: str = "layer_us"
    """Software time per layer without experts."""
    per_sequence: str = "sequence_us"
    """Software time per sequence of a step."""
    first: str = "first_ms"
    """Time before a prefill starts."""
    launch: str = ""
    """Time before a prefill per layer: a prefill launches its kernels one by one instead of as a CUDA graph. Empty if
    `first` includes it."""
    launch_experts: str = ""
    """`launch` of a layer with experts."""
    launch_states: str = ""
    """`launch` of a layer of a model with states."""
    queue: str = "queue_closed"
    """Other prefills that a request of a closed loop waits for, if all answers have one length; else empty."""
    steps_before: float = 1.5
    """Steps that a new request waits for: on average half of the current step, then the step with its prefill."""
    reserves_answer: bool = True
    """Whether a request is admitted only if its whole answer fits into the KV cache: TensorRT-LLM by default
    (`GUARANTEED_NO_EVICT`, documentation of `scheduler_config`, read 2026-11-28). For vLLM see `admission`."""


VLLM = Engine(
    "vLLM",
    "engine_vllm",
    per_sequence="server_us",
    launch="launch_vllm_us",
    launch_experts="launch_experts_vllm_us",
    launch_states="launch_states_vllm_us",
    queue="",
    reserves_answer=False,
)
TENSORRT = Engine("TensorRT-LLM 1.x")
