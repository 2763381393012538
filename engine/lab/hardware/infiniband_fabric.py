"""InfiniBand fabric of a lab: a simulated fabric (ibsim), with a subnet manager (opensm) and diagnostic tools.

They are Debian packages and run in the controller's namespace. The topology is that of a small DGX SuperPOD: each
adapter of a node is connected to the leaf switch of its rail, and each leaf to each spine. A fault of a link on a node
(`sovctl lab fault n1 ib-link-down`) also changes the fabric.

ibsim of Debian 12 supports link speeds up to HDR, so the tools print 4X 53.125 Gbps for adapters with NDR in sysfs.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from sovctl.support.atomic_files import write_atomic

from ..layout import Lab, LabNode
from ..linux import network
from ..linux.process import LabFailure
from ..standins.board import FACTS_FILE
from . import inventory as hardware
from .inventory import Facts

FOLDER = "run/sovctl-lab-fabric"  # below the root of the lab's services
NETWORK_FILE = "network"
CONTROL_FILE = "control"
SIMULATOR_READY = "Network simulator ready"
SUBNET_READY = "SUBNET UP"
MANAGER = "subnet-manager"
_MANAGER_GUID = "02000000000000ff"  # a locally administered GUID
SPINES = 2
_SWITCH_PORTS = 40  # ports of an HDR switch (Quantum QM8700)
_FIRST_UPLINK = 33
_SPEED = "4xHDR"
_TOOL_LIMIT_S = 60
# Redirects calls of the InfiniBand driver to the simulator, as ibsim-run(1) does.
_PRELOAD = "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"

# One port of a cable: device and port number.
End = tuple[str, int]


def adapter(node: LabNode, nic: Facts) -> str:
    """Return the name of a node's adapter in the fabric."""
    return f"{node.name}-{nic['name']}"


def cables(nodes: dict[LabNode, list[Facts]]) -> list[tuple[End, End]]:
    """Return all cables, with the end at the leaf first.

    Args:
        nodes: adapters by node.
    """
    found: list[tuple[End, End]] = []
    rails = sorted({nic["rail"] for nics in nodes.values() for nic in nics})
    for rail in rails:
        leaf = f"leaf{rail + 1}"
        ends = [adapter(node, nic) for node, nics in nodes.items() for nic in nics if nic["rail"] == rail]
        if rail == 0:
            ends.append(MANAGER)
        found += [((leaf, port), (end, 1)) for port, end in enumerate(ends, start=1)]
        found += [((leaf, _FIRST_UPLINK + spine), (f"spine{spine + 1}", rail + 1)) for spine in range(SPINES)]
    return found


def network_text(nodes: dict[LabNode, list[Facts]]) -> str:
    """Return the topology in the format of ibnetdiscover(8), for ibsim."""
    guids = {adapter(node, nic): nic["guid"] for node, nics in nodes.items() for nic in nics}
    guids[MANAGER] = _MANAGER_GUID
    ports: dict[str, list[tuple[int, End]]] = {}
    for one, other in cables(nodes):
        ports.setdefault(one[0], []).append((one[1], other))
        ports.setdefault(other[0], []).append((other[1], one))
    lines = ["# written by sovctl lab: a simulated fabric"]
    for device, connected in ports.items():
        is_switch = device.startswith(("leaf", "spine"))
        lines.append("")
        if device in guids:
            lines.append(f"caguid=0x{guids[device]}")
        lines.append(f'{"Switch" if is_switch else "Hca"}\t{_SWITCH_PORTS if is_switch else 1} "{device}"')
        for port, (end, end_port) in sorted(connected):
            lines.append(f'[{port}]\t"{end}"[{end_port}]\t# "{end}" lid 0 {_SPEED}')
    return "\n".join(lines) + "\n"


def commands(node: LabNode, nics: list[Facts]) -> Iterator[str]:
    """Yield the commands that make the simulator match a node's facts."""
    for nic in nics:
        name = adapter(node, nic)
        yield f'{"Unlink" if nic["state"].startswith("1:") else "ReLink"} "{name}"'
        yield f'PerformanceSet "{name}"[1] PortCounters.SymbolErrorCounter={nic["symbol_errors"]}'


def prepare(lab: Lab) -> None:
    """Write the topology, and create the control pipe of the simulator."""
    folder = lab.tools_root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    nodes = {node: hardware.facts(lab.name, node)["nics"] for node in lab.nodes if node.kind.has_gpus}
    write_atomic(folder / NETWORK_FILE, network_text(nodes))
    pipe = folder / CONTROL_FILE
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe, 0o600)


def simulator_command(lab: Lab) -> list[str | Path]:
    """Return the command that starts ibsim. It opens the control pipe for reading and writing, to avoid end of file."""
    script = f"cd /{FOLDER} && exec ibsim -s {NETWORK_FILE} <>{CONTROL_FILE}"
    return ["chroot", lab.tools_root, "/bin/sh", "-c", script]


def manager_command(lab: Lab) -> list[str | Path]:
    """Return the command that starts opensm, with a sweep every 2 s to detect faults."""
    return [*_within(lab), f"OSM_TMP_DIR=/{FOLDER}", f"OSM_CACHE_DIR=/{FOLDER}", "opensm", "-s", "2", "-f", "stdout"]


def tool_command(lab: Lab, words: list[str]) -> list[str]:
    """Return the command that runs a diagnostic tool from the host of the subnet manager."""
    return [*network.inside(lab.namespace), *(str(word) for word in _within(lab)), *words]


def run_tool(lab: Lab, words: list[str]) -> int:
    """Run a diagnostic tool, such as iblinkinfo, with the standard output of this process.

    Returns:
        The exit code of the tool; that of ibqueryerrors is 1 if it found errors.

    Raises:
        LabFailure: the tool timed out, as some do for an unknown device.
    """
    try:
        return subprocess.run(tool_command(lab, words), check=False, timeout=_TOOL_LIMIT_S).returncode
    except subprocess.TimeoutExpired:
        raise LabFailure(f"{words[0]} timed out after {_TOOL_LIMIT_S} s") from None


def update(lab: Lab, node: LabNode) -> None:
    """Update the fabric to match a node's facts.

    Raises:
        LabFailure: the simulator is not running.
    """
    nics = json.loads((lab.root(node) / FACTS_FILE).read_text())["nics"]
    text = "".join(f"{command}\n" for command in commands(node, nics))
    try:
        pipe = os.open(lab.tools_root / FOLDER / CONTROL_FILE, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        raise LabFailure("the fabric simulator is not running", hint="sovctl lab up") from None
    try:
        os.write(pipe, text.encode())
    finally:
        os.close(pipe)


def _within(lab: Lab) -> list[str | Path]:
    return ["chroot", lab.tools_root, "env", "-C", f"/{FOLDER}", _PRELOAD, f"SIM_HOST={MANAGER}"]
