"""Trees: folders of which every file is managed, such as a Python environment or a model.

- A role writes a manifest of every entry into the folder, after it built and verified the folder.
- Apply records the digest of the manifest on the controller, so that a manifest changed on the node is a difference.
- A plan compares metadata with the manifest; `sovctl verify` hashes every file. A failed verification is an input of
  the next plan, until a role writes a new manifest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from sovctl.support.package_files import package_folder

from ...facts.node import NodeFacts
from ...facts.trees import TreeState, parse_trees
from ..resource import CREATED_BY_APPLY, State

PROGRAM = package_folder("engine/facts/probes") / "trees_probe.py"
"""Program that writes and compares manifests on a node. Roles run the same file."""


@dataclass(frozen=True)
class TreeRecord:
    """A tree as the last apply left it.

    Args:
        root: real path of the folder on the node.
        manifest_sha256: digest of its manifest.
        findings: differences that `sovctl verify` found in it; empty after a verification that passed.
    """

    root: str
    manifest_sha256: str
    findings: tuple[str, ...] = ()


UNRECORDED = TreeRecord(root="", manifest_sha256=CREATED_BY_APPLY)
"""Record of a tree that no apply has built."""


def tree_id(kind: str, name: str) -> str:
    """Return the key of a tree in `Context.trees`, together with the name of its node."""
    return f"{kind}/{name}"


def command(verb: str, manifest: str, folders: Iterable[str]) -> list[str]:
    """Return the command that compares folders with their manifests on a node.

    Args:
        verb: `compare` or `verify`.
        manifest: file name of the manifests.
    """
    return ["python3", "-c", _program(), verb, manifest, *dict.fromkeys(folders)]


@cache
def _program() -> str:
    return PROGRAM.read_text()


def observed_tree(facts: NodeFacts, query: str, folder: str) -> TreeState | None:
    """Return the state of a folder, by its path or real path, from the answer of a query; None if it was not compared.

    Args:
        query: name of the command in the request to the probe.
    """
    trees = parse_trees(facts.answer(query))
    return trees.get(folder) or next((tree for tree in trees.values() if tree.root == folder), None)


def expected_state(record: TreeRecord) -> State:
    """Return the part of the expected state of a resource that describes its tree."""
    return {"tree_sha256": record.manifest_sha256, "changed_files": [], "found_by_verify": []}


def observed_state(tree: TreeState | None, findings: tuple[str, ...]) -> State:
    """Return the part of the observed state of a resource that describes its tree.

    Args:
        findings: of the record.
    """
    return {
        "tree_sha256": tree.manifest_sha256 if tree else None,
        "changed_files": list(tree.changed) if tree else [],
        "found_by_verify": list(findings),
    }


def is_intact(record: TreeRecord, tree: TreeState | None) -> bool:
    """Return whether a tree is as the last apply left it."""
    return observed_state(tree, record.findings) == expected_state(record)
