"""nvlink.links-active: every GPU has the platform's number of NVLinks, each at its rated speed."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.nvlink import GpuLinks, parse_nvlink_status
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._links import Expected, NvlinkCheck

_SPEED_TOLERANCE_GB_S = 0.01
"""nvidia-smi prints 26.5625 with three decimals; other link speeds differ by 5 GB/s or more."""


class LinksActive(NvlinkCheck):
    id, version, method = "nvlink.links-active", 1, Method.TEST
    title = "every NVLink is active at its rated speed"
    controls = ("cm-8", "si-13")
    severity = Severity.HIGH
    remedy = "reset the GPUs of the node; if the link stays inactive, inspect GPU and NVSwitch board"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every GPU has exactly the expected links, each at the expected speed."""
        gpus = parse_nvlink_status(parse_sections(output).text("links"))
        links_per_gpu, speed = expected.links_per_gpu, expected.link_gb_s
        if expected.gpu_count is None or links_per_gpu is None or speed is None:
            return unknown("the platform's NVLinks", "none in the catalogue")
        findings = []
        if len(gpus) != expected.gpu_count:
            findings.append(failed(f"links of {expected.gpu_count} GPUs", str(len(gpus))))
        for gpu in gpus:
            findings += _findings(gpu, links_per_gpu, speed)
        return worst(
            findings,
            otherwise=f"expected {links_per_gpu} links at {speed} GB/s per GPU, got the same on {len(gpus)} GPUs "
            f"({sum(gpu.active for gpu in gpus)} links)",
        )


def _findings(gpu: GpuLinks, links_per_gpu: int, speed: float) -> Iterator[Judgement]:
    if gpu.active != links_per_gpu:
        inactive = [str(link.index) for link in gpu.links if link.speed_gb_s is None]
        which = f", link {', '.join(inactive)} inactive" if inactive else ""
        yield failed(f"{links_per_gpu} active links on GPU {gpu.index}", f"{gpu.active}{which}")
    for link in gpu.links:
        if link.speed_gb_s is not None and abs(link.speed_gb_s - speed) > _SPEED_TOLERANCE_GB_S:
            yield failed(f"{speed} GB/s on GPU {gpu.index} link {link.index}", f"{link.speed_gb_s} GB/s")
