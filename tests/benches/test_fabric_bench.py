"""The fabric benchmark finds exactly the faults that it generates."""

from __future__ import annotations

from bench.fabric import InventedFabric, analyse, damaged
from sovctl.engine.fabric.cabling import plan_of
from sovctl.engine.fabric.topology import Fabric
from sovctl.engine.facts.fabric.ibnetdiscover import parse_ibnetdiscover


def test_the_generated_fabric_has_10000_ports_and_three_faults() -> None:
    plan = plan_of(Fabric.of(parse_ibnetdiscover(InventedFabric(hosts=640).text())))
    found = analyse(damaged().text(), plan)
    assert found.ports >= 10_000
    assert (found.swapped, found.slow, found.short_leaves, found.others, found.differences) == (1, 1, 1, 0, 3)
