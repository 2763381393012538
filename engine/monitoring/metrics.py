"""Metrics that rules and dashboards may name, by the program that exports them.

Sources: vLLM 0.32.0 and DCGM exporter 4.8.2, read 2026-11-23; node exporter 1.5.0 of Debian 12, run 2026-11-29;
`gateway/telemetry/metrics/table.py`; `roles/monitoring/files/metrics`.
"""

from __future__ import annotations

from ..catalog.engines import Engine, EngineCapability
from ..spec import SiteSpec
from .rule import Recording
from .rules import rule_groups

GATEWAY = frozenset(
    f"sovctl_gateway_{name}"
    for name in ("requests_total", "refused_total", "findings_total", "tokens_total", "upstream_failures_total",
                 "fallbacks_total", "handoffs_open", "in_flight_requests", "reload_failed", "queue_waiting_requests",
                 "queue_waiting_tenants", "queue_longest_wait_seconds")
)  # fmt: skip
GATEWAY_HISTOGRAMS = frozenset({
    "sovctl_gateway_added_seconds", "sovctl_gateway_first_byte_seconds", "sovctl_gateway_queue_wait_seconds",
})  # fmt: skip
NODE = frozenset({
    "node_boot_time_seconds", "node_cpu_seconds_total", "node_load1", "node_memory_MemAvailable_bytes",
    "node_memory_MemTotal_bytes", "node_network_receive_bytes_total", "node_network_transmit_bytes_total",
    "node_textfile_mtime_seconds", "node_textfile_scrape_error",
})  # fmt: skip
INFINIBAND = frozenset({
    "node_infiniband_link_downed_total", "node_infiniband_link_error_recovery_total",
    "node_infiniband_port_data_received_bytes_total", "node_infiniband_port_data_transmitted_bytes_total",
    "node_infiniband_symbol_error_total",
})  # fmt: skip
"""Of the node exporter on a node with adapters. Not run."""
FACTS = frozenset({
    "sovctl_certificate_expiry_timestamp_seconds", "sovctl_clock_offset_seconds", "sovctl_clock_synchronized",
    "sovctl_facts_failed", "sovctl_ledger_written_timestamp_seconds", "sovctl_log_messages_dropped_total",
    "sovctl_store_free_bytes", "sovctl_store_size_bytes",
})  # fmt: skip
GPU_FIELDS = (
    ("DCGM_EXP_XID_ERRORS_COUNT", "gauge", "Xid events of the last window, by code"),
    ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "Double-bit errors since the driver was loaded"),
    ("DCGM_FI_DEV_FB_FREE", "gauge", "Free GPU memory in MiB"),
    ("DCGM_FI_DEV_FB_USED", "gauge", "GPU memory in use in MiB"),
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", "Temperature in degrees Celsius"),
    ("DCGM_FI_DEV_GPU_UTIL", "gauge", "Time with a running kernel in percent"),
    ("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "counter", "Data CRC errors of all links"),
    ("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "counter", "Flit CRC errors of all links"),
    ("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "counter", "Recoveries of all links"),
    ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "Repeated packets of the PCIe link"),
    ("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power in watts"),
    ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether replacing a memory row failed"),
    ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", "Memory rows replaced after uncorrectable errors"),
    ("DCGM_FI_DEV_XID_ERRORS", "gauge", "Last Xid"),
)
"""Fields that the DCGM exporter exports: name, type and help. Run on simulated GPUs only."""
GPUS = frozenset(name for name, _, _ in GPU_FIELDS)
SERVER = frozenset({
    "ALERTS", "alertmanager_notifications_failed_total", "prometheus_notifications_errors_total",
    "prometheus_rule_evaluation_failures_total", "prometheus_tsdb_storage_blocks_bytes", "up",
})  # fmt: skip
"""Of Prometheus and Alertmanager."""
TRANSFERS = frozenset({
    "vllm:nixl_num_failed_transfers_total", "vllm:nixl_num_kv_expired_reqs_total",
    "vllm:nixl_num_notifications_after_expiry_total",
})  # fmt: skip
"""Of an engine with prefill and decode by different servers."""


def recorded_series(spec: SiteSpec) -> frozenset[str]:
    """Return the names of the series that the rules of a site record."""
    rules = (rule for group in rule_groups(spec) for rule in group.rules)
    return frozenset(rule.record for rule in rules if isinstance(rule, Recording))


def known_metrics(spec: SiteSpec, engine: Engine) -> frozenset[str]:
    """Return the names of all series that the targets of a site export, and those that rules record."""
    transfers = TRANSFERS if EngineCapability.PREFILL_DECODE in engine.capabilities else frozenset()
    histograms = _series_of_histograms(GATEWAY_HISTOGRAMS)
    return (
        GATEWAY
        | histograms
        | NODE
        | INFINIBAND
        | FACTS
        | GPUS
        | SERVER
        | transfers
        | _of(engine)
        | recorded_series(spec)
    )


def _of(engine: Engine) -> frozenset[str]:
    metrics = engine.metrics
    gauges = {each.name for each in (metrics.running, metrics.waiting, metrics.kv_cache) if each is not None}
    latencies = {each.name for each in (metrics.time_to_first_token, metrics.inter_token_latency) if each is not None}
    return frozenset(gauges | ({metrics.steps} if metrics.steps else set())) | _series_of_histograms(latencies)


def _series_of_histograms(names: frozenset[str] | set[str]) -> frozenset[str]:
    return frozenset(f"{name}{suffix}" for name in names for suffix in ("_bucket", "_count", "_sum"))
