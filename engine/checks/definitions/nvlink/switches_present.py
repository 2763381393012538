"""nvlink.switches-present: the PCI bus lists the NVSwitches of the board."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.hardware.pci import parse_pci
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.figures import integer_of, text_of
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import PCI_LINKS


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """NVSwitches on the PCI bus; the id has four lower-case hex digits."""

    count: int
    pci_device_id: str


class SwitchesPresent(Check[Expected]):
    id, version, method = "nvlink.switches-present", 1, Method.TEST
    title = "the PCI bus lists the NVSwitches of the board"
    controls = ("cm-8",)
    severity = Severity.HIGH
    remedy = "power-cycle the node; an NVSwitch that stays absent requires a new board"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Boards whose NVSwitches are PCI devices: not NVLink 5, which manages them through network adapters."""
        checks = site.context.platform(node).checks
        count, device = integer_of(checks.nvswitch_count), text_of(checks.nvswitch_pci_id)
        if count is not None and device is not None:
            yield Expected(count=count, pci_device_id=device)

    def probe(self, expected: Expected) -> Probe:
        """Print all PCI devices."""
        return Probe.of(pci=PCI_LINKS)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the bus lists exactly the expected switches."""
        found = [each for each in parse_pci(parse_sections(output).text("pci")) if each.is_nvswitch]
        same = [each for each in found if each.device == expected.pci_device_id]
        findings = []
        if len(same) != expected.count:
            findings.append(failed(f"{expected.count} NVSwitches {expected.pci_device_id}", str(len(same))))
        findings += [failed(f"NVSwitch {expected.pci_device_id}", each.device) for each in found if each not in same]
        return worst(findings, otherwise=f"expected {expected.count} NVSwitches, got {len(same)}")
