"""Processes of the simulated fabric: ibsim, the subnet managers, and the tools of infiniband-diags.

They are Debian packages in the layer of the lab's services. They run in the network namespace of the probe node, which
is the first GPU node. ibsim listens on abstract Unix sockets, which belong to a network namespace. Tools on the probe
node therefore reach it without a packet through the node's firewall, as management datagrams of InfiniBand pass none.

On the probe node the programs of `TOOLS` run the real tools with the library of the simulator (ibsim-run(1)).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from sovctl.support.atomic_files import write_atomic

from ...facts.fabric.subnet_manager import ManagerState, parse_manager_records
from ...facts.unreadable import Unreadable
from ..artifacts.gpu_packages import HOME
from ..layout import Lab, LabNode
from ..linux import network
from ..linux.process import LabFailure
from ..standins.board import FACTS_FILE
from . import infiniband_fabric as fabric
from . import inventory as hardware
from .fabric_faults import with_faults
from .infiniband_fabric import Topology

FOLDER = "run/sovctl-lab-fabric"  # below the root of the lab's services
NETWORK_FILE = "network"
CONTROL_FILE = "control"
FAULTS_FILE = "faults.json"
SIMULATOR_READY = "Network simulator ready"
MASTER_READY = "SUBNET UP"
STANDBY_READY = "Entering STANDBY state"
TOOLS = ("ibnetdiscover", "iblinkinfo", "ibqueryerrors", "perfquery", "sminfo", "saquery", "smpquery", "ibportstate")
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_PRELOADED = f"{_LIBRARIES}/umad2sim/libumad2sim.so"
_COPIED = ("libibmad.so.5", "libibnetdisc.so.5", "libibumad.so.3")
_NODE_FOLDER = f"{HOME}/infiniband"
_TOOL_LIMIT_S = 60
# ibsim serves 10 clients at a time (include/ibsim.h), so the tools of a node wait for each other. The library of the
# simulator writes ./sys-PID.
_PROGRAM = """\
#!/bin/sh
# simulated: runs a tool of infiniband-diags on the fabric that ibsim simulates for the sovctl lab.
home=/{folder}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 143' HUP INT TERM
cd "$work" || exit 1
flock -w 40 /run/lock/sovctl-lab-fabric \\
  env LD_LIBRARY_PATH=$home LD_PRELOAD=$home/libumad2sim.so SIM_HOST={host} "$home/tools/${{0##*/}}" "$@"
"""
_MANAGER_SETTINGS = """\
# written by sovctl lab: opensm(8), configuration. Times are short, so that faults are found within seconds.
sm_priority {priority}
sweep_interval 2
sminfo_polling_timeout 1000
polling_retry_number 3
"""


def probe_node(lab: Lab) -> LabNode:
    """Return the node on which the tools run: the first with GPUs."""
    return next(node for node in lab.nodes if node.kind.has_gpus)


def namespace(lab: Lab) -> str:
    """Return the network namespace of the fabric."""
    return lab.machine(probe_node(lab))


def planned(lab: Lab) -> Topology:
    """Return the fabric without faults."""
    return fabric.healthy({node: hardware.facts(lab.name, node)["nics"] for node in lab.nodes if node.kind.has_gpus})


def injected(lab: Lab) -> list[str]:
    """Return the names of the injected faults of the fabric."""
    try:
        found: list[str] = json.loads((lab.tools_root / FOLDER / FAULTS_FILE).read_text())
    except FileNotFoundError:
        return []
    return found


def current(lab: Lab) -> Topology:
    """Return the fabric with its injected faults."""
    return with_faults(planned(lab), injected(lab))


def prepare(lab: Lab) -> None:
    """Write the files of a fabric without faults, and create the control pipe of the simulator."""
    folder = lab.tools_root / FOLDER
    for priority, manager in zip((14, 5), fabric.MANAGERS, strict=True):
        (folder / manager).mkdir(parents=True, exist_ok=True)
        write_atomic(folder / manager / "opensm.conf", _MANAGER_SETTINGS.format(priority=priority))
    write_faults(lab, [])
    pipe = folder / CONTROL_FILE
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe, 0o600)


def write_faults(lab: Lab, names: list[str]) -> None:
    """Write the names of the injected faults and the topology with them, for the next start of the simulator."""
    folder = lab.tools_root / FOLDER
    write_atomic(folder / NETWORK_FILE, fabric.network_text(with_faults(planned(lab), names)))
    write_atomic(folder / FAULTS_FILE, json.dumps(names) + "\n")


def install_tools(lab: Lab, node: LabNode) -> None:
    """Install the tools on the probe node: real programs and libraries, and the programs that connect them to ibsim."""
    if node != probe_node(lab):
        return
    root, source = lab.root(node), lab.tools_root
    folder = root / _NODE_FOLDER
    (folder / "tools").mkdir(parents=True, exist_ok=True)
    shutil.copy2(source / _PRELOADED, folder)
    for name in _COPIED:
        shutil.copy2((source / _LIBRARIES / name).resolve(strict=True), folder / name)
    host = fabric.adapter(node, hardware.facts(lab.name, node)["nics"][0])
    write_atomic(folder / "run", _PROGRAM.format(folder=_NODE_FOLDER, host=host), mode=0o755)
    for name in TOOLS:
        shutil.copy2(source / "usr/sbin" / name, folder / "tools" / name)
        link = root / "usr/sbin" / name
        link.unlink(missing_ok=True)
        link.symlink_to(f"/{_NODE_FOLDER}/run")


def simulator_command(lab: Lab) -> list[str | Path]:
    """Return the command that starts ibsim. It opens the control pipe for reading and writing, to avoid end of file."""
    script = f"cd /{FOLDER} && exec ibsim -s {NETWORK_FILE} <>{CONTROL_FILE}"
    return ["chroot", lab.tools_root, "/bin/sh", "-c", script]


def manager_command(lab: Lab, manager: str) -> list[str | Path]:
    """Return the command that starts opensm, with a sweep every 2 s to detect faults."""
    folder = f"/{FOLDER}/{manager}"
    own = (f"OSM_TMP_DIR={folder}", f"OSM_CACHE_DIR={folder}", "opensm", "-F", f"{folder}/opensm.conf", "-f", "stdout")
    return [*_within(lab, manager), *own]


def tool_command(lab: Lab, words: list[str]) -> list[str]:
    """Return the command that runs a diagnostic tool on the host of the first subnet manager."""
    return [*network.inside(namespace(lab)), *(str(word) for word in _within(lab, fabric.MANAGERS[0])), *words]


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


def knows_managers(lab: Lab) -> bool:
    """Return whether the master lists every running subnet manager as master or standby.

    It finds a new one at its next sweep.
    """
    try:
        managers = parse_manager_records(_tool_output(lab, ["saquery", "SMIR"]))
    except Unreadable:
        return False
    ready = [each for each in managers if each.state in (ManagerState.MASTER, ManagerState.STANDBY)]
    return len(ready) == len(managers) == len(current(lab).managers)


def update(lab: Lab, node: LabNode) -> None:
    """Update the fabric to match a node's facts.

    Raises:
        LabFailure: the simulator is not running.
    """
    nics = json.loads((lab.root(node) / FACTS_FILE).read_text())["nics"]
    command_simulator(lab, list(fabric.node_commands(node, nics)))


def show_faults(lab: Lab) -> None:
    """Make a new simulator match the facts of all nodes, and the error counters of the injected faults."""
    for node in lab.nodes:
        update(lab, node)
    command_simulator(lab, list(fabric.counter_commands(current(lab))))


def clear_errors(lab: Lab) -> None:
    """Clear the error counters: while the subnet managers start, ports discard datagrams to unknown addresses."""
    _tool_output(lab, ["ibqueryerrors", "--clear-errors"])


def command_simulator(lab: Lab, commands: list[str]) -> None:
    """Send commands to ibsim.

    Raises:
        LabFailure: the simulator is not running.
    """
    text = "".join(f"{command}\n" for command in commands)
    try:
        pipe = os.open(lab.tools_root / FOLDER / CONTROL_FILE, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        raise LabFailure("the fabric simulator is not running", hint="sovctl lab up") from None
    try:
        os.write(pipe, text.encode())
    finally:
        os.close(pipe)


def _tool_output(lab: Lab, words: list[str]) -> str:
    """Return the standard output of a tool; empty if it timed out."""
    try:
        command = tool_command(lab, words)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TOOL_LIMIT_S).stdout
    except subprocess.TimeoutExpired:
        return ""


def _within(lab: Lab, host: str) -> list[str | Path]:
    preload = f"LD_PRELOAD=/{_PRELOADED}"
    return ["chroot", lab.tools_root, "env", "-C", f"/{FOLDER}", preload, f"SIM_HOST={host}"]
