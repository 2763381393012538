"""Alerts of pools: an engine without progress, and transfers of the KV cache between replicas.

Metrics: vLLM 0.32.0, read 2026-11-23. `/health` of a hung engine still answers 200.
"""

from __future__ import annotations

from .labels import ON_REPLICA, POOLS
from .rule import Alert, Group, Severity

_BY = "sum by (node, pool, replica)"
_POOLS = f'{{job="{POOLS}"}}'

POOL_ALERTS = Group(
    "sovctl-pools",
    (
        Alert(
            "SovctlEngineHung",
            f"{_BY} (rate(vllm:iteration_tokens_total_count{_POOLS}[5m])) == 0"
            f" and {_BY} (vllm:num_requests_running{_POOLS}) > 0",
            Severity.CRITICAL,
            f"The engine of {ON_REPLICA} runs requests and makes no step.",
            minutes=2,
        ),
        Alert(
            "SovctlStaleKvReads",
            f"{_BY} (increase(vllm:nixl_num_kv_expired_reqs_total{_POOLS}[15m])) > 0",
            Severity.CRITICAL,
            f"KV blocks of {ON_REPLICA} expired before they were read; answers may be based on stale blocks.",
        ),
        Alert(
            "SovctlKvTransfersFailed",
            f"{_BY} (increase(vllm:nixl_num_failed_transfers_total{_POOLS}[15m])) > 0",
            Severity.WARNING,
            f"Transfers of KV blocks to {ON_REPLICA} failed.",
        ),
    ),
)
