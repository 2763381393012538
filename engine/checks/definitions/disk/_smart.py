"""Probe of the checks of SMART: `smartctl` of every SATA, SAS and NVMe disk."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.host.disks import DiskHealth, parse_disks
from ....spec import Node
from ...model.check import Expectation, Judgement, not_applicable, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck

# Virtual media of a BMC are disks of size 0, or on USB.
_SELECT = """awk '$2 == "disk" && $3 > 0 && $4 != "usb" && $1 ~ /^[/]dev[/](sd|nvme)/ {print $1}'"""
_DISKS = f"lsblk -dnbpo NAME,TYPE,SIZE,TRAN | {_SELECT}"
_SCRIPT = f'for d in $({_DISKS}); do echo "## $d"; smartctl --json=c -a "$d"; done; command -v smartctl >/dev/null'


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every node."""


class SmartCheck(OwnKernelCheck[Expected]):
    """Expectation and probe; a subclass judges one property of the disks."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected()

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the names of the disks, and the SMART data of each."""
        return {"disks": f"{_DISKS}; echo end", "smart": _SCRIPT}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Judge the disks, after a comparison of their number. A disk of a hypervisor has no SMART."""
        *names, end = sections.text("disks").split() or [""]
        if end != "end":
            return unknown("the disks of the node", "incomplete output")
        if not names:
            return not_applicable("SATA, SAS or NVMe disks", "none")
        disks = parse_disks(sections.text("smart"))
        if set(names) != set(disks):
            return unknown(f"SMART data of {len(names)} disks", str(len(disks)))
        physical = [each for each in disks.values() if each.is_supported]
        if not physical:
            return not_applicable("disks with SMART", f"{len(disks)} virtual disks")
        findings = [finding for each in physical for finding in self.findings(each, expected)]
        return worst(findings, otherwise=f"expected {self.title}, got {len(physical)} disks")

    @abstractmethod
    def findings(self, disk: DiskHealth, expected: Expected) -> Iterator[Judgement]:
        """Yield the findings of one disk with SMART."""
