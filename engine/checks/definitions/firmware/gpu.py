"""firmware.gpu: the VBIOS of every GPU has a permitted version."""

from __future__ import annotations

from collections.abc import Iterator

from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, unknown
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...probes.commands import GPU_REPORT
from ...probes.gpu_report import gpu_report
from ._versions import Expected, judge_versions, permitted


class GpuFirmware(Check[Expected]):
    id, version, method = "firmware.gpu", 1, Method.EXAMINE
    title = "the VBIOS of every GPU has a permitted version"
    controls = ("cm-2", "cm-6", "si-2")
    severity = Severity.MEDIUM
    remedy = "drain the node, and update the GPU board with the tool of the maker of the server"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of nodes with GPUs."""
        if site.context.platform(node).has_gpus:
            yield permitted(site, node, "gpu")

    def probe(self, expected: Expected) -> Probe:
        """Print the driver's report of all GPUs."""
        return Probe.of(gpus=GPU_REPORT)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Compare every GPU; `gpu.count` judges their number."""
        report = gpu_report(output)
        if not report.gpus or report.attached != len(report.gpus):
            return unknown("a report of all attached GPUs", f"{len(report.gpus)} of {report.attached}")
        return judge_versions({f"GPU {gpu.index}": None if gpu.is_lost else gpu.vbios for gpu in report.gpus}, expected)
