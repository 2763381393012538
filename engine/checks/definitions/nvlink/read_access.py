"""nvlink.read-access: every GPU can read the memory of every other one."""

from __future__ import annotations

from ....facts.hardware.topology import parse_p2p
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._links import Expected, NvlinkCheck


class ReadAccess(NvlinkCheck):
    id, version, method = "nvlink.read-access", 1, Method.TEST
    title = "every GPU can read the memory of every other GPU"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = "check `nvlink.fabric-ready` first; then disable ACS on the path and reset the GPUs of the node"

    def probe(self, expected: Expected) -> Probe:
        """Print the matrix of read access."""
        return Probe.of(read="nvidia-smi topo -p2p r")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every pair is OK. NVLink can be active while a pair has no access (dstack pull request 1167)."""
        matrix = parse_p2p(parse_sections(output).text("read"))
        if expected.gpu_count is None:
            return unknown("the platform's GPU count", "none in the catalogue")
        findings = []
        if len(matrix.gpus) != expected.gpu_count:
            findings.append(failed(f"a matrix of {expected.gpu_count} GPUs", str(len(matrix.gpus))))
        for (a, b), cell in matrix.gpu_pairs().items():
            if cell is None:
                findings.append(unknown(f"read access from {a} to {b}", "no answer"))
            elif cell != "OK":
                findings.append(failed(f"read access from {a} to {b}", cell))
        return worst(
            findings, otherwise=f"expected read access between {expected.gpu_count} GPUs, got it for all pairs"
        )
