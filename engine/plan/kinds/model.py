"""Model weights on the nodes that serve them, checked file by file against the manifest in site.yaml.

Hashing hundreds of gigabytes at every plan would take minutes, so the role notes size and time of every file after
it has verified the hashes (`.verified`), and the plan compares those; `sovctl verify` hashes again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.context import ENGINE_USER, Context
from sovctl.engine.plan.kinds.kind import Kind, Look
from sovctl.engine.plan.resource import Desired, Risk, State
from sovctl.engine.spec import Node

STORE = "/srv/sovctl/models"


def _models(context: Context, node: Node) -> list[str]:
    return list(dict.fromkeys(context.pool(each.pool).model for each in context.replicas_on(node)))


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    models = {model.name: model for model in context.spec.models}
    url = str(context.spec.artifacts.models_url).rstrip("/")
    for name in _models(context, node):
        yield Desired(
            kind="model",
            name=name,
            state={"manifest_sha256": models[name].manifest_sha256, "changed_files": []},
            why=f"weights of {models[name].catalog}, every file checked by SHA-256",
            variables={
                "url": f"{url}/{name}",
                "folder": f"{STORE}/{name}",
                "manifest_sha256": models[name].manifest_sha256,
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
    # A link, or a file that cannot be read, has no time of its own and is never what was verified.
    there = {name: facts.files.get(f"{folder}/{name}", {}) for name in known}
    changed = [name for name, noted in known.items() if (there[name].get("size"), there[name].get("mtime_ns")) != noted]
    return {"manifest_sha256": manifest, "changed_files": sorted(changed)}


def _nanoseconds(seconds: str) -> int:
    """From `find -printf %T@`: seconds with ten decimals."""
    whole, _, part = seconds.partition(".")
    return int(whole) * 1_000_000_000 + int(part[:9].ljust(9, "0"))


def _look(context: Context, node: Node) -> Look:
    names = _models(context, node)
    return Look(
        hash=tuple(f"{STORE}/{name}/**" for name in names),
        read=tuple(f"{STORE}/{name}/.verified" for name in names),
    )


KIND = Kind("model", _expect, _observe, _look)
