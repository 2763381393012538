"""ib.ports-active: every InfiniBand compute port of the platform is active at its rated speed.

- N/A only if the platform has no compute fabric, and neither sysfs nor the PCI bus lists an InfiniBand adapter.
- UNKNOWN if adapters are expected and sysfs lists none, because a missing driver has the same result as a missing card.
- Bonds and Ethernet ports are not compute ports.
- More ports than expected are UNKNOWN, because the internal ConnectX-7 of B200 and B300 NVSwitch boards cannot be
  distinguished from compute adapters (leptonai/gpud issue 1164, read 2026-11-20).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sovctl.compliance.verdict import Verdict

from ....facts.hardware.infiniband import Adapter, Port, parse_infiniband, parse_tree
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.check_context import CheckContext
from ...model.figures import integer_of, number_of
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import PCI_DEVICES

_MELLANOX = "0x15b3"


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Compute ports of the platform.

    Args:
        ports: 0 if the platform has no compute fabric; None if the number is not in the catalogue.
        rate_gbit_s: of each port; None if it is not in the catalogue.
    """

    ports: int | None
    rate_gbit_s: float | None


class PortsActive(Check[Expected]):
    id, version, method = "ib.ports-active", 1, Method.TEST
    title = "every InfiniBand compute port is active at its rated speed"
    controls = ("cm-8", "si-13")
    severity = Severity.HIGH
    remedy = "check cable and switch port of the adapter; INIT means that no subnet manager runs"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node; nodes without GPUs have no compute fabric."""
        platform = site.context.platform(node)
        nics = platform.checks.compute_nics
        has_none = not platform.has_gpus or (nics is not None and not nics.applies)
        yield Expected(
            ports=0 if has_none else integer_of(nics), rate_gbit_s=number_of(platform.checks.compute_nic_gbit_s)
        )

    def probe(self, expected: Expected) -> Probe:
        """Print adapters and ports in sysfs, and the devices on the PCI bus."""
        files = "fw_ver board_id hca_type ports/*/state ports/*/phys_state ports/*/rate ports/*/link_layer"
        tree = f"""cd /sys/class/infiniband 2>/dev/null || exit 0
for adapter in *; do [ -e "$adapter" ] || continue
for file in {" ".join(f'"$adapter"/{each}' for each in files.split())}; do
[ -r "$file" ] && echo "$file:$(cat "$file")"; done; done; true"""
        adapters = "ls -1 /sys/class/infiniband 2>/dev/null | wc -l"
        return Probe.of(adapters=adapters, tree=tree, bus=PCI_DEVICES)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if exactly the expected ports are ACTIVE, LinkUp, InfiniBand and at the expected rate."""
        sections = parse_sections(output)
        adapters = parse_infiniband(parse_tree(sections.text("tree")))
        listed = _adapter_count(sections.text("adapters"))
        on_bus = sum(line.split()[:1] == [_MELLANOX] for line in _devices(sections.text("bus")))
        if listed != len(adapters):
            return unknown(f"sysfs files of {listed} adapters", str(len(adapters)))
        if expected.ports is None:
            return unknown("the platform's compute ports", "none in the catalogue")
        compute = [(adapter, port) for adapter in adapters for port in adapter.ports if _is_compute(adapter, port)]
        if expected.ports == 0:
            return _judge_without_fabric(len(compute), listed, on_bus)
        if not adapters:
            return unknown(f"{expected.ports} InfiniBand ports", f"no adapter in sysfs, {on_bus} on the PCI bus")
        return _judge_ports(compute, expected.ports, expected.rate_gbit_s)


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


def _judge_ports(compute: list[tuple[Adapter, Port]], ports: int, rate: float | None) -> Judgement:
    findings: list[Judgement] = []
    if len(compute) < ports:
        findings.append(failed(f"{ports} compute ports", str(len(compute))))
    elif len(compute) > ports:
        findings.append(unknown(f"{ports} compute ports", f"{len(compute)}; compute ports cannot be identified"))
    if rate is None:
        findings.append(unknown("the platform's port rate", "none in the catalogue"))
    for adapter, port in compute:
        findings += _port_findings(f"{adapter.name} port {port.number}", port, rate)
    expected = f"{ports} ports ACTIVE, LinkUp" + (f", {rate:g} Gbit/s" if rate is not None else "")
    return worst(findings, otherwise=f"expected {expected}, got the same on all")


def _port_findings(name: str, port: Port, rate: float | None) -> Iterator[Judgement]:
    for field, got, wanted in (
        ("state", port.state, "ACTIVE"),
        ("physical state", port.phys_state, "LinkUp"),
        ("link layer", port.link_layer, "InfiniBand"),
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


def _is_compute(adapter: Adapter, port: Port) -> bool:
    return not adapter.is_bond and port.link_layer != "Ethernet"


def _adapter_count(text: str) -> int:
    if not text.strip().isdecimal():
        raise Unreadable("a number of adapters", text, where="/sys/class/infiniband")
    return int(text.strip())


def _devices(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise Unreadable("PCI devices", text, where="/sys/bus/pci/devices")
    return lines
