"""Alerts of pools: an engine without progress, and transfers of the KV cache between replicas.

Names of an engine's metrics are those of `engine/catalog/engines/`. `/health` of a hung engine still answers 200.
"""

from __future__ import annotations

from ..catalog.engines import Engine, EngineCapability
from .labels import ON_REPLICA, POOLS
from .rule import Alert, Group, Severity

_BY = "sum by (node, pool, replica)"
_POOLS = f'{{job="{POOLS}"}}'

_TRANSFER_ALERTS = (
    Alert(
        "SovctlStaleKvReads",
        f"{_BY} (increase(vllm:nixl_num_notifications_after_expiry_total{_POOLS}[15m])) > 0",
        Severity.CRITICAL,
        f"KV blocks of {ON_REPLICA} were read after their lease, or twice; an answer may be of another prompt.",
    ),
    Alert(
        "SovctlKvLeasesExpired",
        f"{_BY} (increase(vllm:nixl_num_kv_expired_reqs_total{_POOLS}[15m])) > 0",
        Severity.WARNING,
        f"KV blocks of {ON_REPLICA} expired before a decoding replica read them.",
    ),
    Alert(
        "SovctlKvTransfersFailed",
        f"{_BY} (increase(vllm:nixl_num_failed_transfers_total{_POOLS}[15m])) > 0",
        Severity.WARNING,
        f"Transfers of KV blocks to {ON_REPLICA} failed.",
    ),
)
"""Alerts of engines with prefill and decode by different servers: vLLM 0.32.0, read 2026-11-23."""


def pool_group(engine: Engine) -> Group:
    """Return the alerts of the pools of an engine."""
    metrics = engine.metrics
    hung = Alert(
        "SovctlEngineHung",
        f"{_BY} (rate({metrics.steps}{_POOLS}[5m])) == 0 and {_BY} ({metrics.running.name}{_POOLS}) > 0",
        Severity.CRITICAL,
        f"The engine of {ON_REPLICA} runs requests and makes no step.",
        minutes=2,
    )
    has_transfers = EngineCapability.PREFILL_DECODE in engine.capabilities
    return Group(
        "sovctl-pools",
        (*((hung,) if metrics.steps else ()), *(_TRANSFER_ALERTS if has_transfers else ())),
    )
