"""Names, paths and the network as values."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.lab import layout
from sovctl.engine.lab.artifacts import debian_mirror as mirror
from sovctl.engine.lab.layout import NODES, PRESETS, Lab, node_named
from sovctl.engine.lab.linux import mounts, network
from sovctl.engine.validation.presets import FOLDER
from sovctl.support.errors import InputError

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,19}", fullmatch=True)


@pytest.mark.parametrize("name", ["", "Lab", "1lab", "../etc", "a b", "x" * 21, "lab\n"])
def test_refuses_a_name_that_cannot_be_a_path_and_a_namespace(name: str) -> None:
    with pytest.raises(InputError, match="expected 1 to 20"):
        Lab(name)


@given(NAMES, NAMES)
def test_two_labs_share_no_namespace_and_no_path(one: str, other: str) -> None:
    first, second = Lab(one), Lab(other)
    if one != other:
        assert not {first.state, first.lock_file} & {second.state, second.lock_file}
        machines = {first.machine(node) for node in NODES}
        assert not machines & {second.machine(node) for node in NODES}


@given(NAMES)
def test_every_interface_is_born_inside_a_namespace_and_fits_the_kernel(name: str) -> None:
    lab = Lab(name)
    for command in network.build_commands(lab):
        if command[:2] == ["link", "add"]:
            assert command.count("netns") == 2, "one end would be in this machine's own network"
            interfaces = [command[2], command[command.index("name") + 1]]
            assert all(len(interface) <= 15 for interface in interfaces)
        elif command[0] != "netns":
            assert command[0] == "-n"
            assert command[1] in lab.namespaces


def test_no_namespace_has_a_default_route() -> None:
    routes = [command for command in network.build_commands(Lab()) if "route" in command]
    assert routes
    assert {command[4] for command in routes} == {layout.OUTSIDE_NETWORK, layout.MANAGEMENT_NETWORK}


def test_the_nodes_can_reach_the_outside_so_that_only_their_firewall_keeps_them_in() -> None:
    lab = Lab()
    routed = {command[1] for command in network.build_commands(lab) if "route" in command}
    assert {lab.machine(node) for node in NODES} <= routed


def test_an_unknown_node_is_named_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"expected one of n1, n2, s1, s2, v1, got 'n9'"):
        node_named("n9")


def test_mount_points_with_blanks_are_read_back() -> None:
    text = "36 35 98:0 / /a\\040b rw - ext4 /dev/x rw\n37 35 98:0 / /c\\134d rw - ext4 /dev/x rw\n"
    assert [str(point) for point in mounts.parse_mountinfo(text)] == ["/a b", "/c\\d"]


def test_only_debians_own_sources_become_the_mirror() -> None:
    text = (
        "http://mirror.example/debian/ bookworm main Debian\n"
        "http://mirror.example/debian-security/ bookworm-security main Debian\n"
        "http://other.example/db/debian bookworm main MariaDB\n"
        "http://mirror.example/debian/ trixie main Debian\n"
        "http://mirror.example/debian/ bookworm contrib Debian\n"
        "mirror+file:/etc/apt/mirrors/debian.list bookworm-updates main Debian\n"
        "http://unread.example/debian bookworm main $(ORIGIN)\n"
    )
    assert mirror.parse_targets(text) == {
        ("http://mirror.example/debian", "bookworm"),
        ("http://mirror.example/debian-security", "bookworm-security"),
    }


def test_a_mirror_given_by_hand_brings_its_security_archive() -> None:
    found = mirror.find("http://mirror.example/debian/")
    assert found.main == "http://mirror.example/debian"
    assert ("http://mirror.example/debian-security", "bookworm-security") in found.entries
    assert found.sources().count("signed-by=/usr/share/keyrings/debian-archive-keyring.gpg") == 3


def test_a_lab_has_the_nodes_of_its_preset_which_are_those_of_the_presets_site(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(layout, "_STATE", tmp_path)
    lab = Lab("sovtest")
    for preset, nodes in PRESETS.items():
        (tmp_path / ".sovtest.preset").write_text(f"{preset}\n")
        assert lab.nodes == nodes
        site = yaml.safe_load((FOLDER / f"{preset}.yaml").read_text())
        listed = [(each["name"], each["address"]) for group in site["node_groups"] for each in group["nodes"]]
        assert listed == [(node.name, node.address) for node in nodes]
    (tmp_path / ".sovtest.preset").unlink()
    assert lab.nodes == NODES
