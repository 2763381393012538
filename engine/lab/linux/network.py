"""Network of a lab: a bridge for the site, a router, and a host outside the site.

    NAME         br0 10.77.0.1 ── n1 .11 · n2 .12 · s1 .21 · v1 .31
                  └──────────── NAME-router .254 ── 10.88.0.1 ── NAME-cloud 10.88.0.2

No namespace has a default route or a connection to the network of this machine. The nodes have a route to the outside
network, so that their firewall is the only restriction, which is the perimeter under test.
"""

from __future__ import annotations

from pathlib import Path

from .. import layout
from ..layout import Lab, LabNode, Tier
from .process import run

Command = list[str]
_NAMESPACES = Path("/run/netns")


def build_commands(lab: Lab) -> list[Command]:
    """Return the arguments of the `ip` commands that create the network, in order."""
    inside, router, cloud, length = lab.namespace, lab.router_namespace, lab.cloud_namespace, layout.PREFIX_LENGTH
    commands = [["netns", "add", name] for name in lab.namespaces]
    commands += [["-n", name, "link", "set", "lo", "up"] for name in lab.namespaces]
    commands += [
        ["-n", inside, "link", "add", "br0", "type", "bridge"],
        ["-n", inside, "addr", "add", f"{layout.CONTROLLER_ADDRESS}/{length}", "dev", "br0"],
        ["-n", inside, "link", "set", "br0", "up"],
    ]
    containers = [node for node in lab.nodes if node.tier is Tier.CONTAINER]
    ports = [(lab.machine(node), node.name, node.address) for node in containers]
    ports.append((router, "router", layout.ROUTER_INSIDE_ADDRESS))
    for namespace, port, address in ports:
        commands += _wire((inside, f"v-{port}"), (namespace, "eth0"))
        commands += [
            ["-n", inside, "link", "set", f"v-{port}", "master", "br0", "up"],
            ["-n", namespace, "addr", "add", f"{address}/{length}", "dev", "eth0"],
            ["-n", namespace, "link", "set", "eth0", "up"],
        ]
    commands += _wire((router, "eth1"), (cloud, "eth0"))
    for namespace, device, address in (
        (router, "eth1", layout.ROUTER_OUTSIDE_ADDRESS),
        (cloud, "eth0", layout.CLOUD_ADDRESS),
    ):
        commands += [
            ["-n", namespace, "addr", "add", f"{address}/{length}", "dev", device],
            ["-n", namespace, "link", "set", device, "up"],
        ]
    for node in lab.nodes:
        if node.tier is Tier.VM:
            commands += [
                ["-n", inside, "tuntap", "add", "dev", tap(node), "mode", "tap"],
                ["-n", inside, "link", "set", tap(node), "master", "br0", "up"],
            ]
    for namespace in (inside, *(lab.machine(node) for node in containers)):
        commands.append(["-n", namespace, "route", "add", layout.OUTSIDE_NETWORK, "via", layout.ROUTER_INSIDE_ADDRESS])
    commands.append(["-n", cloud, "route", "add", layout.MANAGEMENT_NETWORK, "via", layout.ROUTER_OUTSIDE_ADDRESS])
    return commands


def tap(node: LabNode) -> str:
    """Return the name of the network device that connects a virtual machine to the bridge."""
    return f"t-{node.name}"


def _wire(left: tuple[str, str], right: tuple[str, str]) -> list[Command]:
    """Return the command for a veth pair between two namespaces, without a device in the machine's own namespace."""
    return [
        ["link", "add", left[1], "netns", left[0], "type", "veth", "peer", "name", right[1], "netns", right[0]],
    ]


def build(lab: Lab) -> None:
    """Create the network of a lab."""
    for command in build_commands(lab):
        run(["ip", *command], purpose="build the lab's network")
    run(
        [*inside(lab.router_namespace), "sysctl", "-q", "-w", "net.ipv4.ip_forward=1"],
        purpose="enable forwarding in the router namespace",
    )


def remove(lab: Lab) -> None:
    """Remove all namespaces of a lab, and with them the veth pairs."""
    for name in existing(lab):
        run(["ip", "netns", "del", name], purpose="remove the lab's network")


def existing(lab: Lab) -> list[str]:
    """Return the existing namespaces of a lab, in the order of `Lab.namespaces`."""
    return [name for name in lab.namespaces if (_NAMESPACES / name).exists()]


def inside(namespace: str) -> Command:
    """Return the command prefix that runs a command in `namespace`."""
    return ["ip", "netns", "exec", namespace]


def processes(namespace: str) -> list[int]:
    """Return the PIDs of all processes in `namespace`."""
    return [int(word) for word in run(["ip", "netns", "pids", namespace], purpose="list the lab's processes").split()]
