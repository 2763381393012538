"""driver.cdi-lists-every-gpu: the container device interface offers every GPU to containers."""

from __future__ import annotations

import re

from ....facts.hardware.nvidia_smi import parse_nvidia_smi_xml
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import GPU_REPORT
from ._driver_check import DriverCheck, Expected

_BY_INDEX = re.compile(r"^nvidia\.com/gpu=(\d+)$", re.MULTILINE)
_BY_UUID = re.compile(r"^nvidia\.com/gpu=(GPU-[0-9a-f-]+)$", re.MULTILINE)


class CdiListsEveryGpu(DriverCheck):
    id, version, method = "driver.cdi-lists-every-gpu", 1, Method.TEST
    title = "the container device interface lists every GPU"
    controls = ("cm-6",)
    severity = Severity.MEDIUM
    remedy = "run `nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`, or restart nvidia-cdi-refresh"

    def probe(self, expected: Expected) -> Probe:
        """Print the devices of the interface, and the GPUs of the driver."""
        return Probe.of(gpus=GPU_REPORT, cdi="nvidia-ctk --quiet cdi list")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the interface has as many GPUs as the platform, and none that the driver does not know."""
        sections = parse_sections(output)
        text, report = sections.text("cdi"), parse_nvidia_smi_xml(sections.text("gpus"))
        if expected.gpu_count is None:
            return unknown("the platform's GPU count", "none in the catalogue")
        indexes, uuids = set(_BY_INDEX.findall(text)), set(_BY_UUID.findall(text))
        findings = []
        if len(indexes) != expected.gpu_count:
            findings.append(failed(f"{expected.gpu_count} devices nvidia.com/gpu=N", str(len(indexes))))
        stale = uuids - {gpu.uuid for gpu in report.gpus}
        if stale:
            findings.append(failed("only GPUs of this node", f"{len(stale)} unknown UUIDs; generate the file again"))
        return worst(findings, otherwise=f"expected {expected.gpu_count} GPUs for containers, got {len(indexes)}")
