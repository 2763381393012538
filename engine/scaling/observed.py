"""Inputs of a decision from samples and the calendar. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ..catalog.scaling import threshold
from .decision import Observed, Rules
from .fleet import Fleet, Phase
from .loads import Sample, peaks
from .rules import Calendar


def observe(
    rules: Rules,
    calendar: Calendar,
    fleet: Fleet,
    samples: Sequence[Sample],
    *,
    now: datetime,
    now_s: float,
    window_s: float,
    interval_s: float,
) -> dict[str, Observed]:
    """Return the inputs of all pools.

    Args:
        samples: in the order of time, at least over the longest `scale_down_after_s`.
        now: the same time as `now_s`, for the calendar.
        now_s: in the clock of the samples.
    """
    gap_s = threshold("stale-samples") * interval_s
    found = {}
    for rule in rules.pools:
        serving = fleet.of(rule.pool, Phase.AWAKE)
        length_s = rule.scale_down_after_s
        found[rule.pool] = Observed(
            recent=peaks(samples, serving, now_s=now_s, length_s=window_s, gap_s=gap_s, is_complete=False),
            longer=peaks(samples, serving, now_s=now_s, length_s=length_s, gap_s=gap_s, is_complete=True),
            required=calendar.required(rule.pool, now),
            required_soon=calendar.required(rule.pool, now, horizon_s=rule.cooldown_s),
        )
    return found
