"""Evidence has an expiry by the kind of its check."""

from __future__ import annotations

from sovctl.compliance.evidence.freshness import RULES, expiry, is_stale, rule_of
from sovctl.engine.checks.registry import CHECKS


def test_every_check_has_a_rule_with_value_unit_source_kind_and_date() -> None:
    for check in CHECKS:
        rule = rule_of(check.id, is_active=check.is_active)
        assert rule.value >= 1
        assert (rule.unit, bool(rule.source), len(rule.date)) == ("days", True, 10)


def test_every_rule_applies_to_a_check() -> None:
    used = {rule_of(check.id, is_active=check.is_active).applies_to for check in CHECKS}
    assert used == {rule.applies_to for rule in RULES}


def test_the_first_rule_decides_and_active_tests_count_longest() -> None:
    assert rule_of("clock.drift").value == 7
    assert rule_of("clock.drift", is_active=True).value == 365
    assert rule_of("host.limits").value == 30


def test_the_expiry_is_utc_to_the_second() -> None:
    assert expiry("clock.drift", "2026-11-21T10:15:01.500Z") == "2026-11-28T10:15:01Z"


def test_a_record_counts_until_its_expiry_and_a_failure_longer() -> None:
    at = "2026-11-28T10:15:01Z"
    assert is_stale(at, "PASS", at)
    assert not is_stale("2026-11-28T10:15:02Z", "PASS", at)
    assert not is_stale("2026-11-01T00:00:00Z", "FAIL", at)
    assert is_stale("2026-11-01T00:00:00Z", "N/A", at)
