"""cpu.numa-nodes: the node has the planned number of NUMA nodes, which a setting of the BIOS can change.

Only NUMA nodes with processors count: GPU memory of a Grace system appears as NUMA nodes too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.host.memory import parse_cpu_list
from ....spec import Node
from ...model.check import Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.figures import integer_of
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Planned number from site.yaml or the catalogue."""

    numa_nodes: int


class NumaNodes(OwnKernelCheck[Expected]):
    id, version, method = "cpu.numa-nodes", 1, Method.EXAMINE
    title = "the node has the planned number of NUMA nodes"
    controls = ("cm-2", "cm-6")
    severity = Severity.MEDIUM
    remedy = "set nodes per socket (NPS) or sub-NUMA clustering (SNC) in the BIOS as on the other nodes, and reboot"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of nodes for which site.yaml or the catalogue states the number."""
        planned = site.context.group(node).hardware.numa_nodes
        count = planned or integer_of(site.context.platform(node).checks.numa_nodes)
        if count is not None:
            yield Expected(numa_nodes=count)

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the NUMA nodes with processors (Linux Documentation/ABI/stable/sysfs-devices-node)."""
        return {"nodes": "cat /sys/devices/system/node/has_cpu"}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Pass if the number is the planned one."""
        count = len(parse_cpu_list(sections.text("nodes")))
        findings = [] if count == expected.numa_nodes else [failed(f"{expected.numa_nodes} NUMA nodes", str(count))]
        return worst(findings, otherwise=f"expected {expected.numa_nodes} NUMA nodes, got {count}")
