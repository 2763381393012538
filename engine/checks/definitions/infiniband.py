"""InfiniBand: exactly the platform's compute ports, each up at its rate.

N/A only where the platform has no compute fabric and neither sysfs nor the PCI bus shows an adapter. A platform that
should have adapters and shows none is UNKNOWN here, because a missing driver looks the same as missing hardware.
Bonds and Ethernet ports are not compute ports. The internal ConnectX-7 of B200 and B300 NVSwitch boards cannot be told
apart yet: more ports than expected are UNKNOWN (leptonai/gpud issue 1164, read 2026-11-20).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sovctl.compliance.verdict import Verdict

from ...facts.infiniband import Adapter, Port, parse_infiniband, parse_tree
from ...facts.unreadable import Unreadable
from ..model.check import Expectation, Judgement, ProbeOutput, failed, unknown, warned, worst
from ..model.probe_sections import read_parts

MELLANOX = "0x15b3"


@dataclass(frozen=True, kw_only=True)
class InfinibandExpectation(Expectation):
    """Compute ports of the platform.

    Args:
        ports: 0 where it has no compute fabric; None: nobody has told us.
        rate_gbit_s: of each port.
    """

    ports: int | None
    rate_gbit_s: float | None


def judge_ports(output: ProbeOutput, expectation: InfinibandExpectation) -> Judgement:
    """Every compute port is ACTIVE, LinkUp, InfiniBand, at its rate."""
    parts = read_parts(output)
    adapters = parse_infiniband(parse_tree(parts.text("tree")))
    listed = _count(parts.text("adapters"))
    on_bus = sum(line.split()[:1] == [MELLANOX] for line in _lines(parts.text("bus")))
    if listed != len(adapters):
        return unknown(f"the files of {listed} adapters", str(len(adapters)))
    if expectation.ports is None:
        return unknown("a platform whose compute ports are known", "none in the catalogue")
    compute = [(adapter, port) for adapter in adapters for port in adapter.ports if _is_compute(adapter, port)]
    if expectation.ports == 0:
        return _without_fabric(len(compute), listed, on_bus)
    if not adapters:
        return unknown(f"{expectation.ports} InfiniBand ports", f"no adapter in sysfs, {on_bus} on the PCI bus")
    return _with_fabric(compute, expectation.ports, expectation.rate_gbit_s)


def _without_fabric(compute: int, listed: int, on_bus: int) -> Judgement:
    if compute == 0 and listed == 0 and on_bus == 0:
        return Judgement(
            Verdict.NOT_APPLICABLE, "expected no compute fabric, got no adapter in sysfs or on the PCI bus"
        )
    if compute == 0 and listed > 0:
        return Judgement(Verdict.NOT_APPLICABLE, f"expected no compute fabric, got {listed} adapters, none InfiniBand")
    if listed == 0:
        return unknown("no adapter", f"{on_bus} on the PCI bus without a driver")
    return warned("no compute fabric on this platform", f"{compute} InfiniBand ports")


def _with_fabric(compute: list[tuple[Adapter, Port]], ports: int, rate: float | None) -> Judgement:
    findings: list[Judgement] = []
    if len(compute) < ports:
        findings.append(failed(f"{ports} compute ports", str(len(compute))))
    elif len(compute) > ports:
        findings.append(unknown(f"{ports} compute ports", f"{len(compute)}, and which are compute is not known"))
    if rate is None:
        findings.append(unknown("a platform whose port rate is known", "none in the catalogue"))
    for adapter, port in compute:
        findings += _port(f"{adapter.name} port {port.number}", port, rate)
    return worst(findings, otherwise=f"expected {ports} ports ACTIVE, LinkUp, {rate:g} Gbit/s, got that on all")


def _port(name: str, port: Port, rate: float | None) -> Iterator[Judgement]:
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


def _count(text: str) -> int:
    if not text.strip().isdecimal():
        raise Unreadable("a number of adapters", text, where="/sys/class/infiniband")
    return int(text.strip())


def _lines(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise Unreadable("PCI devices", text, where="/sys/bus/pci/devices")
    return lines
