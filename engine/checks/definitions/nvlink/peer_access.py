"""nvlink.peer-access: every two GPUs are connected by NVLink and have peer access."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.topology import Matrix, parse_p2p, parse_topology
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._links import Expected, NvlinkCheck


class PeerAccess(NvlinkCheck):
    id, version, method = "nvlink.peer-access", 1, Method.TEST
    title = "all GPUs have peer access over NVLink"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = "check `nvlink.fabric-ready` first; then reset the GPUs of the node"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every pair has the expected topology and peer access, in both matrices of the driver."""
        sections = parse_sections(output)
        topology, access = parse_topology(sections.text("topology")), parse_p2p(sections.text("access"))
        if expected.gpu_count is None or expected.topology is None:
            return unknown("the platform's topology", "none in the catalogue")
        findings = [
            *_findings(topology, expected.gpu_count, expected.topology),
            *_findings(access, expected.gpu_count, "OK"),
        ]
        return worst(
            findings,
            otherwise=f"expected {expected.topology} and peer access between every two of {expected.gpu_count} GPUs, "
            "got both",
        )


def _findings(matrix: Matrix, gpu_count: int, wanted: str) -> Iterator[Judgement]:
    if len(matrix.gpus) != gpu_count:
        yield failed(f"a matrix of {gpu_count} GPUs", str(len(matrix.gpus)))
    for (a, b), cell in matrix.gpu_pairs().items():
        if cell is None:
            yield unknown(f"{wanted} from {a} to {b}", "no answer")
        elif cell != wanted:
            yield failed(f"{wanted} from {a} to {b}", cell)
