"""Publishes a bundle: an immutable folder of hard links, then one link that changes atomically. Can be repeated."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from sovctl.support.atomic_files import sync_folder

from ..manifest import Manifest
from .site_store import Quarantine, SiteStore


def publish(store: SiteStore, quarantine: Quarantine, manifest: Manifest, bundle: str) -> Path:
    """Publish the verified contents of a bundle.

    Returns:
        The folder of the snapshot.
    """
    for sha256 in manifest.contents:
        target = store.content(sha256)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            source = quarantine.file(sha256)
            source.chmod(0o444)
            os.link(source, target)
    snapshot = store.snapshots / bundle
    if not snapshot.exists():
        _link_files(store, manifest, store.snapshots / f".new-{bundle}", snapshot)
    _flip(store.current, Path("snapshots") / bundle)
    return snapshot


def _link_files(store: SiteStore, manifest: Manifest, draft: Path, snapshot: Path) -> None:
    shutil.rmtree(draft, ignore_errors=True)
    folders = {draft}
    for each in manifest.files:
        path = draft / each.path
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        os.link(store.content(each.sha256), path)
        folders |= {folder for folder in path.parents if folder.is_relative_to(draft)}
    draft.mkdir(parents=True, exist_ok=True)
    for folder in sorted(folders, reverse=True):
        sync_folder(folder)
        folder.chmod(0o555)
    for folder in (store.root / "content").glob("*"):
        sync_folder(folder)
    draft.rename(snapshot)
    sync_folder(store.snapshots)


def _flip(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    draft = link.with_name(".current.new")
    draft.unlink(missing_ok=True)
    draft.symlink_to(target)
    draft.replace(link)
    sync_folder(link.parent)
