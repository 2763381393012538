"""Model of a fabric: rails, cabling, findings; each fault yields exactly its finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.fabric import InventedFabric
from sovctl.engine.fabric.cabling import compare, parse_plan, plan_of
from sovctl.engine.fabric.findings import (
    common_rate,
    default_hosts,
    duplicate_identities,
    duplicate_names,
    leaf_loads,
    missing_uplinks,
    slow_links,
    unset_names,
    without_aggregation_node,
)
from sovctl.engine.fabric.rails import rails_of
from sovctl.engine.fabric.topology import Fabric
from sovctl.engine.facts.fabric.ibnetdiscover import parse_ibnetdiscover


def small() -> InventedFabric:
    """Six hosts, two rails, two groups, two spines."""
    return InventedFabric(hosts=6, rails=2, hosts_per_leaf=3, uplinks=2)


def fabric_of(invented: InventedFabric) -> Fabric:
    return Fabric.of(parse_ibnetdiscover(invented.text()))


PLAN = parse_plan(plan_of(fabric_of(small())))[0]


def test_a_healthy_fabric_has_no_finding_except_sharp() -> None:
    fabric = fabric_of(small())
    assert [len(each) for each in (fabric.leaves, fabric.spines, fabric.adapters)] == [4, 2, 12]
    assert rails_of(fabric).is_aligned
    assert compare(PLAN, fabric).is_empty
    assert common_rate(fabric) == 400
    assert slow_links(fabric, at_least_gbit_s=400) == ()
    for find in (missing_uplinks, unset_names, default_hosts, duplicate_names, duplicate_identities):
        assert find(fabric) == ()
    assert {each.oversubscription for each in leaf_loads(fabric)} == {1.5}
    assert len(without_aggregation_node(fabric)) == 6


def test_swapped_cables_are_one_pair_that_names_both_leaves() -> None:
    invented = small()
    invented.swap(("S-leaf-0-0", 1), ("S-leaf-0-1", 1))
    fabric = fabric_of(invented)
    rails = rails_of(fabric)
    ((one, other),) = rails.swapped
    assert {(each.name.index, each.leaf, each.rail) for each in (one, other)} == {
        (0, "leaf-1-2", 1),
        (1, "leaf-1-1", 0),
    }
    assert (rails.misplaced, rails.mixed) == ((), ())
    difference = compare(PLAN, fabric)
    assert (difference.missing, difference.unplanned) == ((), ())
    assert [(str(end), actual) for _, end, actual in difference.wrong] == [
        ("leaf-1-1 port 1", "dgx-0001 mlx5_1 port 1"),
        ("leaf-1-2 port 1", "dgx-0001 mlx5_0 port 1"),
    ]


def test_an_adapter_on_another_hosts_rail_is_misplaced() -> None:
    invented = small()
    invented.swap(("S-leaf-0-0", 1), ("S-leaf-0-1", 2))
    rails = rails_of(fabric_of(invented))
    assert rails.swapped == ()
    assert {(each.name.host, each.name.index) for each in rails.misplaced} == {("dgx-0001", 0), ("dgx-0002", 1)}


def test_a_leaf_without_a_majority_is_mixed() -> None:
    invented = InventedFabric(hosts=2, rails=2, hosts_per_leaf=2, uplinks=1)
    invented.swap(("S-leaf-0-0", 1), ("S-leaf-0-1", 1))
    assert rails_of(fabric_of(invented)).mixed == ("leaf-1-1", "leaf-1-2")


def test_a_cut_link_is_missing_and_nothing_else() -> None:
    invented = small()
    invented.cut(("S-leaf-1-0", 4))
    fabric = fabric_of(invented)
    difference = compare(PLAN, fabric)
    assert [(str(each.one), str(each.other)) for each in difference.missing] == [("leaf-2-1 port 4", "spine-1 port 3")]
    assert (difference.wrong, difference.unplanned) == ((), ())
    (short,) = missing_uplinks(fabric)
    assert (short.leaf, short.found, short.usual, short.lacks) == ("leaf-2-1", 1, 2, ("spine-1",))


def test_an_additional_link_is_unplanned() -> None:
    invented = small()
    invented.connect(("S-leaf-0-0", 60), ("S-leaf-0-1", 60))
    assert compare(PLAN, fabric_of(invented)).unplanned == ("leaf-1-1 port 60 - leaf-1-2 port 60",)


def test_slow_links_name_both_ends() -> None:
    invented = small()
    invented.slow(("S-leaf-0-0", 2), "4xHDR")
    fabric = fabric_of(invented)
    (link,) = slow_links(fabric, at_least_gbit_s=common_rate(fabric))
    assert fabric.label_link(link) == "leaf-1-1 port 2 - dgx-0002 mlx5_0 port 1"


def test_duplicates_and_unset_names_are_found() -> None:
    invented = small()
    invented.names["H-1-0"] = invented.names["H-0-0"]
    invented.names["H-2-0"] = "MT4129 ConnectX7   Mellanox Technologies"
    invented.names["H-3-0"] = "localhost mlx5_0"
    fabric = fabric_of(invented)
    ((name, guids),) = duplicate_names(fabric)
    assert (name, len(guids)) == ("dgx-0001 mlx5_0", 2)
    assert (len(unset_names(fabric)), len(default_hosts(fabric))) == (1, 1)


def test_a_lid_of_two_devices_is_found() -> None:
    text = small().text()
    fabric = Fabric.of(parse_ibnetdiscover(text.replace("enhanced port 0 lid 1 lmc 0", "enhanced port 0 lid 2 lmc 0")))
    assert [key for key, _ in duplicate_identities(fabric)] == ["LID 2"]


def test_aggregation_nodes_are_no_adapters_and_no_part_of_the_plan() -> None:
    invented = small()
    for number, switch in enumerate([name for name in invented.names if name.startswith("S-")]):
        invented.names[f"H-sharp-{number}"] = "Mellanox Technologies Aggregation Node"
        invented.connect((switch, 65), (f"H-sharp-{number}", 1))
    fabric = fabric_of(invented)
    assert without_aggregation_node(fabric) == ()
    assert len(fabric.adapters) == 12
    assert (len(fabric.leaves), len(fabric.spines)) == (4, 2)
    assert compare(PLAN, fabric).is_empty


def test_all_problems_of_a_plan_are_returned_with_their_lines() -> None:
    text = "# c\ndevice,port,peer,peer_port\na,1,b,1\na,1,c,1\nd,0,e,1\nf,1\n"
    links, problems = parse_plan(text)
    assert len(links) == 2
    assert [(each.line, each.message) for each in problems] == [
        (4, "a port 1 is already planned in line 3"),
        (5, "expected ports of 1 to 255"),
        (6, "expected device, port, peer and peer_port"),
    ]
    assert parse_plan("")[1][0].message.startswith("expected the header")
    assert parse_plan("device,port,peer,peer_port\n")[1][0].message == "expected at least one link"


@pytest.mark.shared
def test_the_40_switch_capture_has_one_swapped_pair_and_69_unset_names(captures: Path) -> None:
    text = (captures / "ibnetdiscover/large-fabric__NVIDIA-topograph.txt").read_text()
    fabric = Fabric.of(parse_ibnetdiscover(text))
    rails = rails_of(fabric)
    ((one, other),) = rails.swapped
    assert {one.name.host, other.name.host} == {"b08-p1-dgx-08-c01"}
    assert {(each.name.index, each.leaf) for each in (one, other)} == {
        (5, "B09-P1-IBLEAF-04-08"),
        (6, "B09-P1-IBLEAF-03-08"),
    }
    assert (rails.misplaced, rails.mixed) == ((), ())
    assert len(unset_names(fabric)) == 69
    assert {each.description.split()[0] for each in default_hosts(fabric)} == {"localhost", "ubuntu"}
    assert (len(fabric.leaves), len(fabric.spines)) == (31, 9)
    assert without_aggregation_node(fabric) == ()
    assert compare(parse_plan(plan_of(fabric))[0], fabric).is_empty


def test_a_line_that_is_not_csv_is_a_problem() -> None:
    """Python's csv refuses a cell above 128 KiB."""
    links, problems = parse_plan(f"device,port,peer,peer_port\n{'x' * 140_000},1,leaf,1\n")
    assert (links, [each.line for each in problems]) == ((), [2])
