"""Computes the states of controls from the evidence in a report, independently of `controls/`. Pure.

Works on the plain values of report.json, so that the verifier needs no package. A test compares it with
`controls/assessment.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from ..waiver_signatures import signature_problem

MAX_WAIVER_DAYS = 365
_SUMMARY_ORDER = ["pass", "fail", "error", "waived", "attested", "n-a"]
STATES = [*_SUMMARY_ORDER, "not-run"]

Records = Mapping[str, Sequence[Mapping[str, Any]]]
"""Evidence records by check id, each with `population`: the declared targets of the check."""


def decide(
    control: Mapping[str, Any],
    by_check: Records,
    today: date,
    at: str = "",
    policy: Mapping[str, Any] | None = None,
) -> str:
    """Return the state of a control computed from the evidence.

    Args:
        today: selects the waivers and attestations in effect.
        at: UTC time that selects the evidence that has not expired; empty: no evidence expires.
        policy: keys that approve waivers; None: waivers need no signature.
    """
    if control["mapping"] is None:
        word = control["attestation"]
        attested = word and word["control"] == control["id"] and counts_on(word["attested"], word["expires"], today)
        return "attested" if attested else "not-run"
    everything = {check: by_check.get(check, []) for check in control["mapping"]["checks"]}
    checks = {check: [r for r in found if not is_stale(r, at)] for check, found in everything.items()}
    if not any(checks.values()):
        return "not-run"
    failed = {(check, r["target"]) for check, found in checks.items() for r in found if r["verdict"] == "FAIL"}
    if failed - _waived(control, today, policy):
        return "fail"
    for check, found in checks.items():
        missing = {target for r in everything[check] for target in r["population"]} - {r["target"] for r in found}
        if not found or missing or any(r["verdict"] not in ("PASS", "WARN", "FAIL", "N/A") for r in found):
            return "error"
    if failed:
        return "waived"
    return "n-a" if all(r["verdict"] == "N/A" for found in checks.values() for r in found) else "pass"


def _waived(control: Mapping[str, Any], today: date, policy: Mapping[str, Any] | None) -> set[tuple[str, str]]:
    """Return (check, target) of the waivers in effect. A waiver needs two persons and an expiry date."""
    covered: set[tuple[str, str]] = set()
    for waiver in control["waivers"]:
        two_people = waiver["requested_by"].strip().casefold() != waiver["approved_by"].strip().casefold()
        in_effect = two_people and counts_on(waiver["approved"], waiver["expires"], today)
        if waiver["control"] == control["id"] and in_effect and not signature_problem(waiver, policy):
            covered |= {(waiver["check"], target) for target in waiver["targets"]}
    return covered


def is_stale(record: Mapping[str, Any], at: str) -> bool:
    """Return whether a record no longer counts at a UTC time."""
    expires: str = record["expires"]
    return record["verdict"] != "FAIL" and expires[:19] <= at[:19]


def counts_on(begin: str, end: str, today: date) -> bool:
    """Return whether a waiver or attestation is in effect on a day, both days included, for at most 365 days."""
    first, last = date.fromisoformat(begin), date.fromisoformat(end)
    return first <= today <= last and (last - first).days <= MAX_WAIVER_DAYS


def sentence(states: Mapping[str, int]) -> str:
    """Return the summary of the given counts."""
    parts = [f"{states[s]} {s}" for s in _SUMMARY_ORDER if states[s] or s in ("pass", "fail", "error")]
    total = sum(states.values())
    return f"{total - states['not-run']} of {total} decided: {', '.join(parts)}; {states['not-run']} not run"
