"""Alerts of the whole site: targets that do not answer or are missing, approvals that expire, and the heartbeat."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from ..spec import SiteSpec
from .labels import GATEWAYS, NODES, POOLS
from .rule import Alert, Group, Recording, Severity

_EXPIRY = "sovctl:approval_expiry:timestamp_seconds"


def site_groups(spec: SiteSpec) -> Iterator[Group]:
    """Yield the groups of targets, of approvals, and of the alerting itself."""
    yield Group("sovctl-targets", (_down(spec), *_absent(spec)))
    yield Group("sovctl-approvals", tuple(_approvals(spec)))
    yield Group("sovctl-alerting", _ALERTING)


def _down(spec: SiteSpec) -> Alert:
    assert spec.monitoring is not None
    return Alert(
        "SovctlTargetDown",
        'up{job=~"sovctl-.*"} == 0',
        Severity.CRITICAL,
        "{{ $labels.job }} on {{ $labels.node }}{{ with $labels.pool }}, pool {{ . }},{{ end }} does not answer.",
        seconds=spec.monitoring.target_down_s,
    )


def _absent(spec: SiteSpec) -> Iterator[Alert]:
    """Yield one alert for each expected target: a missing target has no series that could name it."""
    yield from (_absent_alert(NODES, node=node.name) for _, node in spec.nodes())
    yield from (_absent_alert(GATEWAYS, node=name) for name in (spec.gateway.nodes if spec.gateway else []))
    yield from (_absent_alert(POOLS, pool=pool.name) for pool in spec.pools)


def _absent_alert(job: str, **place: str) -> Alert:
    ((label, name),) = place.items()
    return Alert(
        "SovctlTargetAbsent",
        f'absent(up{{job="{job}",{label}="{name}"}})',
        Severity.CRITICAL,
        f"Prometheus does not scrape {job} of {label} {name}.",
        minutes=5,
        labels={"job": job, **place},
    )


def _approvals(spec: SiteSpec) -> Iterator[Recording | Alert]:
    """Yield the expiry of every exception and waiver of site.yaml, and one alert for all of them."""
    assert spec.monitoring is not None
    dated = [("exception", each.name, each.expires) for each in spec.perimeter.exceptions]
    dated += [("limit-waiver", each.limit, each.expires) for each in spec.verify.waivers]
    dated += [("check-waiver", each.id, each.expires) for each in spec.compliance.waivers]
    for kind, name, day in dated:
        end = datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(days=1)  # the last day is valid
        yield Recording(_EXPIRY, f"vector({int(end.timestamp())})", {"approval": kind, "name": name})
    if dated:
        yield Alert(
            "SovctlApprovalExpiring",
            f"{_EXPIRY} - time() < {spec.monitoring.warn_days * 86400}",
            Severity.WARNING,
            "The {{ $labels.approval }} {{ $labels.name }} of site.yaml expires in {{ $value | humanizeDuration }}.",
        )


_ALERTING = (
    Alert(
        "SovctlHeartbeat",
        "vector(1)",
        Severity.NONE,
        "Always firing. Its absence at the receiver means that Prometheus or Alertmanager is down.",
    ),
    Alert(
        "SovctlNotificationsFailing",
        "rate(prometheus_notifications_errors_total[5m]) > 0 or rate(alertmanager_notifications_failed_total[5m]) > 0",
        Severity.CRITICAL,
        "Alerts do not reach a receiver.",
        minutes=5,
    ),
)
