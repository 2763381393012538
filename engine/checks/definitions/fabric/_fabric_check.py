"""Base of the checks of the fabric: they run on `fabric.probe_node`, and share one sweep of ibnetdiscover."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from ....fabric.cabling import PlannedLink
from ....fabric.topology import Fabric
from ....facts.fabric.ibnetdiscover import parse_ibnetdiscover
from ....spec import Node
from ....spec.fabric import InfinibandFabric
from ...model.check import Check, Expectation, Judgement
from ...model.check_context import CheckContext
from ...model.figures import integer_of
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import FABRIC_SWEEP


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Expected state of the fabric.

    Args:
        plan: planned links; empty without a cabling file.
        adapters: (host, number of compute ports) of each node with compute ports, in the order of site.yaml.
    """

    plan: tuple[PlannedLink, ...] = ()
    adapters: tuple[tuple[str, int], ...] = ()
    link_gbit_s: float = 400
    max_oversubscription: float = 1.0
    needs_standby: bool = True


class FabricCheck(Check[Expected]):
    """A check of the topology."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this once, on the node that can query the fabric."""
        fabric = site.context.spec.fabric
        if fabric is not None and fabric.probe_node == node.name and self.applies(fabric):
            yield Expected(
                plan=site.cabling,
                adapters=_adapters(site),
                link_gbit_s=fabric.link_gbit_s,
                max_oversubscription=fabric.max_oversubscription,
                needs_standby=fabric.standby_subnet_manager,
            )

    def applies(self, fabric: InfinibandFabric) -> bool:
        """Return whether site.yaml requires what the check measures."""
        return True

    def probe(self, expected: Expected) -> Probe:
        """Discover the fabric."""
        return Probe.of(topology=FABRIC_SWEEP)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Return the judgement of the discovered fabric."""
        text = parse_sections(output).text("topology")
        return self.judge_fabric(Fabric.of(parse_ibnetdiscover(text)), expected)

    @abstractmethod
    def judge_fabric(self, fabric: Fabric, expected: Expected) -> Judgement:
        """Return the judgement of a fabric."""


def _adapters(site: CheckContext) -> tuple[tuple[str, int], ...]:
    counts = ((node.name, _compute_ports(site, node)) for _, node in site.context.spec.nodes())
    return tuple((name, count) for name, count in counts if count)


def _compute_ports(site: CheckContext, node: Node) -> int:
    listed = site.context.group(node).ports.compute
    return len(listed) or integer_of(site.context.platform(node).checks.compute_nics) or 0
