"""Shell commands that probes of several topics use. They change nothing and print no secret."""

from __future__ import annotations

import shlex

from sovctl.support.package_files import package_folder

from ...resources.software.environment import GATEWAY, ROOT

SCRIPTS = package_folder("engine/checks/probes/scripts")

GATEWAY_PYTHON = f"{ROOT}/{GATEWAY}/bin/python"
GPU_REPORT = "nvidia-smi -q -x"
FABRIC_SWEEP = "timeout 50 ibnetdiscover"
PCI_DEVICES = 'for d in /sys/bus/pci/devices/*; do echo "$(cat "$d/vendor") $(cat "$d/device") $(cat "$d/class")"; done'
_UNIT_PROPERTIES = "Id,LoadState,ActiveState,SubState,MainPID"


CONTAINER = "systemd-detect-virt --container || true"
"""Prints `none` and exits with 1 outside a container (systemd-detect-virt(1))."""
LISTENERS = "ss -Htlnp"


def python_command(name: str, *arguments: str, user: str | None = None, interpreter: str = "python3") -> str:
    """Return a command that runs a program of `scripts` on the node. It leaves standard input to the program.

    Args:
        name: of the file, without `.py`. Its text is an argument of the command, because nothing is copied to a node.
        user: on the node; root if None.
    """
    text = (SCRIPTS / f"{name}.py").read_text()
    words = [interpreter, "-B", "-c", text, *arguments]
    return shlex.join(["runuser", "-u", user, "--", *words] if user else words)


def show_units(*units: str) -> str:
    """Return a `systemctl show` command whose output `facts.units` parses."""
    return f"systemctl show -p {_UNIT_PROPERTIES} {shlex.join(units)}"
