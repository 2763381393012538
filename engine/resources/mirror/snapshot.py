"""Files of the selected snapshot on a mirror node, by SHA-256, with a link `current`.

    /srv/sovctl/mirror/content/aa/SHA256     # each content once
    /srv/sovctl/mirror/snapshots/ID/         # hard links, read-only; MANIFEST has the SHA-256 of every file
    /srv/sovctl/mirror/current               # link to the selected snapshot

The role copies absent contents, verifies each, and writes the folder of the snapshot last. The snapshot before stays,
so that nodes that are not changed yet, and a rollback, find their files.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context
from ..orphan import orphan
from ..resource import Desired, State
from ..resource_type import Query, ResourceType
from . import urls

KIND = "mirror_snapshot"
MANIFEST = f"{urls.ROOT}/current/MANIFEST"


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    if not context.is_mirror(node):
        if facts is not None and MANIFEST in facts.files:
            yield orphan(KIND, "snapshot", [MANIFEST], why="site.yaml has no mirror on this node; files of it stay")
        return
    chosen = urls.snapshot(context)
    yield Desired(
        kind=KIND,
        name="snapshot",
        state={"snapshot_manifest_sha256": chosen.manifest_sha256},
        why=f"snapshot {chosen.id}, each file verified by SHA-256",
        variables={
            "snapshot": chosen.id,
            "source": str(chosen.folder),
            "manifest_sha256": chosen.manifest_sha256,
            "root": urls.ROOT,
        },
        minutes=2.0,
    )


def _observe(facts: NodeFacts, _desired: Desired) -> State | None:
    manifest = facts.sha256(MANIFEST)
    return None if manifest is None else {"snapshot_manifest_sha256": manifest}


RESOURCE_TYPE = ResourceType(KIND, _expect, _observe, lambda _context, _node: Query(hash=(MANIFEST,)))
