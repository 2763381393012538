"""A node's disk made by hand, for the stand-ins; and a lab that is up, for everything else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.engine.lab import lifecycle, shell
from sovctl.engine.lab.layout import NODES, Lab, LabNode, node_named
from sovctl.engine.lab.process import run
from sovctl.engine.lab.standins import board

GPU_NODE = NODES[0]
VERSION = "580.126.20"


@dataclass
class Disk:
    """The root of a GPU node as the stand-ins see it, without the node."""

    root: Path

    def lay(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def change(self, facts: dict[str, Any]) -> None:
        self.lay(board.FACTS_FILE, json.dumps(facts))

    def load(self, version: str | None, *, library: str = VERSION) -> None:
        self.lay(board.LIBRARY_VERSION_FILE, library)
        self.lay(board.LOADED_VERSION_FILE, version or "")

    def run_daemon(self, pid_file: str, version: str) -> None:
        """As if a process of that version were there."""
        self.lay(pid_file, f"77 {version}\n")
        (self.root / "proc/77").mkdir(parents=True, exist_ok=True)

    @property
    def board(self) -> board.Board:
        return board.Board(self.root)


@dataclass(frozen=True)
class OwnLab:
    """A lab that is up, and the folder that `up` wrote."""

    lab: Lab
    directory: Path

    def on(self, node: str | LabNode, command: str, *, timeout_s: float = 60) -> str:
        """What a shell command prints on a node; fails when it does."""
        target = node_named(node) if isinstance(node, str) else node
        words = shell.ssh_command(self.lab, target, [command])
        return run(words, purpose=f"run a command on {target.name}", timeout_s=timeout_s)

    def up(self) -> list[str]:
        """Bring it up again; returns what was said."""
        said: list[str] = []
        lifecycle.up(self.lab, directory=self.directory, mirror_uri=None, progress=said.append)
        return said
