"""Login to a node over ssh.

The lab has a separate key pair for this, so that it does not depend on the directory of `up`.
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
    """Return the file with the lab's private key."""
    return lab.state / "ssh" / "id_ed25519"


def make_key(lab: Lab) -> str:
    """Create the lab's key pair, and return the line of its public key."""
    key = key_file(lab)
    key.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"shell@{lab.name}", "-f", key], purpose="create a key")
    return key.with_name("id_ed25519.pub").read_text().strip()


def ssh_command(lab: Lab, target: LabNode, command: list[str]) -> list[str]:
    """Return the command that runs `command` on a node as the operator, from inside the lab's network."""
    known_hosts = lab.state / "ssh" / "known_hosts"
    known_hosts.write_text("".join(f"{each.address} {node.host_key(lab, each)}\n" for each in lab.nodes))
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
    """Run a command on a node with this terminal; a login shell if `command` is empty.

    Returns:
        The exit code; 255 if ssh failed.
    """
    return subprocess.run(ssh_command(lab, target, command), check=False).returncode
