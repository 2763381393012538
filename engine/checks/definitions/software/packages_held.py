"""software.packages-held: apt holds every package of the driver lock, so that no upgrade replaces it."""

from __future__ import annotations

from sovctl.compliance.verdict import Verdict

from ....catalog.operating_systems import Apply
from ....facts.packages.dpkg import parse_holds
from ....facts.packages.rpm import parse_versionlock
from ....facts.unreadable import excerpt
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._lock_check import Expected, LockCheck, system_of


class PackagesHeld(LockCheck):
    id, version, method = "software.packages-held", 1, Method.EXAMINE
    title = "the package manager holds all packages of the driver lock"
    controls = ("cm-3", "cm-5")
    severity = Severity.MEDIUM
    remedy = "run `sovctl plan` and `sovctl apply`, which hold the packages"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every package of the lock is held; DGX OS has its own updates and needs no hold."""
        sections = parse_sections(output)
        row = system_of(sections.text("system"))
        if row is None:
            return unknown("a supported operating system", excerpt(sections.text("system")))
        if row.apply is Apply.ASSERTED:
            return Judgement(Verdict.NOT_APPLICABLE, f"expected holds, got {row.title}, which has its own updates")
        wanted, text = expected.packages[row.id], sections.text("holds")
        holds = parse_holds(text) if row.package_manager == "apt" else parse_versionlock(text)
        missing = sorted(set(wanted) - holds)
        findings = [failed(f"{name} held", "not held") for name in missing]
        return worst(findings, otherwise=f"expected {len(wanted)} packages held, got all of them")
