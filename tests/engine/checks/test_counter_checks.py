"""Checks of counters between two runs: growth since the earlier run decides, and the controller keeps the reading."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from check_cases import bus, ib, memory, nvlink
from check_cases.case import BOOT_ID, answer, boot
from check_samples import SAMPLES
from check_sites import TODAY

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.check import judge
from sovctl.engine.checks.model.counter_check import CounterCheck
from sovctl.engine.checks.model.result import result_of
from sovctl.engine.checks.model.target import CheckTarget
from sovctl.engine.checks.registry import BY_ID, CHECKS
from sovctl.engine.checks.runner.build_context import build_context
from sovctl.engine.checks.runner.counter_readings import store_readings
from sovctl.engine.checks.runner.run import RunResult
from sovctl.engine.facts.counters import CounterReading
from sovctl.engine.site.site import Site

COUNTED = [check for check in CHECKS if isinstance(check, CounterCheck)]
DAY_AGO_S = 864000.0 - 86400.0
# Parts of an output whose counters grew, by check.
GROWN = {
    "bus.replay-rate": {"before": bus.eight(replays="140000"), "after": bus.eight(replays="140000")},
    "ib.counters-zero": ib.plain(symbol_error="3000"),
    "memory.correctable-rate": {"errors": "mc0 ce=2410 ue=0\nmc1 ce=0 ue=0\n"},
    "nvlink.no-flapping": {"errors": nvlink.nvlink_errors(count=4)},
}


def verdict(check_id: str, earlier: CounterReading | None, *, uptime_s: float = 864000.0) -> Verdict:
    sample = SAMPLES[check_id]
    parts = {**sample.good, **GROWN[check_id], "boot": boot(uptime_s)}
    expected = replace(sample.expectation, earlier=earlier)  # type: ignore[call-arg]
    return judge(BY_ID[check_id], answer(parts), expected).verdict


def reading(check_id: str, *, boot_id: str = BOOT_ID, is_grown: bool = False) -> CounterReading:
    """The reading of the good answer a day ago, or of the one that is judged."""
    check, sample = BY_ID[check_id], SAMPLES[check_id]
    assert isinstance(check, CounterCheck)
    parts = {**sample.good, **(GROWN[check_id] if is_grown else {}), "boot": boot(DAY_AGO_S)}
    return replace(check.reading(answer(parts), sample.expectation), boot_id=boot_id)


def test_every_check_of_counters_is_tried_here() -> None:
    assert {check.id for check in COUNTED} == set(GROWN)


@pytest.mark.parametrize("check_id", GROWN)
def test_growth_since_an_earlier_run_is_found_although_the_rate_since_the_boot_is_low(check_id: str) -> None:
    bad = Verdict.WARN if check_id == "memory.correctable-rate" else Verdict.FAIL
    assert verdict(check_id, reading(check_id)) is bad


@pytest.mark.parametrize("check_id", GROWN)
def test_errors_before_the_earlier_run_are_not_counted_again(check_id: str) -> None:
    assert verdict(check_id, reading(check_id, is_grown=True)) is Verdict.PASS


@pytest.mark.parametrize("check_id", GROWN)
def test_a_reading_of_another_boot_gives_the_same_verdict_as_none(check_id: str) -> None:
    other = reading(check_id, boot_id=BOOT_ID.replace("1", "2"), is_grown=True)
    assert verdict(check_id, other) is verdict(check_id, None)


def test_link_failures_between_two_runs_fail_from_the_limit_on() -> None:
    check, sample, earlier = BY_ID["ib.counters-zero"], SAMPLES["ib.counters-zero"], reading("ib.counters-zero")
    for count, expected in ((4, Verdict.WARN), (5, Verdict.FAIL)):
        parts = {**sample.good, **ib.plain(link_downed=str(count)), "boot": boot(864000.0)}
        found = judge(check, answer(parts), replace(sample.expectation, earlier=earlier))  # type: ignore[call-arg]
        assert found.verdict is expected, found.reason


@pytest.mark.parametrize("check_id", GROWN)
def test_a_run_without_the_time_is_unknown_and_leaves_no_reading(check_id: str) -> None:
    sample = SAMPLES[check_id]
    parts = {name: text for name, text in sample.good.items() if name != "boot"}
    assert judge(BY_ID[check_id], answer(parts), sample.expectation).verdict is Verdict.UNKNOWN


def run_of(check_id: str, uptime_s: float, *, cut: bool = False) -> RunResult:
    check, sample = BY_ID[check_id], SAMPLES[check_id]
    output = answer({**sample.good, "boot": "" if cut else boot(uptime_s)})
    target = CheckTarget(check, "a1", sample.expectation)
    judgement = judge(check, output, sample.expectation)
    result = result_of(target, "command", output, judgement, started="", ended="", simulated=False)
    return RunResult((target,), (result,), {check_id: ["a1"]}, interrupted=False)


@pytest.mark.parametrize("check_id", GROWN)
def test_the_next_run_gets_the_reading_of_the_last_one(check_id: str, quiet_site: Path) -> None:
    site = Site.open(quiet_site, touches_nodes=False)
    store_readings(site, run_of(check_id, 7200.0, cut=True))
    assert build_context(site, today=TODAY).readings == {}
    store_readings(site, run_of(check_id, 7200.0))
    store_readings(site, run_of(check_id, 7260.0))  # within the window: the older reading remains
    readings = build_context(site, today=TODAY).readings
    assert readings["a1", check_id].uptime_s == 7200.0
    assert readings["a1", check_id].values
    store_readings(site, run_of(check_id, 7200.0 + 86400.0))
    assert build_context(site, today=TODAY).readings["a1", check_id].uptime_s == 7200.0 + 86400.0


def test_memory_in_a_container_leaves_no_reading() -> None:
    check = BY_ID["memory.correctable-rate"]
    output = answer({**memory.ERRORS, "container": "systemd-nspawn\n", "errors": "\n"})
    assert judge(check, output, SAMPLES[check.id].expectation).verdict is Verdict.NOT_APPLICABLE
