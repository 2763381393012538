"""Burn-rate alerts of service level objectives: latency of pools, and errors of the gateway.

The method is that of the Site Reliability Workbook (Google, 2018), chapter 5, "Multiwindow, Multi-Burn-Rate Alerts":
the error ratio of a long and a short window exceed a multiple of the error budget.

Without traffic the ratio is NaN, and no alert is sent; `SovctlTargetDown` and `SovctlTargetAbsent` cover this case.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..catalog.engines import ENGINES
from ..spec import SiteSpec
from .labels import GATEWAYS
from .rule import Alert, Group, Recording, Severity

WINDOWS = ("5m", "30m", "1h", "6h")
SERVER_ERRORS = (
    "upstream_failed", "upstream_misconfigured", "pool_unavailable", "deadline_exceeded", "handoff_queue_full",
    "handoff_unavailable", "retrieval_unavailable", "recording_check_unavailable", "audit_unavailable",
    "vault_unavailable", "limits_unavailable", "internal",
)  # fmt: skip
"""Reason codes of the gateway with HTTP status 500 and above (gateway/domain/errors.py)."""

_BAD, _BUDGET = "sovctl:objective_bad:ratio_rate", "sovctl:objective_budget:ratio"
_HISTOGRAMS = {
    "time-to-first-token": ("time_to_first_token_s", "time_to_first_token"),
    "inter-token-latency": ("inter_token_latency_s", "inter_token_latency"),
}
"""Field of the objective and field of the engine's metrics, by objective."""


def objective_groups(spec: SiteSpec) -> Iterator[Group]:
    """Yield the recording rules of all objectives, and two alerts for all of them."""
    rules = (*_latency_rules(spec), *_gateway_rules(spec))
    if rules:
        yield Group("sovctl-objectives", (*rules, *_ALERTS))


def _latency_rules(spec: SiteSpec) -> Iterator[Recording]:
    metrics = ENGINES[spec.software.engine].metrics
    exported = {name: metric.name for name, (_, key) in _HISTOGRAMS.items() if (metric := getattr(metrics, key))}
    for each in spec.monitoring.pools if spec.monitoring else []:
        for objective, histogram in exported.items():
            labels = {"objective": objective, "pool": each.pool}
            pool, edge = f'pool="{each.pool}"', float(getattr(each, _HISTOGRAMS[objective][0]))
            for window in WINDOWS:
                good = f'sum(rate({histogram}_bucket{{{pool},le="{edge}"}}[{window}]))'
                every = f"sum(rate({histogram}_count{{{pool}}}[{window}]))"
                yield Recording(_BAD + window, f"1 - {good} / {every}", labels)
            yield _budget(each.objective_percent, labels)


def _gateway_rules(spec: SiteSpec) -> Iterator[Recording]:
    if spec.monitoring is None or spec.gateway is None:
        return
    labels = {"objective": "gateway-errors"}
    for window in WINDOWS:
        refused = f'sovctl_gateway_refused_total{{job="{GATEWAYS}"'
        bad = f'sum(rate({refused},reason=~"{"|".join(SERVER_ERRORS)}"}}[{window}]))'
        answered = f'sum(rate(sovctl_gateway_requests_total{{job="{GATEWAYS}"}}[{window}]))'
        # `or vector(0)`: a counter has no series before its first event.
        total = f"(({answered} or vector(0)) + ({bad} or vector(0)))"
        yield Recording(_BAD + window, f"({bad} or vector(0)) / {total}", labels)
    yield _budget(spec.monitoring.gateway_objective_percent, labels)


def _budget(percent: float, labels: dict[str, str]) -> Recording:
    return Recording(_BUDGET, f"vector({round(1 - percent / 100, 6):g})", labels)


def _burns(factor: float, long: str, short: str) -> str:
    over = f"> on (objective, pool) {factor:g} * {_BUDGET}"
    return f"{_BAD}{long} {over} and on (objective, pool) {_BAD}{short} {over}"


_SUMMARY = (
    "Objective {{ $labels.objective }}{{ with $labels.pool }} of pool {{ . }}{{ end }}: the error budget of 30 days"
)
_ALERTS = (
    Alert(
        "SovctlObjectiveBurnsFast",
        _burns(14.4, "1h", "5m"),  # 2 % of the budget of 30 days in 1 h
        Severity.CRITICAL,
        f"{_SUMMARY} is used up in 2 days at this rate.",
        minutes=2,
    ),
    Alert(
        "SovctlObjectiveBurnsSlowly",
        _burns(6, "6h", "30m"),  # 5 % of the budget of 30 days in 6 h
        Severity.WARNING,
        f"{_SUMMARY} is used up in 5 days at this rate.",
        minutes=15,
    ),
)
