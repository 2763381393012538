"""Logs and metrics of a pool. Texts of requests and answers are never logged.

Source: vLLM 0.32.0, config/observability.py.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .section import ServeSection


class Observability(ServeSection):
    """Statistics, metrics and the level of the log."""

    log_level: Literal["CRITICAL", "ERROR", "WARNING", "INFO"] | None = None
    """Level of vLLM's log. DEBUG is excluded because it contains prompts."""
    disable_log_stats: bool | None = None
    """Whether the log and `/metrics` have no statistics."""
    aggregate_engine_logging: bool | None = None
    """Whether statistics of data-parallel ranks are one line."""
    enable_logging_iteration_details: bool | None = None
    """Whether the log has one line for each step."""
    show_hidden_metrics_for_version: Annotated[str, Field(pattern=r"^\d+\.\d+$")] | None = None
    """vLLM release such as 0.31 whose metrics are still served."""
    per_request_spec_decode_metrics: Literal["none", "summary", "detailed"] | None = None
    """Statistics of speculative decoding in answers."""
    kv_cache_metrics: bool | None = None
    """Whether metrics contain the residence times of KV cache blocks."""
    kv_cache_metrics_sample: Annotated[float, Field(gt=0, le=1)] | None = None
    """Fraction of blocks that are measured."""
    custom_histogram_buckets: Annotated[dict[str, list[Annotated[float, Field(gt=0)]]], Field(max_length=32)] | None = (
        None
    )
    """Limits of histograms by metric."""
    cudagraph_metrics: bool | None = None
    """Whether the log contains the use of CUDA graphs."""
    enable_mfu_metrics: bool | None = None
    """Whether metrics contain the utilization of GPU arithmetic."""
    jit_monitor_mode: Literal["warn", "error"] | None = None
    """Reaction to a kernel that is compiled while the server answers."""
    jit_monitor_verbose: bool | None = None
    """Whether the log names the place of such a compilation."""
