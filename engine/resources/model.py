"""Model weights and adapters on the nodes that serve them, verified by the manifest whose digest is in site.yaml.

The role verifies the hash of each file and then writes sizes and times to `.verified`. A plan compares these, because
hashing hundreds of gigabytes takes minutes. `sovctl verify` hashes the files again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.node import NodeFacts
from ..spec import Node
from .context import ENGINE_USER, Context
from .resource import Desired, Risk, State
from .resource_type import Query, ResourceType

STORE = "/srv/sovctl/models"


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
    url = str(context.spec.artifacts.models_url).rstrip("/")
    for folder in folders(context, node):
        yield Desired(
            kind="model",
            name=folder.name,
            state={"manifest_sha256": folder.manifest_sha256, "changed_files": []},
            why=f"{folder.what}, each file verified by SHA-256",
            variables={
                "url": f"{url}/{folder.name}",
                "folder": f"{STORE}/{folder.name}",
                "manifest_sha256": folder.manifest_sha256,
                "owner": ENGINE_USER,
            },
            risk=Risk.WORKLOAD,
            minutes=0.2,
        )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    folder = desired.variables["folder"]
    manifest = facts.sha256(f"{folder}/MANIFEST")
    verified = facts.texts.get(f"{folder}/.verified")
    if manifest is None or verified is None:
        return None
    try:
        known = {name: (int(size), _nanoseconds(seconds)) for name, size, seconds in json.loads(verified)}
    except (ValueError, TypeError):
        return None
    # A link or an unreadable file has no time in the facts, so it counts as changed.
    there = {name: facts.files.get(f"{folder}/{name}", {}) for name in known}
    changed = [name for name, noted in known.items() if (there[name].get("size"), there[name].get("mtime_ns")) != noted]
    known_paths = {f"{folder}/{name}" for name in (*known, "MANIFEST", ".verified")}
    present = [path.removeprefix(f"{folder}/") for path in facts.files if path.startswith(f"{folder}/")]
    changed += [name for name in present if f"{folder}/{name}" not in known_paths]  # vLLM could load them
    return {"manifest_sha256": manifest, "changed_files": sorted(changed)}


def _nanoseconds(seconds: str) -> int:
    """Return nanoseconds for a time of `find -printf %T@`, which is in seconds with ten decimals."""
    whole, _, part = seconds.partition(".")
    return int(whole) * 1_000_000_000 + int(part[:9].ljust(9, "0"))


def _query(context: Context, node: Node) -> Query:
    names = [folder.name for folder in folders(context, node)]
    return Query(
        hash=tuple(f"{STORE}/{name}/{pattern}" for name in names for pattern in ("**", "**/.*")),
        read=tuple(f"{STORE}/{name}/.verified" for name in names),
    )


RESOURCE_TYPE = ResourceType("model", _expect, _observe, _query)
