"""cpu.all-online: every present CPU is online, in sysfs and in /proc/cpuinfo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.host.memory import parse_cpu_list
from ....facts.numbers import integer
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_SMT = frozenset({"on", "off", "forceoff", "notsupported", "notimplemented"})
"""Linux Documentation/ABI/testing/sysfs-devices-system-cpu."""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every node."""


class AllOnline(Check[Expected]):
    id, version, method = "cpu.all-online", 1, Method.EXAMINE
    title = "every CPU of the node is online"
    controls = ("si-13",)
    severity = Severity.MEDIUM
    remedy = "read the kernel log for errors of the CPU; set it online with `chcpu -e`, or restart the node"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected()

    def probe(self, expected: Expected) -> Probe:
        """Print two lists of sysfs, and the number of processors in /proc/cpuinfo."""
        folder = "/sys/devices/system/cpu"
        count = "grep -c '^processor' /proc/cpuinfo"
        smt = f"if [ -e {folder}/smt/control ]; then cat {folder}/smt/control; else echo notsupported; fi"
        return Probe.of(present=f"cat {folder}/present", online=f"cat {folder}/online", count=count, smt=smt)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the lists are equal, or half is online because SMT is off, and both views have the same count."""
        sections = parse_sections(output)
        present, online = (parse_cpu_list(sections.text(name)) for name in ("present", "online"))
        count = sections.text("count").strip()
        if not count.isdecimal():
            raise Unreadable("a number of processors", count, where="/proc/cpuinfo")
        smt = sections.text("smt").strip()
        if smt not in _SMT:
            raise Unreadable("a state of SMT", smt, where="smt/control")
        is_half = smt in ("off", "forceoff") and online < present and 2 * len(online) == len(present)
        findings = []
        if added := sorted(online - present):
            findings.append(unknown("online CPUs among those present", f"also {', '.join(map(str, added[:8]))}"))
        if not is_half and (offline := sorted(present - online)):
            shown = ", ".join(map(str, offline[:8]))
            findings.append(failed(f"{len(present)} CPUs online", f"{len(online)}; offline: {shown}"))
        if integer(count) != len(online):
            findings.append(unknown(f"{len(online)} processors in /proc/cpuinfo", count))
        return worst(findings, otherwise=f"expected {len(present)} CPUs online, got {len(online)}, SMT {smt}")
