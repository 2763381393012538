"""Snapshots that the mirror of a site serves: the published files of a bundle, with indexes signed by the site.

STORE/
  snapshots/ID/         published by `sovctl import approve`
  mirror/ID/            the same files as hard links, read-only, with InRelease, wheels/index.html and MANIFEST
  mirror/selected       link to the snapshot that plans name

MANIFEST has a line `sha256  path` for each file, so that its digest names every byte that a mirror node serves.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sovctl.support.atomic_files import sync_folder
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from . import indexes
from .apt_key import AptKey

MANIFEST = "MANIFEST"
SELECTED = "selected"


@dataclass(frozen=True)
class MirrorSnapshot:
    """A snapshot with signed indexes.

    Args:
        id: of the bundle.
        folder: on the controller.
    """

    id: str
    folder: Path
    manifest_sha256: str

    def files(self) -> dict[str, str]:
        """Return SHA-256 by path, without MANIFEST."""
        lines = (self.folder / MANIFEST).read_text().splitlines()
        return {path: sha256 for sha256, path in (line.split("  ", 1) for line in lines)}


def selected(store: Path) -> MirrorSnapshot | None:
    """Return the selected snapshot; None before the first selection.

    Raises:
        InputError: the link or its snapshot is damaged.
    """
    link = store / "mirror" / SELECTED
    if not link.is_symlink():
        return None
    return _opened(store / "mirror" / link.readlink())


def listed(store: Path) -> tuple[MirrorSnapshot, ...]:
    """Return all snapshots with signed indexes, sorted by id."""
    folder = store / "mirror"
    if not folder.is_dir():
        return ()
    names = sorted(each.name for each in folder.iterdir() if not each.is_symlink() and not each.name.startswith("."))
    return tuple(_opened(folder / name) for name in names)


def select(store: Path, snapshot: str, key: AptKey, *, site: str, now: datetime) -> MirrorSnapshot:
    """Sign the indexes of a published snapshot, and select it. A snapshot that is signed is selected as it is.

    Raises:
        InputError: the snapshot is not published.
    """
    published, target = store / "snapshots" / snapshot, store / "mirror" / snapshot
    if not published.is_dir():
        raise InputError(f"no published snapshot {snapshot[:80]}", where=str(store), hint="sovctl import status")
    if not target.is_dir():
        _write(published, target, key, site=site, now=now)
    found = _opened(target)
    draft = target.with_name(f".{SELECTED}.new")
    draft.unlink(missing_ok=True)
    draft.symlink_to(snapshot)
    draft.replace(target.with_name(SELECTED))
    sync_folder(target.parent)
    return found


def _write(published: Path, target: Path, key: AptKey, *, site: str, now: datetime) -> None:
    target.parent.mkdir(exist_ok=True)
    draft = target.with_name(f".{target.name}.new")
    if draft.is_dir():
        _make_writable(draft)
        shutil.rmtree(draft)
    digests = {}
    for path in sorted(published.rglob("*")):
        if path.is_file():
            name = path.relative_to(published).as_posix()
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            os.link(path, draft / name)
            with path.open("rb") as data:
                digests[name] = hashlib.file_digest(data, "sha256").hexdigest()
    made = _indexes(published, digests, key, site=site, snapshot=target.name, now=now)
    made_digests = {name: sha256_hex(content) for name, content in made.items()}
    lines = "".join(f"{sha256}  {name}\n" for name, sha256 in sorted((digests | made_digests).items()))
    draft.mkdir(exist_ok=True)
    for name, content in {**made, MANIFEST: lines.encode()}.items():
        with (draft / name).open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        (draft / name).chmod(0o444)
    for folder in sorted([draft, *(each for each in draft.rglob("*") if each.is_dir())], reverse=True):
        sync_folder(folder)
        folder.chmod(0o555)
    draft.rename(target)
    sync_folder(target.parent)


def _indexes(
    published: Path, digests: Mapping[str, str], key: AptKey, *, site: str, snapshot: str, now: datetime
) -> dict[str, bytes]:
    """Return the indexes that the bundle does not contain, by path.

    Raises:
        InputError: a folder of packages has no index.
    """
    found: dict[str, bytes] = {}
    for folder in sorted({name.rpartition("/")[0] for name in digests if name.endswith(".deb")}):
        if f"{folder}/{indexes.PACKAGES}" not in digests:
            hint = "build the bundle from a folder of `sovctl lock fetch`"
            raise InputError(f"the bundle has no index of packages in {folder}", where=str(published), hint=hint)
        packages = (published / folder / indexes.PACKAGES).read_bytes()
        packed = gzip.compress(packages, mtime=0)
        text = indexes.release(site, snapshot, {indexes.PACKAGES: packages, f"{indexes.PACKAGES}.gz": packed}, now=now)
        found |= {
            f"{folder}/{indexes.PACKAGES}.gz": packed,
            f"{folder}/Release": text,
            f"{folder}/InRelease": key.clearsign(text),
        }
    wheels = {
        name.removeprefix("wheels/"): sha256
        for name, sha256 in digests.items()
        if name.startswith("wheels/") and name.endswith(".whl")
    }
    if wheels:
        found["wheels/index.html"] = indexes.wheels_page(wheels)
    return found


def _opened(folder: Path) -> MirrorSnapshot:
    try:
        manifest = (folder / MANIFEST).read_bytes()
    except OSError:
        hint = "select a snapshot again: sovctl mirror select ID"
        raise InputError("the snapshot of the mirror is damaged", where=str(folder), hint=hint) from None
    return MirrorSnapshot(folder.name, folder, sha256_hex(manifest))


def _make_writable(folder: Path) -> None:
    for each in [folder, *folder.rglob("*")]:
        if each.is_dir() and not each.is_symlink():
            each.chmod(0o755)
