"""gpu.count: the PCI bus and the driver list the platform's number of GPUs, of the right model, all responding."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import GpuReport
from ....facts.hardware.nvidia_smi import parse_nvidia_smi_xml
from ....facts.unreadable import Unreadable
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.gpu_report import count_findings
from ._gpu_check import Expected, GpuCheck

_LOST = "GPU is lost"


class GpuCount(GpuCheck):
    id, version, method = "gpu.count", 1, Method.TEST
    title = "the platform's GPUs are on the PCI bus, and all respond"
    controls = ("cm-8",)
    severity = Severity.HIGH
    remedy = "read the kernel log for Xid 79; reboot the node, and replace the GPU if it is absent again"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if bus and driver list the expected GPUs, and every GPU responds."""
        sections = parse_sections(output)
        section = sections.section("gpus")
        if section.exit_code != 0 and _LOST in section.text:
            # nvidia-smi reports the loss and exits with an error: a measurement, not a missing one.
            return failed("every GPU to respond", f"{_LOST!r}, exit code {section.exit_code}")
        report = parse_nvidia_smi_xml(sections.text("gpus"))
        if expected.gpu_count is None or expected.pci_device_id is None:
            return unknown("the platform's GPU count and PCI id", "none in the catalogue")
        on_bus = _gpus_on_bus(sections.text("bus"))
        findings = [
            *count_findings(report, expected.gpu_count),
            *_state_findings(report),
            *_model_findings(report, expected.pci_device_id),
        ]
        if len(on_bus) != expected.gpu_count:
            findings.append(failed(f"{expected.gpu_count} NVIDIA GPUs on the PCI bus", str(len(on_bus))))
        findings += [
            failed(f"PCI device {expected.pci_device_id} on the bus", device)
            for device in sorted(set(on_bus) - {expected.pci_device_id})
        ]
        return worst(
            findings,
            otherwise=f"expected {expected.gpu_count} GPUs with PCI id {expected.pci_device_id}, "
            f"got {len(report.gpus)} from the driver and {len(on_bus)} on the bus, all responding",
        )


def _state_findings(report: GpuReport) -> Iterator[Judgement]:
    for gpu in report.gpus:
        name = f"GPU {gpu.index} ({gpu.pci_bus_id})"
        if gpu.is_lost:
            yield failed(f"{name} to respond", "GPU is lost")
        elif gpu.needs_reset:
            yield failed(f"{name} to respond", "GPU requires reset")
        # Absent with drivers before 570; "N/A" on virtual GPUs and in the lab.
        elif gpu.recovery_action not in (None, "None", "N/A"):
            yield failed(f"no recovery action for {name}", str(gpu.recovery_action))


def _model_findings(report: GpuReport, device: str) -> Iterator[Judgement]:
    for gpu in report.gpus:
        if gpu.pci_device_id is None:
            yield unknown(f"the PCI id of GPU {gpu.index}", "none")
        elif gpu.pci_device_id != device:
            yield failed(f"PCI device {device} as GPU {gpu.index}", gpu.pci_device_id)


def _gpus_on_bus(text: str) -> list[str]:
    """Return the device ids of NVIDIA GPUs from lines of `vendor device class` in the spelling of sysfs."""
    devices = []
    for line in text.splitlines():
        words = line.split()
        if len(words) != 3 or not all(word.startswith("0x") for word in words):
            raise Unreadable("`vendor device class`", line, where="/sys/bus/pci/devices")
        vendor, device, pci_class = (word.removeprefix("0x").lower() for word in words)
        # PCI class 0302: 3D controller; 0300: display; 0680, bridge, is an NVSwitch.
        if vendor == "10de" and pci_class.startswith(("0302", "0300")):
            devices.append(device)
    if not text.strip():
        raise Unreadable("PCI devices", text, where="/sys/bus/pci/devices")
    return devices
