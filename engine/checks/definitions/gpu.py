"""GPUs: present, answering, of the right model, with sound memory, kept awake by the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...facts.gpu import Gpu, GpuReport, parse_nvidia_smi_xml
from ...facts.unreadable import Unreadable
from ..model.check import Expectation, Judgement, ProbeOutput, failed, unknown, warned, worst
from ..model.probe_sections import read_parts

LOST = "GPU is lost"
LOW_MARGIN_C = 5  # degrees Celsius; our guess of 2026-11-21, measured on no machine: leptonai/gpud uses 0


@dataclass(frozen=True, kw_only=True)
class GpuExpectation(Expectation):
    """What the platform has. None: nobody has told us, so the answer is UNKNOWN.

    Args:
        count: GPUs per operating system.
        pci_device_id: four lower-case hex digits.
        pcie_gen: of the link to the host, under load.
        pcie_width: lanes.
    """

    count: int | None
    pci_device_id: str | None
    pcie_gen: int | None = None
    pcie_width: int | None = None


def judge_count(output: ProbeOutput, expectation: GpuExpectation) -> Judgement:
    """Every GPU is on the bus, in the driver's list, of the right model, and answers."""
    parts = read_parts(output)
    answer = parts.part("gpus")
    if answer.exit_code != 0 and LOST in answer.text:
        # The driver names the loss and ends with an error: that is a measurement, not a missing one.
        return failed("every GPU to answer", f"{LOST!r}, exit code {answer.exit_code}")
    report = parse_nvidia_smi_xml(parts.text("gpus"))
    if expectation.count is None or expectation.pci_device_id is None:
        return unknown("a platform whose GPU count and PCI id are known", "none in the catalogue")
    on_bus = _on_bus(parts.text("bus"))
    findings = [*_counts(report, expectation.count), *_states(report), *_models(report, expectation.pci_device_id)]
    if len(on_bus) != expectation.count:
        findings.append(failed(f"{expectation.count} NVIDIA GPUs on the PCI bus", str(len(on_bus))))
    findings += [
        failed(f"PCI device {expectation.pci_device_id} on the bus", device)
        for device in sorted(set(on_bus) - {expectation.pci_device_id})
    ]
    return worst(
        findings,
        otherwise=f"expected {expectation.count} GPUs with PCI id {expectation.pci_device_id}, "
        f"got {len(report.gpus)} from the driver and {len(on_bus)} on the bus, all answering",
    )


def judge_ecc(output: ProbeOutput, expectation: GpuExpectation) -> Judgement:
    """Error correction is on, and no uncorrectable error was seen since the driver was loaded."""
    report = _report(output)
    return worst(
        [*_counts(report, expectation.count), *(each for gpu in report.gpus for each in _ecc(gpu))],
        otherwise=f"expected ECC on and 0 uncorrectable errors, got that on {len(report.gpus)} GPUs",
    )


def judge_row_remap(output: ProbeOutput, expectation: GpuExpectation) -> Judgement:
    """No GPU has run out of spare rows; a pending remap asks for a reset."""
    report = _report(output)
    return worst(
        [*_counts(report, expectation.count), *(each for gpu in report.gpus for each in _rows(gpu))],
        otherwise=f"expected no row remapping failed or pending, got that on {len(report.gpus)} GPUs",
    )


def judge_persistence(output: ProbeOutput, expectation: GpuExpectation) -> Judgement:
    """The driver stays loaded between clients."""
    report = _report(output)
    findings = list(_counts(report, expectation.count))
    for gpu in report.gpus:
        if gpu.persistence_mode is None:
            findings.append(unknown(f"the persistence mode of GPU {gpu.index}", "none"))
        elif gpu.persistence_mode != "Enabled":
            findings.append(failed(f"persistence Enabled on GPU {gpu.index}", gpu.persistence_mode))
    return worst(findings, otherwise=f"expected persistence Enabled, got that on {len(report.gpus)} GPUs")


def judge_pcie(output: ProbeOutput, expectation: GpuExpectation) -> Judgement:
    """Every GPU has all lanes to the host; a lower generation is looked at again, since idle links may rest."""
    report = _report(output)
    generation, width = expectation.pcie_gen, expectation.pcie_width
    findings = list(_counts(report, expectation.count))
    if generation is None or width is None:
        return unknown("a platform whose PCIe link is known", "none in the catalogue")
    for gpu in report.gpus:
        name, link = f"GPU {gpu.index}", gpu.pcie
        if link.width is None or link.generation is None:
            findings.append(unknown(f"the PCIe link of {name}", "GPU is lost" if gpu.is_lost else "none"))
            continue
        if link.width != width:
            findings.append(failed(f"{width} PCIe lanes to {name}", str(link.width)))
        if link.generation < generation:
            findings.append(
                warned(f"PCIe generation {generation} to {name}", f"{link.generation}; measure it under load")
            )
    return worst(findings, otherwise=f"expected PCIe {generation} x{width}, got that on {len(report.gpus)} GPUs")


def judge_temperature(output: ProbeOutput, expectation: GpuExpectation) -> Judgement:
    """No GPU is at the temperature where it slows down."""
    report = _report(output)
    findings = list(_counts(report, expectation.count))
    margins = [_margin(gpu) for gpu in report.gpus]
    for gpu, margin in zip(report.gpus, margins, strict=True):
        if margin is None:
            findings.append(unknown(f"the temperature of GPU {gpu.index}", "GPU is lost" if gpu.is_lost else "none"))
        elif margin <= 0:
            findings.append(failed(f"GPU {gpu.index} below its slowdown temperature", f"{margin} degrees left"))
        elif margin < LOW_MARGIN_C:
            findings.append(warned(f"{LOW_MARGIN_C} degrees left on GPU {gpu.index}", str(margin)))
    smallest = min((margin for margin in margins if margin is not None), default=0)
    return worst(findings, otherwise=f"expected {LOW_MARGIN_C} degrees below slowdown, got {smallest} or more")


def _margin(gpu: Gpu) -> int | None:
    """Degrees left; from the absolute threshold on GPUs that have no margin."""
    temperatures = gpu.temperatures
    if temperatures.margin_c is not None:
        return temperatures.margin_c
    if temperatures.slowdown_c is None or temperatures.gpu_c is None:
        return None
    return temperatures.slowdown_c - temperatures.gpu_c


def count_findings(report: GpuReport, count: int | None) -> list[Judgement]:
    """What is wrong with the number of GPUs; every judge looks at it before it looks at content."""
    return list(_counts(report, count))


def _report(output: ProbeOutput) -> GpuReport:
    return parse_nvidia_smi_xml(read_parts(output).text("gpus"))


def _counts(report: GpuReport, count: int | None) -> Iterator[Judgement]:
    if count is None:
        yield unknown("a platform whose GPU count is known", "none in the catalogue")
        return
    if report.attached is None:
        yield unknown("attached_gpus", "none")
    elif report.attached != len(report.gpus):
        yield unknown(f"{report.attached} GPUs described, as the driver counts", str(len(report.gpus)))
    if len(report.gpus) != count:
        yield failed(f"{count} GPUs", str(len(report.gpus)))
    places = {gpu.pci_bus_id for gpu in report.gpus}
    if None in places or len(places) != len(report.gpus):
        yield unknown("every GPU at a PCI address of its own", f"{len(places - {None})} addresses")


def _states(report: GpuReport) -> Iterator[Judgement]:
    for gpu in report.gpus:
        name = f"GPU {gpu.index} ({gpu.pci_bus_id})"
        if gpu.is_lost:
            yield failed(f"{name} to answer", "GPU is lost")
        elif gpu.needs_reset:
            yield failed(f"{name} to answer", "GPU requires reset")
        # Drivers before 570 do not say; "N/A" is what a stand-in and a virtual GPU say.
        elif gpu.recovery_action not in (None, "None", "N/A"):
            yield failed(f"no recovery action for {name}", str(gpu.recovery_action))


def _models(report: GpuReport, device: str) -> Iterator[Judgement]:
    for gpu in report.gpus:
        if gpu.pci_device_id is None:
            yield unknown(f"the PCI id of GPU {gpu.index}", "none")
        elif gpu.pci_device_id != device:
            yield failed(f"PCI device {device} as GPU {gpu.index}", gpu.pci_device_id)


def _ecc(gpu: Gpu) -> Iterator[Judgement]:
    name = f"GPU {gpu.index}"
    if gpu.ecc_mode is None:
        yield unknown(f"the ECC mode of {name}", "none")
    elif gpu.ecc_mode != "Enabled":
        yield failed(f"ECC Enabled on {name}", gpu.ecc_mode)
    if gpu.ecc.volatile_uncorrectable is None:
        yield unknown(f"the volatile error count of {name}", "GPU is lost" if gpu.is_lost else "none")
    elif gpu.ecc.volatile_uncorrectable > 0:
        yield failed(f"0 uncorrectable errors on {name} since driver load", str(gpu.ecc.volatile_uncorrectable))
    if gpu.ecc.sram_threshold_exceeded:
        yield failed(f"the SRAM error threshold of {name} not exceeded", "exceeded: replace it")
    if gpu.ecc.aggregate_uncorrectable is None:
        yield unknown(f"the lifetime error count of {name}", "GPU is lost" if gpu.is_lost else "none")
    elif gpu.ecc.aggregate_uncorrectable > 0:
        yield warned(f"0 uncorrectable errors in the life of {name}", str(gpu.ecc.aggregate_uncorrectable))


def _rows(gpu: Gpu) -> Iterator[Judgement]:
    name, rows = f"GPU {gpu.index}", gpu.remapped_rows
    if rows.failure is None or rows.pending is None:
        yield unknown(f"remapped_rows of {name}", "GPU is lost" if gpu.is_lost else "none")
    if rows.failure:
        yield failed(f"spare rows left on {name}", "row remapping failed: replace it")
    if rows.pending:
        yield warned(f"no row remapping pending on {name}", "pending: reset it")


def _on_bus(text: str) -> list[str]:
    """Device ids of GPUs from lines of `vendor device class` as sysfs prints them."""
    devices = []
    for line in text.splitlines():
        words = line.split()
        if len(words) != 3 or not all(word.startswith("0x") for word in words):
            raise Unreadable("`vendor device class`", line, where="/sys/bus/pci/devices")
        vendor, device, kind = (word.removeprefix("0x").lower() for word in words)
        # 0302: 3D controller, 0300: display; bridges (0680) are NVSwitches.
        if vendor == "10de" and kind.startswith(("0302", "0300")):
            devices.append(device)
    if not text.strip():
        raise Unreadable("PCI devices", text, where="/sys/bus/pci/devices")
    return devices
