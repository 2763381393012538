"""Alerts of nodes: InfiniBand counters of the node exporter, and facts of sovctl in its textfile collector.

`sovctl_*` metrics are written on each node; `SovctlFactsStale` fires if their file is older than 15 minutes.
"""

from __future__ import annotations

from ..catalog.check_limits import limit
from ..spec import SiteSpec
from .labels import GATEWAYS, NODES, ON_NODE, ON_PORT
from .rule import Alert, Group, Severity

FACTS_FILE = "sovctl.prom"
_FACTS = f'node_textfile_mtime_seconds{{file=~".*/{FACTS_FILE}"}}'
_DROPPED = "sovctl_log_messages_dropped_total"
STALE_MINUTES = 15
"""Minutes without a write after which facts and the ledger are stale; facts are written every minute."""


def fabric_group() -> Group:
    """Return the alerts of InfiniBand ports, with the limits of the checks."""
    symbols, downs = limit("ib.counters-zero.symbol-errors-an-hour"), limit("ib.counters-zero.link-downs-a-day")
    recoveries = limit("ib.counters-zero.recoveries-a-minute")
    grace = _after_boot(limit("counters.boot-grace"))
    return Group(
        "sovctl-fabric",
        (
            Alert(
                "SovctlIbLinkDowns",
                f"increase(node_infiniband_link_downed_total[1d]) >= {downs}{grace}",
                Severity.CRITICAL,
                f"The link of {ON_PORT} went down {{{{ $value | humanize }}}} times in a day.",
            ),
            Alert(
                "SovctlIbRecoveries",
                f"rate(node_infiniband_link_error_recovery_total[15m]) * 60 > {recoveries}{grace}",
                Severity.CRITICAL,
                f"The link of {ON_PORT} recovers {{{{ $value | humanize }}}} times a minute.",
            ),
            Alert(
                "SovctlIbSymbolErrors",
                f"increase(node_infiniband_symbol_error_total[1h]) > {symbols}{grace}",
                Severity.WARNING,
                f"The link of {ON_PORT} has {{{{ $value | humanize }}}} symbol errors an hour.",
            ),
        ),
    )


def _absent_facts(spec: SiteSpec) -> str:
    """Condition that a node has no file of facts. Without a server, sovctl does not write it."""
    has_writer = spec.monitoring is not None and spec.monitoring.server is not None
    return f' or up{{job="{NODES}"}} == 1 unless on (node) {_FACTS}' if has_writer else ""


def _after_boot(seconds: int) -> str:
    """Condition that the node booted before that time, because links count errors while they start."""
    return f" and on (node) (time() - node_boot_time_seconds > {seconds})"


def node_group(spec: SiteSpec) -> Group:
    """Return the alerts of facts of nodes, with the limits of site.yaml."""
    assert spec.monitoring is not None
    free, warn_s = limit("disk.free-space.least"), spec.monitoring.warn_days * 86400
    critical_days = limit("certificate.min-days")
    return Group(
        "sovctl-nodes",
        (
            Alert(
                "SovctlDiskFilling",
                f"sovctl_store_free_bytes / sovctl_store_size_bytes * 100 < {2 * free}",
                Severity.WARNING,
                f"{{{{ $labels.store }}}} of {ON_NODE} has {{{{ $value | humanize }}}} % of its disk free.",
                minutes=5,
            ),
            Alert(
                "SovctlDiskFull",
                f"sovctl_store_free_bytes / sovctl_store_size_bytes * 100 < {free}",
                Severity.CRITICAL,
                f"{{{{ $labels.store }}}} of {ON_NODE} has {{{{ $value | humanize }}}} % of its disk free.",
                minutes=5,
            ),
            Alert(
                "SovctlClockOffset",
                f"abs(sovctl_clock_offset_seconds) > {spec.clock.max_offset_ms / 1000:g}",
                Severity.CRITICAL,
                f"The clock of {ON_NODE} is off by {{{{ $value | humanize }}}} s.",
                minutes=2,
            ),
            Alert(
                "SovctlClockUnsynchronized",
                "sovctl_clock_synchronized == 0",
                Severity.WARNING,
                f"The clock of {ON_NODE} has no time source.",
                minutes=10,
            ),
            Alert(
                "SovctlCertificateExpiring",
                f"sovctl_certificate_expiry_timestamp_seconds - time() < {warn_s}",
                Severity.WARNING,
                f"Certificate {{{{ $labels.file }}}} of {ON_NODE} expires in {{{{ $value | humanizeDuration }}}}.",
            ),
            Alert(
                "SovctlCertificateNearlyExpired",
                f"sovctl_certificate_expiry_timestamp_seconds - time() < {critical_days * 86400}",
                Severity.CRITICAL,
                f"Certificate {{{{ $labels.file }}}} of {ON_NODE} expires in {{{{ $value | humanizeDuration }}}}.",
            ),
            Alert(
                "SovctlLedgerStale",
                f"time() - sovctl_ledger_written_timestamp_seconds > {STALE_MINUTES * 60} and on (node)"
                f' sum by (node) (increase(sovctl_gateway_requests_total{{job="{GATEWAYS}"}}[{STALE_MINUTES}m])) > 0',
                Severity.CRITICAL,
                f"The gateway of {ON_NODE} answers requests, and its audit ledger does not grow.",
            ),
            Alert(
                "SovctlLogMessagesDropped",
                # A series that begins with drops has no increase.
                f"increase({_DROPPED}[15m]) > 0 or ({_DROPPED} > 0 unless {_DROPPED} offset 15m)",
                Severity.CRITICAL,
                f"{ON_NODE} dropped {{{{ $value | humanize }}}} messages of the system log for the SIEM.",
            ),
            Alert(
                "SovctlFactsStale",
                f"time() - {_FACTS} > {STALE_MINUTES * 60}"
                f' or node_textfile_scrape_error{{job="{NODES}"}} > 0 or sovctl_facts_failed > 0'
                f"{_absent_facts(spec)}",
                Severity.CRITICAL,
                f"Facts of {ON_NODE} are not measured: clock, disks, certificates, ledger.",
            ),
        ),
    )
