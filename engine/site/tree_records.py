"""Records of trees on the controller: digests of their manifests, and differences that `sovctl verify` found.

trees/NODE.json    {"model/echo": {"root", "manifest_sha256", "findings"}}, by `resources/software/tree.py:tree_id`

Apply writes a record after it built a tree, which also drops the findings. A verification replaces the findings of a
record if the record did not change since the verification started.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

from ..resources.software.tree import TreeRecord

Key = tuple[str, str]
"""Node and `tree_id`."""


def load(folder: Path) -> dict[Key, TreeRecord]:
    """Return all records; empty before the first apply.

    Raises:
        InputError: a file was changed by hand.
    """
    records = {}
    for path in sorted(folder.glob("*.json")):
        try:
            for tree, value in json.loads(path.read_text()).items():
                findings = tuple(str(each) for each in value["findings"])
                records[path.stem, tree] = TreeRecord(str(value["root"]), str(value["manifest_sha256"]), findings)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError(
                "not a file with records of trees",
                where=str(path),
                hint="restore the state folder from a backup; or remove the file, and apply builds the trees again",
            ) from None
    return records


def drop(folder: Path, node: str) -> None:
    """Remove the records of a node."""
    (folder / f"{node}.json").unlink(missing_ok=True)


def save(folder: Path, changed: Mapping[Key, TreeRecord]) -> None:
    """Add or replace records; a record without a root is not stored."""
    records = {**load(folder), **changed}
    for node in {node for node, _ in changed}:
        of_node = {
            tree: {"root": each.root, "manifest_sha256": each.manifest_sha256, "findings": list(each.findings)}
            for (name, tree), each in records.items()
            if name == node and each.root
        }
        write_atomic(folder / f"{node}.json", json.dumps(of_node, indent=1, sort_keys=True) + "\n", mode=0o600)
