"""Searches stored data of controller and nodes for values that must not be in it, and reports how much was searched.

On nodes the values are sent on standard input. On a command line they would be in the journal of sudo.
"""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..layout import Lab, LabNode
from ..node.shell import ssh_command

# Runs on a node with python3 as root: searches the folders and the journal.
_SCRIPT = """
import json, os, subprocess, sys
values = [value.encode() for value in VALUES]
hits = files = size = 0
def search(data):
    global hits, files, size
    files += 1; size += len(data); hits += sum(data.count(value) for value in values)
for top in FOLDERS:
    for folder, _, names in os.walk(top):
        for name in names:
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    search(file.read())
            except OSError:
                pass
search(subprocess.run(["journalctl", "--no-pager", "--output=export"], capture_output=True).stdout)
print(json.dumps({"hits": hits, "files": files, "bytes": size}))
"""
NODE_FOLDERS = ("/var/log", "/var/lib/sovctl", "/etc/sovctl", "/run/sovctl-probe", "/var/tmp", "/tmp")


@dataclass(frozen=True)
class Place:
    """A searched location, with the number of hits, and the files and bytes that were read."""

    name: str
    hits: int
    files: int
    bytes: int


def search_controller(name: str, site_folder: Path, values: Iterable[str]) -> list[Place]:
    """Search the state folder of the site, and the requests captured by the simulated cloud."""
    wanted = [value.encode() for value in values]
    state = site_folder / ".sovctl"
    places = [
        _search(f"controller: {part}", sorted((state / part).rglob("*")), wanted)
        for part in ("plans", "facts", "journal", "ledger", "evidence", "reports", "run")
    ]
    return [*places, _search("the cloud's capture", [Lab(name).capture_file], wanted)]


def search_nodes(name: str, values: Iterable[str]) -> list[Place]:
    """Search logs, journal, vault, ledger and settings of all nodes."""
    return [_search_node(Lab(name), node, list(values)) for node in Lab(name).nodes]


def _search(name: str, paths: Iterable[Path], wanted: list[bytes]) -> Place:
    hits = files = size = 0
    for path in paths:
        if path.is_file():
            data = path.read_bytes()
            if path.suffix == ".gz":
                data += gzip.decompress(data)
            files, size = files + 1, size + len(data)
            hits += sum(data.count(value) for value in wanted)
    return Place(name, hits, files, size)


def _search_node(lab: Lab, node: LabNode, values: list[str]) -> Place:
    script = _SCRIPT.replace("VALUES", repr(values)).replace("FOLDERS", repr(NODE_FOLDERS))
    done = subprocess.run(
        ssh_command(lab, node, ["sudo", "python3", "-"]),
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    name = f"{node.name}: logs, journal, state, settings"
    if done.returncode != 0:
        return Place(name, 0, 0, 0)
    found = json.loads(done.stdout)
    return Place(name, found["hits"], found["files"], found["bytes"])
