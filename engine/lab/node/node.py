"""One booted machine: a writable layer over the image, its own network namespace, systemd as process 1.

systemd-nspawn's flags, each for a reason measured on a machine without systemd:
- no systemd outside, so `--register=no --keep-unit`; a reboot then exits 133 and `cgroup.wrap` starts it again;
- a namespace made beforehand makes nspawn drop CAP_NET_ADMIN and leave /proc/sys read-only, hence the capability and
  `SYSTEMD_NSPAWN_API_VFS_WRITABLE=network`: the node's own firewall and net.* settings are real;
- `SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1` gives nodes a clean version 2 view on a hybrid host.
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


# chronyd may not touch this machine's clock from inside a node; `-x` makes it measure and never set. The packaged unit
# refuses to start without the capability to set it.
_CLOCK_DROP_IN = """# Laid by sovctl lab: a node shares this machine's clock and must not set it.
[Unit]
ConditionCapability=

[Service]
ExecStart=
ExecStart=!/usr/sbin/chronyd -x $DAEMON_OPTS
"""


def nspawn_command(lab: Lab, node: LabNode) -> list[str]:
    """The words that boot `node`."""
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
    """Lay the node's own layer over the image, with a host key of its own.

    Returns:
        The public host key, as a known_hosts line has it: "ssh-ed25519 AAAA...".
    """
    root = mounts.mount_overlay(lab.node_folder(node), [lab.image_mount])
    write_atomic(root / "etc/hostname", f"{node.name}\n")
    # Left to the first boot, all nodes would take the same one from the machine they share (machine-id(5)).
    write_atomic(root / "etc/machine-id", f"{secrets.token_hex(16)}\n", mode=0o444)
    hosts = [("127.0.0.1", "localhost"), *((each.address, each.name) for each in layout.NODES)]
    write_atomic(root / "etc/hosts", "".join(f"{address}\t{name}\n" for address, name in hosts))
    write_atomic(root / "etc/systemd/system/chrony.service.d/sovctl-lab.conf", _CLOCK_DROP_IN)
    key = root / "etc/ssh/ssh_host_ed25519_key"
    run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"root@{node.name}", "-f", key],
        purpose="make a node's host key",
    )
    return host_key(lab, node)


def host_key(lab: Lab, node: LabNode) -> str:
    """The node's public host key, without its comment."""
    return " ".join((lab.root(node) / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()[:2])


def authorize(lab: Lab, node: LabNode, public_key: str) -> None:
    """Let the holder of a key log in as the operator; keys already there stay."""
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
    """Start the machine and remember it; returns before it answers."""
    machine = lab.machine(node)
    cgroup.clear(machine)
    forget(lab, node)
    command = cgroup.wrap(machine, nspawn_command(lab, node))
    record(_record(lab, node), spawn(command, log=console(lab, node), lab=lab.name, environment=_ENVIRONMENT))


def process(lab: Lab, node: LabNode) -> ProcessId | None:
    """Who keeps the node running; None when it is off."""
    found = recorded(_record(lab, node))
    return found if found and is_alive(found) else None


def console(lab: Lab, node: LabNode) -> Path:
    """What the node wrote to its console."""
    return lab.log / f"{node.name}.console"


def forget(lab: Lab, node: LabNode) -> None:
    """Remove what nspawn keeps of a machine outside its disk when it is killed."""
    machine = lab.machine(node)
    for folder in (_NSPAWN_STATE / "propagate", _NSPAWN_STATE / "unix-export"):
        mounts.unmount_below(folder / machine)
        with contextlib.suppress(OSError):
            (folder / machine).rmdir()
    _record(lab, node).unlink(missing_ok=True)


def _record(lab: Lab, node: LabNode) -> Path:
    return lab.run / f"node-{node.name}.json"
