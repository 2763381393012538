"""software.packages-held: apt holds every package of the driver lock, so that no upgrade replaces it."""

from __future__ import annotations

from ....facts.dpkg import parse_holds
from ...model.check import Judgement, Method, ProbeOutput, failed, worst
from ...model.probe_sections import parse_sections
from ._lock_check import Expected, LockCheck


class PackagesHeld(LockCheck):
    id, version, method = "software.packages-held", 1, Method.EXAMINE
    title = "apt holds all packages of the driver lock"
    controls = ("cm-3", "cm-5")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every package of the lock is held."""
        holds = parse_holds(parse_sections(output).text("holds"))
        missing = sorted(set(expected.packages) - holds)
        findings = [failed(f"{name} held", "not held") for name in missing]
        return worst(findings, otherwise=f"expected {len(expected.packages)} packages held, got all of them")
