"""Logging in to a node, over ssh like everything else that touches nodes.

The lab keeps a key pair of its own for this, so that it works whatever directory `up` wrote to.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from .. import layout
from ..layout import Lab, LabNode
from ..linux import network
from ..linux.process import run
from . import node


def key_file(lab: Lab) -> Path:
    """The lab's own private key."""
    return lab.state / "ssh" / "id_ed25519"


def make_key(lab: Lab) -> str:
    """Make the lab's own key pair.

    Returns:
        The public key line.
    """
    key = key_file(lab)
    key.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"shell@{lab.name}", "-f", key], purpose="make a key")
    return key.with_name("id_ed25519.pub").read_text().strip()


def ssh_command(lab: Lab, target: LabNode, command: list[str]) -> list[str]:
    """The words that run `command` on a node as the operator, from inside the lab's network."""
    known_hosts = lab.state / "ssh" / "known_hosts"
    known_hosts.write_text("".join(f"{each.address} {node.host_key(lab, each)}\n" for each in layout.NODES))
    options = {
        "IdentityFile": key_file(lab),
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": known_hosts,
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
        "LogLevel": "ERROR",
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return [*network.inside(lab.namespace), "ssh", "-F", "none", *words, f"{layout.USER}@{target.address}", *command]


def run_shell(lab: Lab, target: LabNode, command: list[str]) -> int:
    """Run a command on a node with our own terminal, or a login shell.

    Returns:
        Its exit code; 255 when ssh itself failed.
    """
    return subprocess.run(ssh_command(lab, target, command), check=False).returncode
