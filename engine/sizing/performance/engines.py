"""In what inference engines differ from each other, as names of fitted constants. Pure.

What sovctl deploys is `VLLM`; `TENSORRT` is the engine that most constants are for. Those of older measurements stand
with the measurements (`bench/sized/rows.py`).

    Steps(replica, constant, VLLM)
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine: which constant says what of it."""

    name: str
    factor: str = ""
    """On the time of every step; empty for the engine that the other constants are for."""
    layer: str = "layer_us"
    """The software's time for a layer without experts."""
    per_sequence: str = "sequence_us"
    """The software's time for each sequence of a step."""
    first: str = "first_ms"
    """What passes before a prefill begins."""
    launch: str = ""
    """How many times a step's software time a prefill takes before it: its kernels are launched one by one, not as one
    recorded graph. Empty for engines of which that is no more than what passes anyway."""
    queue: str = "queue_closed"
    """Prefills of others that a request of a closed loop waits for where all answers are of one length; empty where
    they were not."""
    steps_before: float = 1.5
    """Steps that an arrival among others waits for: half of the one under way, as it falls anywhere into it, and all of
    the next, which its prefill is part of."""


VLLM = Engine("vLLM or SGLang", "engine_vllm", per_sequence="server_us", launch="launch_vllm", queue="")
TENSORRT = Engine("TensorRT-LLM 1.x")
