"""Sites and plain values for tests of several packages."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from sovctl.engine.mirror.snapshots import MirrorSnapshot
from sovctl.engine.plan.build import context_of
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.credential import credentials_on, fingerprint
from sovctl.engine.resources.mirror.urls import CA_FILE
from sovctl.engine.resources.software import environment, model
from sovctl.engine.resources.software.tree import TreeRecord, tree_id
from sovctl.engine.spec import Node
from sovctl.engine.validation.load import load
from sovctl.engine.validation.presets import names
from sovctl.support.canonical_json import sha256_hex

EXAMPLES = Path(__file__).parent.parent / "examples"
TODAY = date(2026, 11, 21)
PRESETS = tuple(name for name in names() if name != "vm")
"""Presets with pools; the node of preset `vm` has no GPU."""


@cache
def context(preset: str) -> Context:
    """A preset as the kinds see it; every credential and the mirror's snapshot exist, with invented content."""
    folder = EXAMPLES / preset
    made = context_of(load(folder / "site.yaml", today=TODAY).spec, folder)
    found = {
        (node.name, each.file): fingerprint(credential_sha256(node.name, each.file))
        for _, node in made.spec.nodes()
        for each in credentials_on(made, node)
    }
    if made.spec.mirror is not None:
        authority = {node.name: credential_sha256(node.name, CA_FILE) for _, node in made.spec.nodes()}
        found |= {(name, CA_FILE): fingerprint(sha256) for name, sha256 in authority.items()}
    trees = {
        (node.name, tree): TreeRecord(root, sha256_hex(f"invented manifest of {tree}"))
        for _, node in made.spec.nodes()
        for tree, root in tree_roots(made, node).items()
    }
    snapshot = MirrorSnapshot("invented-1", folder, sha256_hex("invented snapshot")) if made.spec.mirror else None
    return replace(made, fingerprints=found, trees=trees, snapshot=snapshot)


def tree_roots(site: Context, node: Node) -> dict[str, str]:
    """Folders of a node's environments and models, by `tree_id`."""
    environments = {
        tree_id("environment", each.name): f"{environment.ROOT}/{each.name}-{each.built_from[:12]}"
        for each in environment.wanted_on(site, node)
    }
    return environments | {
        tree_id("model", each.name): f"{model.STORE}/{each.name}" for each in model.folders(site, node)
    }


def credential_sha256(node: str, file: str) -> str:
    """Digest of the invented content of a credential."""
    return sha256_hex(f"invented {node} {file}")


def plain_values() -> st.SearchStrategy[Any]:
    """Values that a state may hold."""
    lists = st.lists(st.text(max_size=8), max_size=4)
    return st.one_of(st.none(), st.booleans(), st.integers(-(2**40), 2**40), st.text(max_size=12), lists)


def states(*, min_size: int = 1) -> st.SearchStrategy[dict[str, Any]]:
    """States: plain values by name."""
    return st.dictionaries(st.text("abc_", min_size=1, max_size=3), plain_values(), min_size=min_size, max_size=6)
