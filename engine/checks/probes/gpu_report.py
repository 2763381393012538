"""The report of `nvidia-smi -q -x`, and the check of its GPU count that precedes every check of its contents."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.hardware.gpu import GpuReport
from ...facts.hardware.nvidia_smi import parse_nvidia_smi_xml
from ..model.check import Judgement, failed, unknown
from ..model.probe import ProbeOutput
from ..model.probe_sections import parse_sections


def gpu_report(output: ProbeOutput) -> GpuReport:
    """Parse the section `gpus`.

    Raises:
        Unreadable: it is missing or of another form.
    """
    return parse_nvidia_smi_xml(parse_sections(output).text("gpus"))


def count_findings(report: GpuReport, count: int | None) -> Iterator[Judgement]:
    """Yield a finding if the report does not describe exactly `count` GPUs at different PCI addresses.

    Args:
        count: GPUs per operating system; None if the catalogue does not have the number.
    """
    if count is None:
        yield unknown("the platform's GPU count", "none in the catalogue")
        return
    if report.attached is None:
        yield unknown("attached_gpus", "none")
    elif report.attached != len(report.gpus):
        yield unknown(f"{report.attached} GPUs in the report (attached_gpus)", str(len(report.gpus)))
    if len(report.gpus) != count:
        yield failed(f"{count} GPUs", str(len(report.gpus)))
    addresses = {gpu.pci_bus_id for gpu in report.gpus}
    if None in addresses or len(addresses) != len(report.gpus):
        yield unknown("a different PCI address for every GPU", f"{len(addresses - {None})} addresses")
