"""Keeps the counters of a run, with which the next run compares."""

from __future__ import annotations

from ...facts.counters import CounterReading, replaces
from ...facts.unreadable import Unreadable
from ...site import counter_records
from ...site.site import Site
from ..model.counter_check import GRACE_S, CounterCheck
from ..model.result import output_of
from .run import RunResult


def store_readings(site: Site, run: RunResult) -> None:
    """Replace the readings of the checks that were measured, if the earlier ones are older than their window."""
    known, changed = counter_records.load(site.state.counters), dict[counter_records.Key, CounterReading]()
    for target, result in zip(run.targets, run.results, strict=True):
        if not isinstance(target.check, CounterCheck) or result.exit_code != 0:
            continue
        try:
            now = target.check.reading(output_of(result.raw), target.expectation)
        except Unreadable:
            continue
        key = (target.node, target.check.id)
        if now.values and replaces(now, known.get(key), window_s=target.check.window_s, grace_s=GRACE_S):
            changed[key] = now
    if changed:
        counter_records.save(site.state.counters, changed)
