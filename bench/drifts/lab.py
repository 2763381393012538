"""A planned and applied site on a lab: `sovctl` commands, and shell commands on its nodes."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sovctl.engine.lab.artifacts.model_store import digests_below, manifest_text
from sovctl.engine.lab.layout import Lab, node_named
from sovctl.engine.lab.node.shell import ssh_command

LIMIT_S = 1800
MODEL, ADMINISTRATOR = "large", "anna"
_LARGE_BYTES = 32 << 20
"""Size of a file of the model, which is above the limit up to which a plan hashes files (16 MiB)."""
_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGb5wNkGZ3m1m3cJ4rVQ7o7J0m0wH5m3oD0k1lqkqk1w"


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
            raise RuntimeError(f"sovctl {arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-600:]}")
        return done.stdout

    def up(self) -> None:
        """Start the lab, and extend its site by an administrator and a model with a large file."""
        self.sovctl("lab", "up", "--name", self.name, "--directory", str(self.file.parent))
        site = yaml.safe_load(self.file.read_text())
        manifest_sha256 = large_model(Lab(self.name).web / "models")
        site["host"] = {
            "administrators": [{"name": ADMINISTRATOR, "keys": [_KEY], "sudo": ["/usr/bin/systemctl restart chrony"]}]
        }
        site["models"] = [*site["models"][:1], {**site["models"][0], "name": MODEL, "manifest_sha256": manifest_sha256}]
        site["pools"][0]["model"] = MODEL
        self.file.write_text(yaml.safe_dump(site, sort_keys=False))

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
        done = subprocess.run(words, input=command, capture_output=True, text=True, timeout=180, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"on {node}: {command}: ended with {done.returncode}: {done.stderr.strip()[-200:]}")


def large_model(models: Path) -> str:
    """Make a copy of the lab's model with a large file that no server reads, and return the SHA-256 of its manifest."""
    folder = models / MODEL
    if not (folder / "MANIFEST").exists():
        shutil.copytree(models / "echo", folder, dirs_exist_ok=True)
        (folder / "notes.bin").write_bytes(random.Random(1).randbytes(_LARGE_BYTES))
        (folder / "MANIFEST").write_text(manifest_text(digests_below(folder)))
    return hashlib.sha256((folder / "MANIFEST").read_bytes()).hexdigest()
