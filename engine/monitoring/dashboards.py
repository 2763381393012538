"""Dashboards of a site for Grafana: site, pools, GPUs and fabric, gateway. Panels as data, and their JSON.

Format: dashboard model of Grafana 10, schemaVersion 39. The data source is a variable, so that a dashboard has no name
of a server. Every metric is one of `metrics.known_metrics`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..catalog.engines import ENGINES, Metric
from ..spec import SiteSpec
from .labels import GATEWAYS, NODES, POOLS
from .metrics import recorded_series

SCHEMA_VERSION = 39
_RECORDED = re.compile(r"sovctl:[a-z0-9_:]+")
_WIDTH, _HEIGHT, _COLUMNS = 12, 8, 24
_NODE, _POOL = 'node=~"$node"', 'pool=~"$pool"'


@dataclass(frozen=True)
class Panel:
    """One panel.

    Args:
        queries: PromQL and the legend of its series, such as `{{node}}`.
        unit: of Grafana, such as `s`, `percentunit`, `bytes`; empty for a plain number.
        kind: type of the panel in Grafana.
    """

    title: str
    queries: tuple[tuple[str, str], ...]
    unit: str = ""
    kind: str = "timeseries"


@dataclass(frozen=True)
class Dashboard:
    """One dashboard.

    Args:
        name: of its file, and of its stable identifier in Grafana.
        variables: labels that a reader selects, each with a metric that has it.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    variables: tuple[tuple[str, str], ...] = ()


def dashboards(spec: SiteSpec) -> tuple[Dashboard, ...]:
    """Return the dashboards of a site, without panels of series that its rules do not record.

    The site must have the section `monitoring`.
    """
    site = Dashboard("site", "Site", _SITE)
    pools = Dashboard("pools", "Pools", tuple(_pools(spec)), (("pool", f'up{{job="{POOLS}"}}'),))
    fabric = Dashboard("gpus-fabric", "GPUs and fabric", _FABRIC, (("node", f'up{{job="{NODES}"}}'),))
    gateway = (Dashboard("gateway", "Gateway and compliance", _gateway(spec)),) if spec.gateway else ()
    recorded = recorded_series(spec)
    return tuple(
        replace(each, panels=tuple(panel for panel in each.panels if _is_recorded(panel, recorded)))
        for each in (site, pools, fabric, *gateway)
    )


def _is_recorded(panel: Panel, recorded: frozenset[str]) -> bool:
    named = {name for query, _ in panel.queries for name in _RECORDED.findall(query)}
    return named <= recorded


def _gateway(spec: SiteSpec) -> tuple[Panel, ...]:
    """Return the panels of the gateway; those of its queue only if it has one."""
    has_queue = spec.gateway is not None and spec.gateway.limits.max_concurrent_requests is not None
    return (*_GATEWAY, *(_QUEUE if has_queue else ()))


def dashboard_json(dashboard: Dashboard, site: str) -> dict[str, Any]:
    """Return the dashboard model of Grafana.

    Args:
        site: name of the site.
    """
    return {
        "uid": f"sovctl-{dashboard.name}",
        "title": f"{site}: {dashboard.title}",
        "tags": ["sovctl"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": False,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "utc",
        "templating": {"list": [_DATA_SOURCE, *(_variable(*each) for each in dashboard.variables)]},
        "panels": [_panel(number, panel) for number, panel in enumerate(dashboard.panels)],
    }


_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_DATA_SOURCE = {"name": "datasource", "label": "data source", "type": "datasource", "query": "prometheus"}


def _variable(label: str, metric: str) -> dict[str, Any]:
    query = f"label_values({metric}, {label})"
    return {
        "name": label,
        "type": "query",
        "datasource": dict(_SOURCE),
        "query": {"query": query, "refId": label},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    per_row = _COLUMNS // _WIDTH
    return {
        "id": number + 1,
        "title": panel.title,
        "type": panel.kind,
        "datasource": dict(_SOURCE),
        "gridPos": {
            "x": number % per_row * _WIDTH,
            "y": number // per_row * _HEIGHT,
            "w": _WIDTH,
            "h": _HEIGHT,
        },
        "fieldConfig": {"defaults": {"unit": panel.unit} if panel.unit else {}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "expr": query,
                "legendFormat": legend,
                "datasource": dict(_SOURCE),
                **({"instant": True, "range": False} if panel.kind != "timeseries" else {}),
            }
            for index, (query, legend) in enumerate(panel.queries)
        ],
    }


def _rate(metric: str, labels: str = "", by: str = "node") -> str:
    return f"sum by ({by}) (rate({metric}{{{labels}}}[5m]))"


def _quantile(share: float, histogram: str, labels: str, by: str) -> str:
    return f"histogram_quantile({share}, sum by (le, {by}) (rate({histogram}_bucket{{{labels}}}[5m])))"


_SITE = (
    Panel("Firing alerts", (('count by (severity) (ALERTS{alertstate="firing",severity!="none"})', "{{severity}}"),),
          kind="stat"),
    Panel("Targets that do not answer", (('sum by (job) (up{job=~"sovctl-.*"} == bool 0)', "{{job}}"),), kind="stat"),
    Panel("Error ratio of objectives, 1 h", (("sovctl:objective_bad:ratio_rate1h", "{{objective}} {{pool}}"),),
          unit="percentunit"),
    Panel("Processor in use", (('1 - avg by (node) (rate(node_cpu_seconds_total{mode="idle"}[5m]))', "{{node}}"),),
          unit="percentunit"),
    Panel("Memory in use", (("1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes", "{{node}}"),),
          unit="percentunit"),
    Panel("Free space of stores", (("sovctl_store_free_bytes / sovctl_store_size_bytes", "{{node}} {{store}}"),),
          unit="percentunit"),
    Panel("Offset of clocks", (("sovctl_clock_offset_seconds", "{{node}}"),), unit="s"),
    Panel("Age of facts", (("time() - node_textfile_mtime_seconds", "{{node}}"),), unit="s"),
    Panel("Network received", ((_rate("node_network_receive_bytes_total", 'device!="lo"'), "{{node}}"),), unit="Bps"),
    Panel("Space of samples", (("prometheus_tsdb_storage_blocks_bytes", "{{node}}"),), unit="bytes"),
)  # fmt: skip


def _pools(spec: SiteSpec) -> Iterator[Panel]:
    """Yield the panels of the metrics that the engine of the site exports."""
    metrics, by = ENGINES[spec.software.engine].metrics, "pool, replica"
    gauges: tuple[tuple[str, Metric | None], ...] = (
        ("Running requests", metrics.running),
        ("Waiting requests", metrics.waiting),
        ("Used part of the KV cache", metrics.kv_cache),
    )
    for title, gauge in gauges:
        if gauge is not None:
            unit = "percentunit" if gauge.unit == "ratio" else ""
            yield Panel(title, ((f"sum by ({by}) ({gauge.name}{{{_POOL}}})", "{{pool}} {{replica}}"),), unit)
    for title, histogram in (
        ("Time to first token", metrics.time_to_first_token),
        ("Time between tokens", metrics.inter_token_latency),
    ):
        if histogram is not None:
            shares = ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))
            found = tuple((_quantile(share, histogram.name, _POOL, "pool"), f"{{{{pool}}}} {name}")
                          for share, name in shares)  # fmt: skip
            yield Panel(title, found, "s")
            yield Panel(f"{title}: observations a second", ((_rate(f"{histogram.name}_count", _POOL, by="pool"),
                        "{{pool}}"),))  # fmt: skip
    if metrics.steps:
        yield Panel("Steps a second", ((_rate(metrics.steps, _POOL, by=by), "{{pool}} {{replica}}"),))


_FABRIC = (
    Panel("GPU in use", ((f"DCGM_FI_DEV_GPU_UTIL{{{_NODE}}}", "{{node}} {{gpu}}"),), unit="percent"),
    Panel("Power", ((f"sum by (node) (DCGM_FI_DEV_POWER_USAGE{{{_NODE}}})", "{{node}}"),), unit="watt"),
    Panel("Temperature", ((f"DCGM_FI_DEV_GPU_TEMP{{{_NODE}}}", "{{node}} {{gpu}}"),), unit="celsius"),
    Panel("GPU memory in use",
          ((f"DCGM_FI_DEV_FB_USED{{{_NODE}}} / (DCGM_FI_DEV_FB_USED{{{_NODE}}} + DCGM_FI_DEV_FB_FREE{{{_NODE}}})",
            "{{node}} {{gpu}}"),), unit="percentunit"),
    Panel("Last Xid", ((f"DCGM_FI_DEV_XID_ERRORS{{{_NODE}}} > 0", "{{node}} {{gpu}}"),), kind="table"),
    Panel("Uncorrectable memory errors", ((f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{{{_NODE}}}", "{{node}} {{gpu}}"),)),
    Panel("NVLink recoveries a day",
          ((f"increase(DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL{{{_NODE}}}[1d])", "{{node}} {{gpu}}"),)),
    Panel("PCIe replays a minute",
          ((f"rate(DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{{_NODE}}}[15m]) * 60", "{{node}} {{gpu}}"),)),
    Panel("InfiniBand received",
          ((_rate("node_infiniband_port_data_received_bytes_total", _NODE, by="node, device"), "{{node}} {{device}}"),),
          unit="Bps"),
    Panel("InfiniBand symbol errors an hour",
          ((f"increase(node_infiniband_symbol_error_total{{{_NODE}}}[1h])", "{{node}} {{device}}"),)),
    Panel("InfiniBand link downs a day",
          ((f"increase(node_infiniband_link_downed_total{{{_NODE}}}[1d])", "{{node}} {{device}}"),)),
)  # fmt: skip

_JOB = f'job="{GATEWAYS}"'
_QUEUE = (
    Panel("Requests and tenants that wait for a turn",
          ((f"sum by (node) (sovctl_gateway_queue_waiting_requests{{{_JOB}}})", "{{node}} requests"),
           (f"max by (node) (sovctl_gateway_queue_waiting_tenants{{{_JOB}}})", "{{node}} tenants"))),
    Panel("Longest present wait for a turn",
          ((f"max by (node) (sovctl_gateway_queue_longest_wait_seconds{{{_JOB}}})", "{{node}}"),), unit="s"),
    Panel("Wait for a turn", tuple((_quantile(share, "sovctl_gateway_queue_wait_seconds", _JOB, "node"),
          f"{{{{node}}}} {name}") for share, name in ((0.5, "p50"), (0.99, "p99"))), unit="s"),
    Panel("Waits a second by outcome", ((_rate("sovctl_gateway_queue_wait_seconds_count", _JOB, by="outcome"),
          "{{outcome}}"),)),
)  # fmt: skip
"""Of a gateway with `limits.max_concurrent_requests`."""
_GATEWAY = (
    Panel("Requests a second", ((_rate("sovctl_gateway_requests_total", _JOB, by="model, route"),
          "{{model}} {{route}}"),)),
    Panel("Refused requests a second", ((_rate("sovctl_gateway_refused_total", _JOB, by="reason"), "{{reason}}"),)),
    Panel("Time added by the gateway", tuple((_quantile(share, "sovctl_gateway_added_seconds", _JOB, "node"),
          f"{{{{node}}}} {name}") for share, name in ((0.5, "p50"), (0.99, "p99"))), unit="s"),
    Panel("Identifiers found a second", ((_rate("sovctl_gateway_findings_total", _JOB, by="kind"), "{{kind}}"),)),
    Panel("Tokens in answers a second", ((_rate("sovctl_gateway_tokens_total", _JOB, by="outcome"), "{{outcome}}"),)),
    Panel("Failed attempts a second",
          ((_rate("sovctl_gateway_upstream_failures_total", _JOB, by="upstream, cause"), "{{upstream}} {{cause}}"),)),
    Panel("Open hand-offs", (("max by (node) (sovctl_gateway_handoffs_open)", "{{node}}"),), kind="stat"),
    Panel("Rejected settings", (("max by (node) (sovctl_gateway_reload_failed)", "{{node}}"),), kind="stat"),
    Panel("Age of the audit ledger", (("time() - sovctl_ledger_written_timestamp_seconds", "{{node}}"),), unit="s"),
    Panel("Days until certificates expire",
          (("(sovctl_certificate_expiry_timestamp_seconds - time()) / 86400", "{{node}} {{file}}"),), kind="table"),
    Panel("Days until approvals expire",
          (("(sovctl:approval_expiry:timestamp_seconds - time()) / 86400", "{{approval}} {{name}}"),), kind="table"),
)  # fmt: skip
