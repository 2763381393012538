"""Changes of a bundle, for the person who approves it: packages, licences and nodes. Nothing is written.

preview = preview_of("7", store, history, inventory)
preview.differences     # packages that differ from the lock of the published snapshot
preview.nodes["n1"]     # packages that n1 lacks, or has in another version
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.support.bounded_files import read_bounded
from sovctl.support.canonical_json import sha256_hex

from ...lock.comparison import Difference, differences
from ...lock.files import BILL, LOCK_FOLDER
from ...lock.folder import INDEX, LIMIT_BYTES, Lock, read_lock
from ...lock.inventory import PackageBase, SiteInventory
from ..manifest import Manifest
from ..trust import Refused
from .history import ORDER, Bundle, History, State
from .site_store import Quarantine, SiteStore


@dataclass(frozen=True)
class NodeChange:
    """A package of the bundle that a node lacks, or has in another version.

    Args:
        installed: version in the inventory; None if the node lacks the package.
    """

    package: str
    installed: str | None
    new: str


@dataclass(frozen=True)
class Preview:
    """Content of a bundle, compared with the site.

    Args:
        files: of the bundle.
        new_bytes: of contents that the site has not published.
        lock: None if the bundle was built from a list of files.
        compared_with: id of the published snapshot; None before the first.
        differences: added, removed and changed packages.
        nodes: changes by node; None if the lock was computed for another package status of the node.
    """

    bundle: Bundle
    files: int
    new_bytes: int
    lock: Lock | None
    compared_with: str | None
    differences: tuple[Difference, ...]
    nodes: Mapping[str, tuple[NodeChange, ...] | None]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        opened, scanned = self.bundle.opened, self.bundle.records.get(State.SCANNED, {})
        return {
            "bundle": self.bundle.id,
            "sequence": self.bundle.sequence,
            "state": str(self.bundle.state),
            "created": opened["created"],
            "signers": list(opened["signers"]),
            "importer": opened["importer"]["name"],
            "scanner": scanned.get("scanner"),
            "definitions": scanned.get("definitions"),
            "accepted_by": scanned.get("accepted_by"),
            "files": self.files,
            "new_bytes": self.new_bytes,
            "lock_sha256": opened["lock_sha256"],
            "has_lock": self.lock is not None,
            "compared_with": self.compared_with,
            "differences": [each.as_json() for each in self.differences],
            "accepted_licences": [dict(each) for each in self.lock.accepted] if self.lock else [],
            "nodes": {
                name: None if changes is None else [vars(each) for each in changes]
                for name, changes in self.nodes.items()
            },
        }


def preview_of(name: str, store: SiteStore, history: History, inventory: SiteInventory | None) -> Preview:
    """Return what a verified bundle that is not published changes.

    Args:
        name: id or sequence of the bundle.
        inventory: of the nodes; None if it was not collected.

    Raises:
        InputError: unknown bundle, or the quarantine was altered.
        Refused: the bundle is not verified or final, or its lock is not the one of the manifest.
    """
    bundle = history.bundle(name)
    if bundle.state.is_final or ORDER.index(bundle.state) < ORDER.index(State.VERIFIED):
        raise Refused(
            f"bundle {bundle.id} is {bundle.state}: only a verified bundle before its publication can be shown",
            hint="sovctl import status",
        )
    quarantine = store.quarantine(bundle.id)
    manifest = quarantine.manifest(str(bundle.opened["manifest_sha256"]))
    lock = _lock_in(quarantine, manifest, store)
    published = read_lock(store.current / LOCK_FOLDER) if (store.current / LOCK_FOLDER / INDEX).is_file() else None
    nothing = Lock(manifest.site, {}, (), ())
    at_site = store.published_contents()
    return Preview(
        bundle=bundle,
        files=len(manifest.files),
        new_bytes=sum(each.size for sha256, each in manifest.contents.items() if sha256 not in at_site),
        lock=lock,
        compared_with=store.current.readlink().name if published else None,
        differences=differences(published or nothing, lock) if lock else (),
        nodes=_by_node(lock, inventory) if lock and inventory else {},
    )


def _lock_in(quarantine: Quarantine, manifest: Manifest, store: SiteStore) -> Lock | None:
    """Return the lock that the bundle contains; each file is compared with its SHA-256 in the manifest."""
    files = {
        path.name: each.sha256
        for each in manifest.files
        if (path := Path(each.path)).parent == Path(LOCK_FOLDER) and path.name != BILL
    }
    if INDEX not in files:
        return None
    with tempfile.TemporaryDirectory(prefix="sovctl-import-") as folder:
        for name, sha256 in files.items():
            source = quarantine.file(sha256)
            data = read_bounded(source if source.exists() else store.content(sha256), LIMIT_BYTES)
            if sha256_hex(data) != sha256:
                raise Refused("the quarantine was altered", where=name, hint="import the media again")
            (Path(folder) / name).write_bytes(data)
        lock = read_lock(Path(folder))
    if lock.sha256 != manifest.lock_sha256:
        raise Refused("the lock in the bundle is not the one of its manifest", hint="build the bundle again")
    return lock


def _by_node(lock: Lock, inventory: SiteInventory) -> dict[str, tuple[NodeChange, ...] | None]:
    parts = {base: part for part in lock.parts if (base := part.target.get("base"))}
    found: dict[str, tuple[NodeChange, ...] | None] = {}
    for node in inventory.nodes:
        part = parts.get(node.base)
        if part is None:
            found[node.name] = None
            continue
        installed = dict(_installed(inventory.bases[node.base]))
        found[node.name] = tuple(
            NodeChange(each.name, installed.get(each.key) or installed.get((each.name, "all")), each.version)
            for each in part.packages
        )
    return found


def _installed(base: PackageBase) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield name and architecture, and the version, of each installed package."""
    if base.manager == "dnf":
        for line in base.status.splitlines():
            name, version, architecture, *_ = line.split("\t")
            yield (name, architecture), version
        return
    for stanza in base.status.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line and line[0] != " ")
        if fields.get("Status", "").endswith(" installed"):
            yield (fields["Package"], fields["Architecture"]), fields["Version"]
