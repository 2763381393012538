"""bus.views-agree: nvidia-smi, the kernel module and the PCI bus list the same GPUs.

A tool that was replaced, or that reads a stale cache, disagrees with the kernel. Each view comes from another program.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.driver_files import DriverGpu, parse_driver_gpus
from ....facts.hardware.gpu import GpuReport
from ....facts.hardware.nvidia_smi import parse_nvidia_smi_xml
from ....facts.hardware.pci import PciDevice, parse_pci, short_address
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._bus_check import BusCheck, Expected


class ViewsAgree(BusCheck):
    id, version, method = "bus.views-agree", 1, Method.TEST
    title = "nvidia-smi, the kernel module and the PCI bus list the same GPUs"
    controls = ("cm-8", "si-7")
    severity = Severity.CRITICAL
    remedy = "run `dpkg --verify` for the driver's packages; a view that differs is of a changed tool or a lost GPU"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if addresses, device ids, UUIDs and link widths are the same in all views."""
        sections = parse_sections(output)
        report = parse_nvidia_smi_xml(sections.text("gpus"))
        proc = {each.address: each for each in parse_driver_gpus(sections.text("proc"))}
        bus = {each.address: each for each in parse_pci(sections.text("pci")) if each.is_gpu}
        if expected.gpu_count is None:
            return unknown("the platform's GPU count", "none in the catalogue")
        smi = {short_address(gpu.pci_bus_id) for gpu in report.gpus if gpu.pci_bus_id}
        findings = []
        for view, addresses in (("nvidia-smi", smi), ("/proc/driver/nvidia", set(proc)), ("the PCI bus", set(bus))):
            if len(addresses) != expected.gpu_count:
                findings.append(failed(f"{expected.gpu_count} GPUs in {view}", str(len(addresses))))
        if not smi == set(proc) == set(bus):
            odd = sorted((smi | set(proc) | set(bus)) - (smi & set(proc) & set(bus)))
            findings.append(failed("the same PCI addresses in all views", f"{', '.join(odd)} not in all of them"))
        findings += _identity_findings(report, proc, bus)
        return worst(findings, otherwise=f"expected the same GPUs in three views, got {len(smi)} in each")


def _identity_findings(report: GpuReport, proc: dict[str, DriverGpu], bus: dict[str, PciDevice]) -> Iterator[Judgement]:
    for gpu in report.gpus:
        name, address = f"GPU {gpu.index}", short_address(gpu.pci_bus_id or "")
        kernel, device = proc.get(address), bus.get(address)
        if kernel is not None:
            if gpu.uuid is None or kernel.uuid is None:
                yield unknown(
                    f"the UUID of {name} in both views", "none in nvidia-smi" if kernel.uuid else "none in /proc"
                )
            elif gpu.uuid.lower() != kernel.uuid.lower():
                yield failed(f"the UUID of {name} as in /proc/driver/nvidia", "another one from nvidia-smi")
        if device is None:
            continue
        if gpu.pci_device_id is None:
            yield unknown(f"the PCI device of {name}", "none")
        elif gpu.pci_device_id != device.device:
            yield failed(f"PCI device {device.device} of {name} as on the bus", gpu.pci_device_id)
        if device.width is None or gpu.pcie.width is None:
            yield unknown(f"the link width of {name} in both views", "none")
        elif device.width != gpu.pcie.width:
            yield failed(f"{device.width} lanes of {name} as in sysfs", str(gpu.pcie.width))
