"""Alerts of gateways: a tenant waits for its turn.

The metrics have no label of the tenant. The log event `tenant waits` names it (`gateway/runtime/queue_figures.py`).
"""

from __future__ import annotations

from ..spec import SiteSpec
from .labels import GATEWAYS, ON_NODE
from .rule import Alert, Group, Severity

LONGEST_WAIT = "sovctl_gateway_queue_longest_wait_seconds"


def gateway_group(spec: SiteSpec) -> Group:
    """Return the alerts of the gateway's queue; none without `gateway.limits.max_concurrent_requests`."""
    if spec.gateway is None or spec.gateway.limits.max_concurrent_requests is None:
        return Group("sovctl-gateways", ())
    half_s = spec.gateway.limits.queue_timeout_s / 2
    waits = Alert(
        "SovctlTenantWaits",
        # A wait that ends between two scrapes counts for 2 min: a tenant whose requests time out is seen without gaps.
        f'max by (node) (max_over_time({LONGEST_WAIT}{{job="{GATEWAYS}"}}[2m])) > {half_s:g}',
        Severity.WARNING,
        f"Requests of a tenant wait {{{{ $value | humanizeDuration }}}} for a turn at the gateway of {ON_NODE},"
        f" more than half of queue_timeout_s.",
        minutes=5,
    )
    return Group("sovctl-gateways", (waits,))
