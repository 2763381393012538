"""Base of the checks of InfiniBand compute ports. `probes.compute_ports` decides which ports these are."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.infiniband import Adapter, Port
from ....spec import Node
from ...model.check import Check, Judgement, unknown
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import INFINIBAND_ADAPTERS, INFINIBAND_TREE
from ...probes.compute_ports import Expected, compute_ports, expected_ports, read_adapters


class ComputePortCheck(Check[Expected]):
    """A check of each compute port of nodes with a compute fabric."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of nodes with InfiniBand compute ports."""
        found = expected_ports(site, node)
        if found.ports != 0 and found.link_layer == "InfiniBand":
            yield found

    def probe(self, expected: Expected) -> Probe:
        """Print adapters and ports in sysfs."""
        return Probe.of(adapters=INFINIBAND_ADAPTERS, tree=INFINIBAND_TREE)

    def ports(self, output: ProbeOutput, expected: Expected) -> tuple[list[tuple[Adapter, Port]], list[Judgement]]:
        """Return the compute ports, and UNKNOWN if some are missing; `ib.ports-active` judges the count."""
        found = list(compute_ports(read_adapters(parse_sections(output)), expected))
        lacking = expected.ports is None or len(found) < expected.ports
        wanted = "compute ports" if expected.ports is None else f"{expected.ports} compute ports"
        return found, [unknown(wanted, str(len(found)))] if lacking or not found else []
