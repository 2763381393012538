"""Base of the checks of RoCE: they compare Ethernet compute ports of a node with `roce` of site.yaml.

A node whose compute ports are all InfiniBand in sysfs is N/A. Missing ports, and ports without a known link layer, are
UNKNOWN.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from sovctl.compliance.verdict import Verdict

from ....facts.fabric.roce import Interface, by_interface
from ....facts.unreadable import Unreadable
from ....spec import Node
from ....spec.fabric import RoceNetwork
from ...model.check import Check, Expectation, Judgement, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import ProbeSections, parse_sections
from ...probes.commands import INFINIBAND_ADAPTERS, INFINIBAND_TREE
from ...probes.compute_ports import Expected as Ports
from ...probes.compute_ports import compute_ports, expected_ports, read_adapters

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Compute ports of a node, and their settings in site.yaml."""

    ports: Ports
    network: RoceNetwork = field(default_factory=RoceNetwork)


class RoceCheck(Check[Expected]):
    """A check of each Ethernet compute port."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of nodes with compute ports."""
        ports = expected_ports(site, node)
        if ports.ports != 0:
            yield Expected(ports=ports, network=site.context.spec.roce or RoceNetwork())

    def probe(self, expected: Expected) -> Probe:
        """Print adapters and ports in sysfs, and the settings of each interface."""
        parts = {name: on_interfaces(command) for name, command in self.commands(expected.network).items()}
        return Probe({"adapters": INFINIBAND_ADAPTERS, "tree": INFINIBAND_TREE, **parts})

    @abstractmethod
    def commands(self, network: RoceNetwork) -> dict[str, str]:
        """Return commands by section, with `$adapter` and `$net`: folders of the adapter and its network device."""

    @abstractmethod
    def judge_ports(self, sections: ProbeSections, wanted: frozenset[str], network: RoceNetwork) -> list[Judgement]:
        """Return the findings of the Ethernet compute ports.

        Args:
            wanted: names of their adapters.
        """

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Return N/A for InfiniBand ports, else the worst finding."""
        sections = parse_sections(output)
        ports = list(compute_ports(read_adapters(sections), expected.ports))
        layers = {port.link_layer for _, port in ports}
        count = expected.ports.ports
        if count is None or len(ports) < count or not ports:
            return unknown(f"{count if count is not None else 'the'} compute ports", f"{len(ports)} in sysfs")
        if layers == {"InfiniBand"}:
            return Judgement(
                Verdict.NOT_APPLICABLE, f"expected Ethernet compute ports, got {len(ports)} with link layer InfiniBand"
            )
        if len(ports) > count:
            return unknown(f"{count} compute ports", f"{len(ports)}; name the others in node_groups[].ports")
        if layers != {"Ethernet"}:
            got = ", ".join(sorted(layer or "unknown" for layer in layers))
            return unknown("one link layer on all compute ports", got)
        adapters = frozenset(adapter.name for adapter, _ in ports)
        findings = self.judge_ports(sections, adapters, expected.network)
        return worst(findings, otherwise=f"expected settings of `roce`, got them on {len(adapters)} adapters")


def on_interfaces(command: str) -> str:
    """Return a command that runs another for each network device of an Ethernet adapter, after a line with its name."""
    return f"""\
for adapter in /sys/class/infiniband/*; do
  [ "$(cat "$adapter/ports/1/link_layer" 2>/dev/null)" = Ethernet ] || continue
  for net in "$adapter"/device/net/*; do
    [ -e "$net" ] || continue
    echo "interface ${{adapter##*/}} ${{net##*/}}"
    {command} || exit 1
  done
done"""


def each_port(text: str, wanted: frozenset[str], parse: Callable[[str], T]) -> list[tuple[Interface, T]]:
    """Return the parsed text of each wanted adapter.

    Raises:
        Unreadable: an adapter has no network device in the text, or its text is unreadable.
    """
    found = {interface: part for interface, part in by_interface(text).items() if interface.adapter in wanted}
    if lacking := wanted - {interface.adapter for interface in found}:
        raise Unreadable(
            f"a network device of {', '.join(sorted(lacking))}", "none", where="sysfs", is_description=True
        )
    return [(interface, parse(part)) for interface, part in sorted(found.items())]
