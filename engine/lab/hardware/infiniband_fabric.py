"""The lab's InfiniBand: a simulated fabric (ibsim) with a real subnet manager (opensm) and the real diagnostic tools.

Both come from Debian and run beside the controller. The fabric is built like a DGX SuperPOD in small: every adapter of
a node hangs on the leaf switch of its own rail, and every leaf on every spine. A link that is cut on a node
(`sovctl lab fault n1 ib-link-down`) is cut here too, and the subnet manager sees it.

Debian 12's ibsim knows link speeds up to HDR, so the tools say 4X 53.125 Gbps where the adapters' own sysfs says NDR.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from sovctl.support.atomic_files import write_atomic

from ..layout import NODES, Lab, LabNode
from ..linux import network
from ..linux.process import LabFailure
from ..standins.board import FACTS_FILE
from . import inventory as hardware
from .inventory import Facts

FOLDER = "run/sovctl-lab-fabric"  # below the root of the controller's tools
NETWORK_FILE = "network"
CONTROL_FILE = "control"
SIMULATOR_READY = "Network simulator ready"
SUBNET_READY = "SUBNET UP"
MANAGER = "subnet-manager"
_MANAGER_GUID = "02000000000000ff"  # invented: the local bit is set
SPINES = 2
_SWITCH_PORTS = 40  # as many as an HDR switch has (Quantum QM8700)
_FIRST_UPLINK = 33
_SPEED = "4xHDR"
_TOOL_LIMIT_S = 60
# What turns a tool's calls to the InfiniBand driver into calls to the simulator; ibsim-run(1) does the same.
_PRELOAD = "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"

# One port of a cable: device and port number.
End = tuple[str, int]


def adapter(node: LabNode, nic: Facts) -> str:
    """A node's adapter as the fabric calls it."""
    return f"{node.name}-{nic['name']}"


def cables(nodes: dict[LabNode, list[Facts]]) -> list[tuple[End, End]]:
    """Every cable, the leaf's end first.

    Args:
        nodes: the adapters of each node.
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
    """The fabric as ibsim reads it: what ibnetdiscover(8) prints."""
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
    """What the simulator is told so that its fabric is as the node's facts say."""
    for nic in nics:
        name = adapter(node, nic)
        yield f'{"Unlink" if nic["state"].startswith("1:") else "ReLink"} "{name}"'
        yield f'PerformanceSet "{name}"[1] PortCounters.SymbolErrorCounter={nic["symbol_errors"]}'


def prepare(lab: Lab) -> None:
    """Lay the fabric's description and the simulator's control pipe."""
    folder = lab.tools_root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    nodes = {node: hardware.facts(lab.name, node)["nics"] for node in NODES if node.kind.has_gpus}
    write_atomic(folder / NETWORK_FILE, network_text(nodes))
    pipe = folder / CONTROL_FILE
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe, 0o600)


def simulator_command(lab: Lab) -> list[str | Path]:
    """The words that start ibsim; opened both ways, its control pipe never ends."""
    script = f"cd /{FOLDER} && exec ibsim -s {NETWORK_FILE} <>{CONTROL_FILE}"
    return ["chroot", lab.tools_root, "/bin/sh", "-c", script]


def manager_command(lab: Lab) -> list[str | Path]:
    """The words that start opensm: a sweep every 2 s, so that a cut link is seen soon."""
    return [*_within(lab), f"OSM_TMP_DIR=/{FOLDER}", f"OSM_CACHE_DIR=/{FOLDER}", "opensm", "-s", "2", "-f", "stdout"]


def tool_command(lab: Lab, words: list[str]) -> list[str]:
    """The words that run a diagnostic tool on the fabric, from where the subnet manager is."""
    return [*network.inside(lab.namespace), *(str(word) for word in _within(lab)), *words]


def run_tool(lab: Lab, words: list[str]) -> int:
    """Run a diagnostic tool such as iblinkinfo on the fabric, with our own standard output.

    Returns:
        Its exit code; ibqueryerrors, for one, says 1 when it found any.

    Raises:
        LabFailure: it hangs, as some do when they are asked for a device that is not there.
    """
    try:
        return subprocess.run(tool_command(lab, words), check=False, timeout=_TOOL_LIMIT_S).returncode
    except subprocess.TimeoutExpired:
        raise LabFailure(f"{words[0]} was not done after {_TOOL_LIMIT_S} s") from None


def follow(lab: Lab, node: LabNode) -> None:
    """Make the fabric as a node's facts say.

    Raises:
        LabFailure: the simulator does not run.
    """
    nics = json.loads((lab.root(node) / FACTS_FILE).read_text())["nics"]
    text = "".join(f"{command}\n" for command in commands(node, nics))
    try:
        pipe = os.open(lab.tools_root / FOLDER / CONTROL_FILE, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        raise LabFailure("expected the fabric simulator to run, found it off", hint="sovctl lab up") from None
    try:
        os.write(pipe, text.encode())
    finally:
        os.close(pipe)


def _within(lab: Lab) -> list[str | Path]:
    return ["chroot", lab.tools_root, "env", "-C", f"/{FOLDER}", _PRELOAD, f"SIM_HOST={MANAGER}"]
