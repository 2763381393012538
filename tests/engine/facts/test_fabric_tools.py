"""Parsers of InfiniBand tools: what they return, and that empty, cut, unknown and contradictory text is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fabric_specimens import (
    ETHTOOL,
    IBLINKINFO,
    IBNETDISCOVER,
    IBNETDISCOVER_P,
    IBQUERYERRORS,
    IBSTAT,
    IBV_DEVINFO,
    MLNX_QOS,
    MLXLINK,
    MLXLINK_JSON,
    PERFQUERY,
    SMINFO,
    SMIR,
)
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.facts.fabric.counters import parse_ibqueryerrors, parse_perfquery
from sovctl.engine.facts.fabric.iblinkinfo import parse_iblinkinfo
from sovctl.engine.facts.fabric.ibnetdiscover import discovery_of_ports, parse_ibnetdiscover, parse_port_list
from sovctl.engine.facts.fabric.ibstat import parse_ibstat
from sovctl.engine.facts.fabric.links import DeviceKind, Speed
from sovctl.engine.facts.fabric.mlxlink import parse_mlxlink
from sovctl.engine.facts.fabric.roce import parse_active_mtus, parse_mlnx_qos, parse_statistics
from sovctl.engine.facts.fabric.subnet_manager import ManagerState, parse_manager_records, parse_sminfo
from sovctl.engine.facts.unreadable import Unreadable

PARSERS: dict[str, tuple[Callable[[str], object], str]] = {
    "ibnetdiscover": (parse_ibnetdiscover, IBNETDISCOVER),
    "ibnetdiscover-p": (lambda text: discovery_of_ports(parse_port_list(text)), IBNETDISCOVER_P),
    "iblinkinfo": (parse_iblinkinfo, IBLINKINFO),
    "ibqueryerrors": (parse_ibqueryerrors, IBQUERYERRORS),
    "mlnx_qos": (parse_mlnx_qos, MLNX_QOS),
    "ethtool": (parse_statistics, ETHTOOL),
    "ibv_devinfo": (parse_active_mtus, IBV_DEVINFO),
    "perfquery": (parse_perfquery, PERFQUERY),
    "sminfo": (parse_sminfo, SMINFO),
    "saquery": (parse_manager_records, SMIR),
    "ibstat": (parse_ibstat, IBSTAT),
    "mlxlink": (parse_mlxlink, MLXLINK),
    "mlxlink-json": (parse_mlxlink, MLXLINK_JSON),
}


def test_ibnetdiscover_returns_devices_and_each_link_once() -> None:
    found = parse_ibnetdiscover(IBNETDISCOVER)
    assert [(each.kind, each.description, each.lid) for each in found.devices] == [
        (DeviceKind.SWITCH, "leaf1", 2),
        (DeviceKind.ADAPTER, "n1 mlx5_0", 3),
        (DeviceKind.ADAPTER, "n2 mlx5_0", 4),
    ]
    assert [(link.one.port, link.other.port, str(link.speed)) for link in found.links] == [
        (1, 1, "4xNDR"),
        (2, 1, "4xHDR"),
    ]
    assert found.links[0].speed.gbit_s == 400


def test_the_port_list_gives_the_same_links() -> None:
    whole, listed = parse_ibnetdiscover(IBNETDISCOVER), discovery_of_ports(parse_port_list(IBNETDISCOVER_P))
    assert listed.links == whole.links
    assert {each.description for each in listed.devices} == {each.description for each in whole.devices}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("4xNDR", "4xWARP"), "4xWARP"),
        (("4xNDR", "3xNDR"), "3xNDR"),
        (('"leaf1" lid 2 4xNDR', '"leaf9" lid 2 4xNDR'), "leaf9"),
        (('"leaf1" lid 2 4xNDR', '"leaf1" lid 2 4xHDR'), "one speed at both ends"),
        (("[2]\t", "[1]\t"), "both ends"),
        (("Switch\t4", "Switch\t1"), "known device and port"),
    ],
)
def test_a_contradiction_in_ibnetdiscover_is_refused(change: tuple[str, str], message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        parse_ibnetdiscover(IBNETDISCOVER.replace(*change, 1))


def test_iblinkinfo_returns_active_and_down_ports() -> None:
    ports = parse_iblinkinfo(IBLINKINFO)
    assert [(each.device, each.port, each.state, each.partner) for each in ports] == [
        ("n1 mlx5_0", 1, "Active", "leaf1"),
        ("leaf1", 1, "Active", "n1 mlx5_0"),
        ("leaf1", 2, "Down", None),
        ("leaf1", 3, "Initialize", "n2 mlx5_0"),
    ]
    assert ports[1].speed == Speed(4, "NDR")
    assert ports[3].hint == "Could be NDR"


def test_ibqueryerrors_tells_no_errors_from_no_query() -> None:
    (port,) = parse_ibqueryerrors(IBQUERYERRORS).errors
    assert port.counters == {"SymbolErrorCounter": 120, "LinkDownedCounter": 3}
    assert port.link == "leaf1 port 2 - n2 mlx5_0 port 1"
    clean = "## Summary: 3 nodes checked, 0 bad nodes found\n"
    clean += "##          6 ports checked, 0 ports have errors beyond threshold\n"
    clean += "## Thresholds:\n## Suppressed: \n"
    assert parse_ibqueryerrors(clean).ports == 6
    with pytest.raises(Unreadable, match="1 ports with errors"):
        parse_ibqueryerrors(clean.replace("0 ports have", "1 ports have"))


def test_ibqueryerrors_returns_what_hides_errors() -> None:
    text = IBQUERYERRORS.replace("Thresholds:", "Thresholds: [LinkDownedCounter = 10]")
    assert (parse_ibqueryerrors(IBQUERYERRORS).hidden, parse_ibqueryerrors(text).hidden) == (
        "",
        "[LinkDownedCounter = 10]",
    )


def test_perfquery_requires_all_counters() -> None:
    (port,) = parse_perfquery(PERFQUERY)
    assert (port.lid, port.port, port.counters["LinkDownedCounter"]) == (2, 1, 1)


def test_subnet_managers_have_a_state() -> None:
    assert parse_sminfo(SMINFO).state is ManagerState.MASTER
    assert [each.state for each in parse_manager_records(SMIR)] == [ManagerState.MASTER, ManagerState.STANDBY]


def test_ibstat_returns_ports_with_their_layer() -> None:
    (adapter,) = parse_ibstat(IBSTAT)
    assert (adapter.firmware, adapter.ports[0].rate_gbit_s, adapter.ports[0].link_layer) == (
        "28.41.1000",
        400.0,
        "InfiniBand",
    )


@pytest.mark.parametrize("text", [MLXLINK, MLXLINK_JSON], ids=["text", "json"])
def test_mlxlink_returns_bit_errors_and_the_cable(text: str) -> None:
    link = parse_mlxlink(text)
    assert (link.state, link.effective_errors, link.effective_ber, link.raw_ber) == ("Active", 0, 1.5e-254, 4e-8)
    assert (link.link_downs, link.cable_part, link.cable_serial) == (2, "MCP4Y10-N00A", "MT0000X00000")


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.parametrize("text", ["", "\n", "command not found\n", "ibwarn: [1] mad_rpc: _do_madrpc failed\n"])
def test_other_text_is_refused(name: str, text: str) -> None:
    with pytest.raises(Unreadable):
        PARSERS[name][0](text)


@pytest.mark.parametrize("name", ["ibnetdiscover", "ibqueryerrors", "mlxlink-json", "ibstat"])
def test_a_cut_text_is_refused_at_every_line(name: str) -> None:
    parse, text = PARSERS[name]
    lines = text.rstrip("\n").splitlines(keepends=True)
    for end in range(len(lines)):
        with pytest.raises(Unreadable):
            parse("".join(lines[:end]))


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
def test_changed_text_is_read_or_refused(name: str, data: st.DataObject) -> None:
    parse, text = PARSERS[name]
    at = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(0, 30))
    changed = text[:at] + data.draw(st.text(max_size=8)) + text[at + length :]
    try:
        parse(changed)
    except Unreadable:
        return


@given(data=st.data())
def test_a_removed_line_of_a_sweep_never_hides_a_link(data: st.DataObject) -> None:
    lines = IBNETDISCOVER.splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines) - 1))
    try:
        found = parse_ibnetdiscover("".join(lines[:at] + lines[at + 1 :]))
    except Unreadable:
        return
    assert found.links == parse_ibnetdiscover(IBNETDISCOVER).links


@pytest.mark.shared
def test_reads_the_capture_of_40_switches(captures: Path) -> None:
    found = parse_ibnetdiscover((captures / "ibnetdiscover/large-fabric__NVIDIA-topograph.txt").read_text())
    assert sum(each.is_switch for each in found.devices) == 40
    assert (len(found.devices), len(found.links)) == (622, 1114)
    assert {str(link.speed) for link in found.links} == {"4xNDR"}


@pytest.mark.shared
def test_reads_the_captures_of_ports_and_counters(captures: Path) -> None:
    listed = parse_port_list((captures / "ibnetdiscover/small-pflag__treydock-infiniband_exporter.txt").read_text())
    assert (len(listed), listed[-1].other, listed[-2].speed) == (9, None, None)
    with pytest.raises(Unreadable, match="both ends"):  # the capture is an extract
        discovery_of_ports(listed)
    text = (captures / "perfquery/switch-2port__treydock-infiniband_exporter.txt").read_text()
    assert [each.port for each in parse_perfquery(text)] == [1, 2]


def test_the_json_of_mlxlink_may_not_be_a_list() -> None:
    with pytest.raises(Unreadable):
        parse_mlxlink(json.dumps({"result": {"output": []}}))
