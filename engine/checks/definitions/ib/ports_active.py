"""ib.ports-active: every InfiniBand compute port of the platform is active at its rated speed.

- N/A only if the platform has no compute fabric, and neither sysfs nor the PCI bus lists an InfiniBand adapter.
- UNKNOWN if adapters are expected and sysfs lists none, because a missing driver has the same result as a missing card.
- Bonds, storage and in-band ports, and the ConnectX-7 of NVSwitch boards are not compute ports (`_ports`).
- More ports than expected are UNKNOWN, because without their PCI addresses storage ports cannot be distinguished.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sovctl.compliance.verdict import Verdict

from ....facts.hardware.infiniband import Adapter, Port
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import INFINIBAND_ADAPTERS, INFINIBAND_TREE, PCI_DEVICES
from ...probes.compute_ports import Expected, compute_ports, expected_ports, read_adapters

_MELLANOX = "0x15b3"
_DEVICE = re.compile(r"(?:0x[0-9a-f]+\s*){3}")


class PortsActive(Check[Expected]):
    id, version, method = "ib.ports-active", 2, Method.TEST
    title = "every InfiniBand compute port is active at its rated speed"
    controls = ("cm-8", "si-13")
    severity = Severity.HIGH
    remedy = "check cable and switch port of the adapter; INIT means that no subnet manager runs"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node; nodes without GPUs have no compute fabric."""
        yield expected_ports(site, node)

    def probe(self, expected: Expected) -> Probe:
        """Print adapters and ports in sysfs, and the devices on the PCI bus."""
        return Probe.of(adapters=INFINIBAND_ADAPTERS, tree=INFINIBAND_TREE, bus=PCI_DEVICES)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if exactly the expected ports are ACTIVE, LinkUp, InfiniBand and at the expected rate."""
        sections = parse_sections(output)
        adapters = read_adapters(sections)
        on_bus = sum(line.split()[:1] == [_MELLANOX] for line in _devices(sections.text("bus")))
        if expected.ports is None:
            return unknown("the platform's compute ports", "none in the catalogue")
        compute = list(compute_ports(adapters, expected))
        if expected.ports == 0:
            return _judge_without_fabric(len(compute), len(adapters), on_bus)
        if not adapters:
            return unknown(f"{expected.ports} InfiniBand ports", f"no adapter in sysfs, {on_bus} on the PCI bus")
        return _judge_ports(compute, expected.ports, expected.rate_gbit_s, expected.link_layer)


def _judge_without_fabric(compute: int, listed: int, on_bus: int) -> Judgement:
    if compute == 0 and listed == 0 and on_bus == 0:
        return Judgement(
            Verdict.NOT_APPLICABLE, "expected no compute fabric, got no adapter in sysfs or on the PCI bus"
        )
    if compute == 0 and listed > 0:
        return Judgement(Verdict.NOT_APPLICABLE, f"expected no compute fabric, got {listed} adapters, none InfiniBand")
    if listed == 0:
        return unknown("no adapter", f"{on_bus} on the PCI bus without a driver")
    return warned("no compute fabric on this platform", f"{compute} InfiniBand ports")


def _judge_ports(compute: list[tuple[Adapter, Port]], ports: int, rate: float | None, link_layer: str) -> Judgement:
    findings: list[Judgement] = []
    if len(compute) < ports:
        findings.append(failed(f"{ports} compute ports", str(len(compute))))
    elif len(compute) > ports:  # a fault may be that of a storage port
        return unknown(f"{ports} compute ports", f"{len(compute)}; name the others in node_groups[].ports")
    if rate is None:
        findings.append(unknown("the platform's port rate", "none in the catalogue"))
    for adapter, port in compute:
        findings += _port_findings(f"{adapter.name} port {port.number}", port, rate, link_layer)
    expected = f"{ports} ports ACTIVE, LinkUp" + (f", {rate:g} Gbit/s" if rate is not None else "")
    return worst(findings, otherwise=f"expected {expected}, got the same on all")


def _port_findings(name: str, port: Port, rate: float | None, link_layer: str) -> Iterator[Judgement]:
    for field, got, wanted in (
        ("state", port.state, "ACTIVE"),
        ("physical state", port.phys_state, "LinkUp"),
        ("link layer", port.link_layer, link_layer),
    ):
        if got is None:
            yield unknown(f"{field} {wanted} of {name}", "none")
        elif got != wanted:
            hint = " (no subnet manager)" if got == "INIT" else ""
            yield failed(f"{field} {wanted} of {name}", f"{got}{hint}")
    if port.rate_gbit_s is None:
        yield unknown(f"the rate of {name}", "none")
    elif rate is not None and port.rate_gbit_s != rate:
        yield failed(f"{rate:g} Gbit/s on {name}", f"{port.rate_gbit_s:g}")


def _devices(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or not all(_DEVICE.fullmatch(line) for line in lines):
        raise Unreadable("PCI devices", text, where="/sys/bus/pci/devices")
    return lines
