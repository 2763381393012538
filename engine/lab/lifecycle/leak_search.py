"""Search everything that is kept for values that must not be there, and say how much was searched.

On nodes the values arrive on standard input: on a command line they would be in the journal of sudo, and the search
would find itself.
"""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..layout import NODES, Lab, LabNode
from ..node.shell import ssh_command

# Run on a node by python3 as root: walks the folders, adds the whole journal, counts.
_SCRIPT = """
import json, os, subprocess, sys
values = [value.encode() for value in VALUES]
hits = files = size = 0
def look(data):
    global hits, files, size
    files += 1; size += len(data); hits += sum(data.count(value) for value in values)
for top in FOLDERS:
    for folder, _, names in os.walk(top):
        for name in names:
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    look(file.read())
            except OSError:
                pass
look(subprocess.run(["journalctl", "--no-pager", "--output=export"], capture_output=True).stdout)
print(json.dumps({"hits": hits, "files": files, "bytes": size}))
"""
NODE_FOLDERS = ("/var/log", "/var/lib/sovctl", "/etc/sovctl", "/run/sovctl-probe", "/var/tmp", "/tmp")


@dataclass(frozen=True)
class Place:
    """One place that was searched: how often a value stood there, and how much was read."""

    name: str
    hits: int
    files: int
    bytes: int


def search_controller(name: str, site_folder: Path, values: Iterable[str]) -> list[Place]:
    """The site's state (journal, ledger, evidence, reports), and what the host outside keeps."""
    wanted = [value.encode() for value in values]
    state = site_folder / ".sovctl"
    places = [
        _search(f"controller: {part}", sorted((state / part).rglob("*")), wanted)
        for part in ("plans", "facts", "journal", "ledger", "evidence", "reports", "run")
    ]
    return [*places, _search("the cloud's capture", [Lab(name).capture_file], wanted)]


def search_nodes(name: str, values: Iterable[str]) -> list[Place]:
    """Logs, journal, vault, ledger and settings of every node."""
    return [_search_node(Lab(name), node, list(values)) for node in NODES]


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
