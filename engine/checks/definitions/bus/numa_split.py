"""bus.numa-split: half of the GPUs of a board are at each of the two processors, and the kernel knows it.

Without NUMA nodes from the firmware, processes are pinned to the wrong processor and copies cross the sockets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ....facts.hardware.pci import parse_pci
from ....spec import Node
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._bus_check import BusCheck, Expected


class NumaSplit(BusCheck):
    id, version, method = "bus.numa-split", 1, Method.TEST
    title = "the GPUs of a board are divided equally between the NUMA nodes"
    controls = ("cm-6",)
    severity = Severity.MEDIUM
    remedy = "enable NUMA (NPS1, SNC off) in the firmware of the server, and compare the slots with a healthy node"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with a board of eight GPUs."""
        for expected in super().expect(site, node):
            if expected.has_two_sockets:
                yield expected

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every NUMA node with GPUs has the same number of them, and there are at least two."""
        gpus = [each for each in parse_pci(parse_sections(output).text("pci")) if each.is_gpu]
        if expected.gpu_count is None:
            return unknown("the platform's GPU count", "none in the catalogue")
        findings = []
        if len(gpus) != expected.gpu_count:
            findings.append(failed(f"{expected.gpu_count} GPUs on the PCI bus", str(len(gpus))))
        findings += [
            failed(f"a NUMA node of GPU {gpu.address}", "-1")
            if gpu.numa_node == -1
            else unknown(f"a NUMA node of GPU {gpu.address}", "none")
            for gpu in gpus
            if gpu.numa_node is None or gpu.numa_node < 0
        ]
        by_node = Counter(gpu.numa_node for gpu in gpus)
        if len(by_node) < _SOCKETS or len(set(by_node.values())) > 1:
            shares = ", ".join(f"{count} on node {node}" for node, count in sorted(by_node.items(), key=str))
            findings.append(failed("GPUs divided equally between at least 2 NUMA nodes", shares))
        return worst(
            findings, otherwise=f"expected an equal division of {len(gpus)} GPUs, got {len(by_node)} NUMA nodes"
        )


_SOCKETS = 2
