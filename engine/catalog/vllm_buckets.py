"""Bucket edges of vLLM's latency histograms, in seconds.

Source: vLLM 0.32.0, `vllm/v1/metrics/loggers.py`, read 2026-11-23.
"""

from __future__ import annotations

from collections.abc import Sequence

TIME_TO_FIRST_TOKEN_S = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0,
    640.0, 2560.0,
)  # fmt: skip
INTER_TOKEN_LATENCY_S = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
)  # fmt: skip


def nearest_edges(value: float, edges: Sequence[float]) -> list[float]:
    """Return the edges next to `value`, the lower one first; one edge if `value` is outside all edges."""
    below, above = [edge for edge in edges if edge <= value], [edge for edge in edges if edge >= value]
    return list(dict.fromkeys([*below[-1:], *above[:1]]))
