"""A node: a container with a writable layer over the image, a network namespace, and systemd as process 1.

Reasons for the flags of systemd-nspawn, measured on a machine without systemd:
- `--register=no --keep-unit`: the machine may lack systemd. A reboot exits with 133; `cgroup.wrap` restarts the node.
- `--capability=CAP_NET_ADMIN` and `SYSTEMD_NSPAWN_API_VFS_WRITABLE=network`: in an existing network namespace nspawn
  drops the capability and mounts /proc/sys read-only. The node needs both for its firewall and net.* settings.
- `SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1`: nodes use cgroup version 2, also on a machine with the hybrid layout.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from sovctl.support.atomic_files import write_atomic

from .. import layout
from ..layout import Lab, LabNode
from ..linux import cgroup, mounts
from ..linux.process import ProcessId, is_alive, record, recorded, run, spawn

_NSPAWN_STATE = Path("/run/systemd/nspawn")
_ENVIRONMENT = {"SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network", "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}


# chronyd in a node must not set the clock of this machine: with `-x` it only measures. The packaged unit requires the
# capability to set the clock.
_CLOCK_DROP_IN = """# Written by sovctl lab: a node shares the clock of its machine and must not set it.
[Unit]
ConditionCapability=

[Service]
ExecStart=
ExecStart=!/usr/sbin/chronyd -x $DAEMON_OPTS
"""

_ROUTE = f"""# The lab adds this route from outside the node. A survey of routes compares routes with such files.
iface eth0 inet manual
    up ip route add {layout.OUTSIDE_NETWORK} via {layout.ROUTER_INSIDE_ADDRESS}
"""


def nspawn_command(lab: Lab, node: LabNode) -> list[str]:
    """Return the command that boots a node."""
    machine = lab.machine(node)
    return [
        "systemd-nspawn",
        "--quiet",
        "--boot",
        "--register=no",
        "--keep-unit",
        f"--network-namespace-path=/run/netns/{machine}",
        "--capability=CAP_NET_ADMIN",
        "--resolv-conf=off",
        "--timezone=off",
        f"--machine={machine}",
        f"--hostname={node.name}",
        f"--directory={lab.root(node)}",
    ]


def make_disk(lab: Lab, node: LabNode) -> str:
    """Create the node's layer over the image, with a host key.

    Returns:
        The public host key in the format of known_hosts: "ssh-ed25519 AAAA...".
    """
    root = mounts.mount_overlay(lab.node_folder(node), [lab.image_mount])
    write_atomic(root / "etc/hostname", f"{node.name}\n")
    # At their first boot all nodes would use the ID of the machine (machine-id(5)).
    write_atomic(root / "etc/machine-id", f"{secrets.token_hex(16)}\n", mode=0o444)
    hosts = [("127.0.0.1", "localhost"), *((each.address, each.name) for each in lab.nodes)]
    write_atomic(root / "etc/hosts", "".join(f"{address}\t{name}\n" for address, name in hosts))
    write_atomic(root / "etc/systemd/system/chrony.service.d/sovctl-lab.conf", _CLOCK_DROP_IN)
    write_atomic(root / "etc/network/interfaces.d/sovctl-lab", _ROUTE)
    key = root / "etc/ssh/ssh_host_ed25519_key"
    run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"root@{node.name}", "-f", key],
        purpose="create a node's host key",
    )
    return host_key(lab, node)


def host_key(lab: Lab, node: LabNode) -> str:
    """Return the node's public host key, without comment."""
    return " ".join(lab.host_key_file(node).read_text().split()[:2])


def authorize(lab: Lab, node: LabNode, public_key: str) -> None:
    """Add a public key to the authorized keys of the operator."""
    home = lab.root(node) / "home" / layout.USER
    owner = home.stat()
    file = home / ".ssh" / "authorized_keys"
    lines = file.read_text().splitlines() if file.exists() else []
    if public_key.strip() not in lines:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomic(file, "\n".join([*lines, public_key.strip()]) + "\n", mode=0o600)
    for path in (file.parent, file):
        os.chown(path, owner.st_uid, owner.st_gid)


def boot(lab: Lab, node: LabNode) -> None:
    """Start the node and write its process record. Returns before the node answers."""
    machine = lab.machine(node)
    cgroup.clear(machine)
    forget(lab, node)
    command = cgroup.wrap(machine, nspawn_command(lab, node))
    record(_record(lab, node), spawn(command, log=console(lab, node), lab=lab.name, environment=_ENVIRONMENT))


def process(lab: Lab, node: LabNode) -> ProcessId | None:
    """Return the process of a running node; None if it is off."""
    found = recorded(_record(lab, node))
    return found if found and is_alive(found) else None


def console(lab: Lab, node: LabNode) -> Path:
    """Return the file with the console output of a node."""
    return lab.log / f"{node.name}.console"


def forget(lab: Lab, node: LabNode) -> None:
    """Remove the process record, and the folders that a killed nspawn leaves in /run."""
    machine = lab.machine(node)
    for folder in (_NSPAWN_STATE / "propagate", _NSPAWN_STATE / "unix-export"):
        mounts.unmount_below(folder / machine)
        with contextlib.suppress(OSError):
            (folder / machine).rmdir()
    _record(lab, node).unlink(missing_ok=True)


def _record(lab: Lab, node: LabNode) -> Path:
    return lab.run / f"node-{node.name}.json"
