"""Expected NVLink fabric of a node. CUDA programs fail with error 802 until every GPU is registered in it."""

from __future__ import annotations

from ..catalog.platforms import Platform

FABRIC_TIMEOUT_S = 300
"""NVSentinel accepts `In Progress` for at most 300 s after the start of a node (read 2026-11-20)."""


def expected_fabric(platform: Platform) -> dict[str, object]:
    """Return the expected fabric of a node's GPUs; empty for a platform without a fabric.

    The values are those that `nvidia-smi --query-gpu=fabric.state,fabric.status` prints for every GPU.
    """
    state, status = platform.checks.fabric_state, platform.checks.fabric_status
    if state is None or status is None or state.value is None or status.value is None:
        return {}
    return {
        "gpus": platform.gpus,
        "state": str(state.value),
        "status": str(status.value),
        "timeout_s": FABRIC_TIMEOUT_S,
    }
