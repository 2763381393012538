"""A planned and applied site on a lab: `sovctl` commands, and shell commands on its nodes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.engine.lab.layout import Lab, node_named
from sovctl.engine.lab.node.shell import ssh_command

LIMIT_S = 900


@dataclass(frozen=True)
class LabSite:
    """A site on a lab.

    Args:
        name: of the lab.
        file: path of site.yaml.
    """

    name: str
    file: Path

    def sovctl(self, *arguments: str, accept: tuple[int, ...] = (0,)) -> str:
        """Run a command and return its standard output.

        Raises:
            RuntimeError: its exit code is another one.
        """
        command = [sys.executable, "-m", "sovctl.cli", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode not in accept:
            raise RuntimeError(f"sovctl {arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
        return done.stdout

    def plan(self) -> dict[str, Any]:
        """Make and save a plan."""
        document: dict[str, Any] = json.loads(self.sovctl("plan", str(self.file), "--json"))
        return document

    def apply(self) -> None:
        """Apply the saved plan."""
        self.sovctl("apply", str(self.file), "--yes")

    def verify(self, *checks: str) -> None:
        """Run checks; their findings are an input of the next plan."""
        patterns = [word for check in checks for word in ("--check", check)]
        self.sovctl("verify", str(self.file), "--json", *patterns, accept=(0, 1))

    def on(self, node: str, command: str) -> None:
        """Run a shell command as root on a node.

        Raises:
            RuntimeError: the command failed.
        """
        words = ssh_command(Lab(self.name), node_named(node), ["sudo", "sh", "-s"])
        done = subprocess.run(words, input=command, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"on {node}: {command}: ended with {done.returncode}: {done.stderr.strip()[-200:]}")
