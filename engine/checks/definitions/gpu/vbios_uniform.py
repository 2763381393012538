"""gpu.vbios-uniform: all GPUs of a node have the same VBIOS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu, GpuReport
from ...model.check import Judgement, Method, Severity, failed
from ...probes.gpu_settings import Expected, SettingsCheck, not_measured


class VbiosUniform(SettingsCheck):
    id, version, method = "gpu.vbios-uniform", 1, Method.TEST
    title = "all GPUs of the node have the same VBIOS version"
    controls = ("cm-2", "cm-8")
    severity = Severity.MEDIUM
    remedy = "update the firmware of the whole GPU board with the tool of the maker of the server"

    def node_findings(self, report: GpuReport, expected: Expected) -> Iterator[Judgement]:
        """Fail if two GPUs differ."""
        versions = Counter(gpu.vbios for gpu in report.gpus if gpu.vbios)
        if len(versions) > 1:
            (common, _), *others = versions.most_common()
            yield failed(f"VBIOS {common} on every GPU", ", ".join(f"{count} with {word}" for word, count in others))

    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """UNKNOWN if a GPU reports no version."""
        if gpu.vbios is None or gpu.vbios == "N/A":
            yield not_measured(f"the VBIOS version of {name}", gpu)

    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""
        return "one VBIOS version"
