"""nvlink.nic-affinity: every GPU of a board has a network adapter at the same PCIe switch.

Without it, RDMA crosses the host bridge. Tray systems (GB200, GB300) show SYS for all adapters and are not checked.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....catalog.platforms import PlatformComponent
from ....facts.hardware.topology import parse_topology
from ....spec import Node
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._links import Expected, NvlinkCheck

_NEAR = ("PIX", "PXB")


class NicAffinity(NvlinkCheck):
    id, version, method = "nvlink.nic-affinity", 1, Method.TEST
    title = "every GPU has a network adapter at the same PCIe switch"
    controls = ("cm-6",)
    severity = Severity.MEDIUM
    remedy = "move the adapter to the slot in the maker's rail plan; compare `nvidia-smi topo -m` with a healthy node"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Boards with NVSwitches and compute adapters."""
        platform = site.context.platform(node)
        nics = platform.checks.compute_nics
        if PlatformComponent.NVSWITCH in platform.parts and (nics is None or nics.applies):
            yield from super().expect(site, node)

    def probe(self, expected: Expected) -> Probe:
        """Print the topology."""
        return Probe.of(topology="nvidia-smi topo -m")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every GPU has an adapter at PIX or PXB."""
        matrix = parse_topology(parse_sections(output).text("topology"))
        if expected.gpu_count is None:
            return unknown("the platform's GPU count", "none in the catalogue")
        findings = []
        if len(matrix.gpus) != expected.gpu_count:
            findings.append(failed(f"{expected.gpu_count} GPUs in the topology", str(len(matrix.gpus))))
        if not matrix.nics:
            findings.append(failed("network adapters in the topology", "none"))
        for gpu in matrix.gpus if matrix.nics else ():
            cells = [matrix.cells.get((gpu, nic)) for nic in matrix.nics]
            if None in cells:
                findings.append(unknown(f"a path from {gpu} to every adapter", "no answer"))
            elif not any(cell in _NEAR for cell in cells):
                findings.append(
                    failed(f"an adapter at PIX or PXB of {gpu}", ", ".join(sorted({str(c) for c in cells})))
                )
        return worst(findings, otherwise=f"expected an adapter near each GPU, got one for {len(matrix.gpus)} GPUs")
