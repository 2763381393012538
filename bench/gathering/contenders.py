"""Contenders of the benchmark of facts. Each one observes all servers once, with the settings that its manual advises.

Every contender has a connection to every server at the same time, and one key. The facts are those that Ansible's
`setup` collects: operating system, kernel, processors, memory, block devices, file systems, network, virtualization.
pyinfra and sovctl also list the packages, which `setup` does not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sovctl.engine.gather import gather
from sovctl.engine.gather.gather import Request
from sovctl.engine.spec import SiteSpec

from .servers import Servers

PYINFRA_FACTS = (
    *("server.Hostname", "server.Kernel", "server.KernelVersion", "server.Arch", "server.LinuxDistribution"),
    *("server.Mounts", "hardware.Cpus", "hardware.Memory", "hardware.BlockDevices", "hardware.NetworkDevices"),
    "deb.DebPackages",
)
LIKE_SETUP = Request(
    commands={
        "hostname": ["hostname", "-f"],
        "kernel": ["uname", "-a"],
        "virtualization": ["systemd-detect-virt"],
        "block-devices": ["lsblk", "--json", "--bytes"],
        "file-systems": ["df", "--block-size=1", "--all"],
        "addresses": ["ip", "-json", "address"],
        "routes": ["ip", "-json", "route"],
        "packages": ["dpkg-query", "-W"],
    },
    hash=("/etc/ssh/*.pub",),
    read=(
        *("/etc/os-release", "/proc/cpuinfo", "/proc/meminfo", "/proc/mounts", "/proc/cmdline", "/proc/uptime"),
        *("/proc/swaps", "/etc/resolv.conf", "/etc/machine-id", "/sys/class/dmi/id/product_name"),
    ),
    timeout_s=60,  # default of access.command_timeout_s
)
"""Request to the probe with the facts of `setup`."""


@dataclass(frozen=True)
class Bench:
    """Input of a contender: running servers, the same as a site, and the request of its plan."""

    servers: Servers
    folder: Path
    spec: SiteSpec
    plan_requests: dict[str, Request]


def sovctl(bench: Bench, requests: dict[str, Request]) -> int:
    """Return the number of captures with an answer to every command of their request."""
    found = gather.gather(bench.spec, bench.folder, requests).captures
    return sum(each["commands"].keys() == requests[name].commands.keys() for name, each in found.items())


def ansible(bench: Bench) -> int:
    """Return the number of hosts with facts of `ansible -m setup`: a fork for each host, pipelining, ControlPersist."""
    servers, tree = bench.servers, bench.folder / "tree"
    inventory = bench.folder / "hosts.ini"
    hosts = "".join(f"{address} ansible_port={servers.port}\n" for address in servers.addresses)
    inventory.write_text(hosts)
    (bench.folder / "ansible.cfg").touch()
    ssh = f"-o ControlMaster=auto -o ControlPersist=60s -o UserKnownHostsFile={servers.known_hosts_file}"
    settings = {
        "ANSIBLE_CONFIG": str(bench.folder / "ansible.cfg"),
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_SSH_ARGS": ssh,
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(bench.folder / "cp"),
        "ANSIBLE_LOCAL_TEMP": str(bench.folder / "ansible"),
        "ANSIBLE_PRIVATE_KEY_FILE": str(servers.key_file),
        "ANSIBLE_REMOTE_USER": "root",
        "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3",
        "ANSIBLE_NOCOLOR": "1",
    }
    forks = str(len(servers.addresses))
    command = [_program("ansible"), "all", "-i", str(inventory), "-f", forks, "-m", "setup", "-t", str(tree)]
    subprocess.run(command, env=os.environ | settings, stdout=subprocess.DEVNULL, check=True)
    answers = [json.loads((tree / address).read_text()) for address in servers.addresses]
    return sum("ansible_kernel" in answer.get("ansible_facts", {}) for answer in answers)


def pyinfra(bench: Bench) -> int:
    """Return the number of hosts with all facts of `pyinfra fact`, all hosts in parallel."""
    servers = bench.servers
    hosts = [f'("{address}", {{}})' for address in servers.addresses]
    data = f'{{"ssh_user": "root", "ssh_port": {servers.port}, "ssh_key": "{servers.key_file}", '
    data += f'"ssh_known_hosts_file": "{servers.known_hosts_file}", "ssh_strict_host_key_checking": "yes"}}'
    inventory = bench.folder / "inventory.py"
    inventory.write_text(f"nodes = ([{', '.join(hosts)}], {data})\n")
    command = [_program("pyinfra"), "-y", "--parallel", str(len(hosts)), str(inventory), "fact", *PYINFRA_FACTS]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=bench.folder)
    printed = done.stdout + done.stderr
    counts = [printed.count(f"[{address}]") for address in servers.addresses]
    return sum(count >= len(PYINFRA_FACTS) for count in counts)


def _program(name: str) -> str:
    return str(Path(sys.executable).parent / name)


CONTENDERS: dict[str, Callable[[Bench], int]] = {
    "sovctl": lambda bench: sovctl(bench, dict.fromkeys(bench.plan_requests, LIKE_SETUP)),
    "ansible -m setup": ansible,
    "pyinfra fact": pyinfra,
    "sovctl, request of a plan": lambda bench: sovctl(bench, bench.plan_requests),
}
"""By name. The last one observes what `sovctl plan` needs: also units, files, package simulations, unmanaged things."""
