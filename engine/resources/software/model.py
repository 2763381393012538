"""Model weights and adapters on the nodes that serve them, verified by the manifest whose digest is in site.yaml.

The role verifies the hash of each file, and then writes a manifest of the folder with sizes, times and inodes. A plan
compares these, because hashing hundreds of gigabytes takes minutes. `sovctl verify` hashes the files again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...facts.node import NodeFacts
from ...facts.trees import TreeState
from ...spec import Node
from ..context import Context
from ..mirror import urls as mirror_urls
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType
from .tree import (
    PROGRAM,
    command,
    expected_state,
    observed_state,
    observed_tree,
    tree_id,
)

STORE = "/srv/sovctl/models"
VERIFIED = ".verified"
"""File name of the manifest of the verified folder. The site's own manifest is the file MANIFEST."""
TREES = "model-trees"
"""Name of the command in the request to the probe."""


@dataclass(frozen=True)
class Folder:
    """One folder of weights.

    Args:
        name: path below `artifacts.models_url` and below `STORE`.
        what: description for the reader of a plan.
    """

    name: str
    manifest_sha256: str
    what: str


def folders(context: Context, node: Node) -> list[Folder]:
    """Return the folders of weights and adapters of all pools on the node, each once."""
    found: dict[str, Folder] = {}
    for replica in context.replicas_on(node):
        pool = context.pool(replica.pool)
        model = context.model(pool.model)
        found[model.name] = Folder(model.name, model.manifest_sha256, f"weights of {model.catalog}")
        if pool.draft_model is not None:
            draft = context.model(pool.draft_model)
            found[draft.name] = Folder(draft.name, draft.manifest_sha256, f"weights of {draft.catalog}, for drafts")
        for adapter in pool.adapters:
            found[adapter.name] = Folder(adapter.name, adapter.manifest_sha256, f"an adapter of {model.catalog}")
    return list(found.values())


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    urls = mirror_urls.urls(context, node, context.spec.artifacts.models_url)
    for folder in folders(context, node):
        record = context.tree(node, tree_id("model", folder.name))
        yield Desired(
            kind="model",
            name=folder.name,
            state={"manifest_sha256": folder.manifest_sha256, **expected_state(record)},
            why=f"{folder.what}, each file verified by SHA-256",
            variables={
                "url": f"{urls[0]}/{folder.name}",
                "other_urls": [f"{each}/{folder.name}" for each in urls[1:]],
                "ca_file": mirror_urls.ca(context, node),
                "folder": f"{STORE}/{folder.name}",
                "manifest_sha256": folder.manifest_sha256,
                "manifest_program": str(PROGRAM),
            },
            findings=record.findings,
            risk=Risk.WORKLOAD,
            minutes=0.2,
        )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    manifest = facts.sha256(f"{desired.variables['folder']}/MANIFEST")
    tree = built_tree(facts, desired.name)
    if manifest is None and (tree is None or tree.manifest_sha256 is None):
        return None
    return {"manifest_sha256": manifest, **observed_state(tree, desired.findings)}


def built_tree(facts: NodeFacts, name: str) -> TreeState | None:
    """Return the state of the folder of a model or an adapter."""
    return observed_tree(facts, TREES, f"{STORE}/{name}")


def _query(context: Context, node: Node) -> Query:
    paths = [f"{STORE}/{folder.name}" for folder in folders(context, node)]
    return Query(
        hash=tuple(f"{path}/MANIFEST" for path in paths),
        commands={TREES: command("compare", VERIFIED, paths)} if paths else {},
    )


RESOURCE_TYPE = ResourceType("model", _expect, _observe, _query, built_tree=built_tree)
