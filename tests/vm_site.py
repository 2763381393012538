"""The site on the virtual machine of the second lab tier, controlled by `sovctl` commands, ssh and QEMU's monitor."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass, field
from typing import Any

from lab_site import Answer, LabSite, sovctl_command

from sovctl.engine.lab.layout import VM_NODE, Lab
from sovctl.engine.lab.lifecycle.nodes import BOOT_LIMIT_S
from sovctl.engine.lab.services import reachability
from sovctl.engine.lab.vm import machine, monitor

NAME = "vm1"
NODE = VM_NODE.name
LIMIT_S = 3600.0
"""Limit of a command. The emulated processor is 10 to 30 times slower, and other processes can use the same core."""
POLL_S = 2.0


@dataclass
class VmSite(LabSite):
    """A site on the lab with the virtual machine."""

    lab: Lab = field(default_factory=lambda: Lab(NAME))

    def run(self, *arguments: str) -> Answer:
        """Run a `sovctl` command."""
        return subprocess.run(sovctl_command(*arguments), capture_output=True, text=True, timeout=LIMIT_S, check=False)

    def succeed(self, *arguments: str) -> Answer:
        """Run a `sovctl` command; fail if its exit code is not 0."""
        done = self.run(*arguments)
        assert done.returncode == 0, f"sovctl {' '.join(arguments)} ended with {done.returncode}: {done.stderr}"
        return done

    def up(self) -> None:
        """Start the lab, or the node of a running lab."""
        self.succeed("lab", "up", "--tier", "vm", "--name", NAME, "--directory", str(self.folder))

    def plan(self) -> dict[str, Any]:
        """Make a plan, which is saved, and return its document."""
        found: dict[str, Any] = self.run_json("plan", str(self.file))
        return found

    def facts(self) -> dict[str, Any]:
        """Return the facts of the node."""
        found: dict[str, Any] = self.run_json("facts", str(self.file))["nodes"][NODE]
        return found

    def here(self, command: str, *, accept: tuple[int, ...] = (0,)) -> str:
        """Run a shell command on the node, and return its standard output."""
        return self.on(NODE, command, accept=accept, limit_s=600)

    def boot_id(self) -> str:
        """Return the boot id of the node."""
        return self.here("cat /proc/sys/kernel/random/boot_id")

    def restart_with(self, *, secure_boot: bool) -> None:
        """Switch the machine off, change the keys of its firmware, and start it."""
        self.here("sync")
        machine.stop(self.lab, VM_NODE)
        machine.set_secure_boot(self.lab, VM_NODE, is_enabled=secure_boot)
        machine.boot(self.lab, VM_NODE)
        reachability.wait_for(
            self.lab.namespace, VM_NODE.address, 22, what=NODE, limit_s=BOOT_LIMIT_S[VM_NODE.tier], greeting=b"SSH-2.0"
        )

    def remove_drive(self, name: str) -> None:
        """Remove a drive of the running machine."""
        monitor.remove_drive(machine.files(self.lab, VM_NODE), name)

    def add_drive(self, name: str) -> None:
        """Add a removed drive."""
        monitor.add_drive(machine.files(self.lab, VM_NODE), name)

    def wait_until(self, what: str, command: str, *, limit_s: float = 600) -> None:
        """Wait until a shell command on the node succeeds; fail after `limit_s` seconds."""
        until = time.monotonic() + limit_s
        while self.here(f"({command}) >/dev/null 2>&1 && echo yes || echo no") != "yes":
            assert time.monotonic() < until, f"expected {what} within {limit_s:.0f} s"
            time.sleep(POLL_S)
