"""The lab's network: one bridge inside, one wall, one host outside, and no way to anything else.

    NAME         br0 10.77.0.1 ── n1 .11 · n2 .12 · s1 .21
                  └──────────── NAME-wall .254 ── 10.88.0.1 ── NAME-cloud 10.88.0.2

No namespace has a default route and none is connected to this machine's own network. The nodes do have a route to
the outside network, so that only their own firewall keeps them in: that is the perimeter under test.
"""

from __future__ import annotations

from pathlib import Path

from .. import layout
from ..layout import NODES, Lab
from .process import run

Command = list[str]
_NAMESPACES = Path("/run/netns")


def build_commands(lab: Lab) -> list[Command]:
    """Arguments of `ip`, in order, that build the network of `lab` from nothing."""
    inside, wall, cloud, length = lab.namespace, lab.wall_namespace, lab.cloud_namespace, layout.PREFIX_LENGTH
    commands = [["netns", "add", name] for name in lab.namespaces]
    commands += [["-n", name, "link", "set", "lo", "up"] for name in lab.namespaces]
    commands += [
        ["-n", inside, "link", "add", "br0", "type", "bridge"],
        ["-n", inside, "addr", "add", f"{layout.CONTROLLER_ADDRESS}/{length}", "dev", "br0"],
        ["-n", inside, "link", "set", "br0", "up"],
    ]
    ports = [(lab.machine(node), node.name, node.address) for node in NODES]
    ports.append((wall, "wall", layout.WALL_INSIDE_ADDRESS))
    for namespace, port, address in ports:
        commands += _wire((inside, f"v-{port}"), (namespace, "eth0"))
        commands += [
            ["-n", inside, "link", "set", f"v-{port}", "master", "br0", "up"],
            ["-n", namespace, "addr", "add", f"{address}/{length}", "dev", "eth0"],
            ["-n", namespace, "link", "set", "eth0", "up"],
        ]
    commands += _wire((wall, "eth1"), (cloud, "eth0"))
    for namespace, device, address in (
        (wall, "eth1", layout.WALL_OUTSIDE_ADDRESS),
        (cloud, "eth0", layout.CLOUD_ADDRESS),
    ):
        commands += [
            ["-n", namespace, "addr", "add", f"{address}/{length}", "dev", device],
            ["-n", namespace, "link", "set", device, "up"],
        ]
    for namespace in (inside, *(lab.machine(node) for node in NODES)):
        commands.append(["-n", namespace, "route", "add", layout.OUTSIDE_NETWORK, "via", layout.WALL_INSIDE_ADDRESS])
    commands.append(["-n", cloud, "route", "add", layout.MANAGEMENT_NETWORK, "via", layout.WALL_OUTSIDE_ADDRESS])
    return commands


def _wire(left: tuple[str, str], right: tuple[str, str]) -> list[Command]:
    """A cable between two namespaces; both ends are born inside, so no name is ever taken on this machine."""
    return [
        ["link", "add", left[1], "netns", left[0], "type", "veth", "peer", "name", right[1], "netns", right[0]],
    ]


def build(lab: Lab) -> None:
    """Build the network of `lab`."""
    for command in build_commands(lab):
        run(["ip", *command], purpose="build the lab's network")
    run(
        [*inside(lab.wall_namespace), "sysctl", "-q", "-w", "net.ipv4.ip_forward=1"],
        purpose="let the wall forward packets",
    )


def remove(lab: Lab) -> None:
    """Remove every namespace of `lab`, and with them the cables."""
    for name in existing(lab):
        run(["ip", "netns", "del", name], purpose="remove the lab's network")


def existing(lab: Lab) -> list[str]:
    """Which of the lab's namespaces there are."""
    return [name for name in lab.namespaces if (_NAMESPACES / name).exists()]


def inside(namespace: str) -> Command:
    """The words before a command that is to run in `namespace`."""
    return ["ip", "netns", "exec", namespace]


def processes(namespace: str) -> list[int]:
    """Numbers of all processes whose network is `namespace`."""
    return [int(word) for word in run(["ip", "netns", "pids", namespace], purpose="look into the lab").split()]
