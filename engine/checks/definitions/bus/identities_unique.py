"""bus.identities-unique: no two GPUs of a node have the same serial number, UUID or PCI address."""

from __future__ import annotations

from collections import Counter

from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...probes.gpu_report import count_findings, gpu_report
from ._bus_check import BusCheck, Expected


class IdentitiesUnique(BusCheck):
    id, version, method = "bus.identities-unique", 1, Method.TEST
    title = "every GPU of the node has its own serial number and UUID"
    controls = ("cm-8",)
    severity = Severity.HIGH
    remedy = "compare `nvidia-smi -L` with the labels of the boards; a repeated serial number is of a copied report"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if serial numbers and UUIDs are present and different."""
        report = gpu_report(output)
        findings = list(count_findings(report, expected.gpu_count))
        for field in ("serial", "uuid"):
            values = [getattr(gpu, field) for gpu in report.gpus]
            missing = [str(gpu.index) for gpu in report.gpus if getattr(gpu, field) in (None, "N/A")]
            if missing:
                findings.append(unknown(f"a {field} of every GPU", f"none of GPU {', '.join(missing)}"))
            repeated = [count for value, count in Counter(values).items() if value not in (None, "N/A") and count > 1]
            if repeated:
                findings.append(failed(f"a different {field} for every GPU", f"{max(repeated)} GPUs with the same one"))
        return worst(findings, otherwise=f"expected different serial numbers and UUIDs, got {len(report.gpus)} of each")
