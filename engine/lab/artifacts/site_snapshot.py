"""Published snapshot of a lab whose nodes install from a mirror node: packages, wheels and the echo model.

    STORE/snapshots/without-bundle-DIGEST/apt/debian-12-amd64/  wheels/  models/echo/

It replaces a bundle, without lock, media, approval and record in the ledger. The files are from the lab's cache:
packages, and wheels with the SHA-256 of their locks. Mirror nodes verify them like those of a bundle.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from sovctl.support.canonical_json import digest

from ...mirror import indexes, snapshots
from ...mirror.apt_key import AptKey
from . import model_store

PREFIX = "without-bundle-"
"""Start of the id; the id of a bundle begins with the name of the site."""
_APT = "apt/debian-12-amd64"


def ensure(directory: Path, repository: Path, wheels: Iterable[Path], *, site: str) -> None:
    """Publish the files in the store of a site; a snapshot that an import selected stays selected.

    Args:
        directory: of site.yaml.
        site: its name.
    """
    store = directory / "store"
    chosen = snapshots.selected(store)
    if chosen is not None and not chosen.id.startswith(PREFIX):
        return
    key = AptKey(directory / ".sovctl" / "keys" / "apt.key", site)
    key.ensure(directory / "access" / "apt-key.asc")
    publish(store, repository, wheels, key=key, site=site, now=datetime.now(UTC))


def publish(store: Path, repository: Path, wheels: Iterable[Path], *, key: AptKey, site: str, now: datetime) -> str:
    """Publish and select the snapshot; return its id. A snapshot with the same content is not written again.

    Args:
        store: `mirror.store` of site.yaml.
        repository: folder of packages with their index.
        wheels: folders.
        key: signs the indexes.
        site: its name, for the index.
    """
    files = {f"{_APT}/{each.name}": each for each in repository.glob("*.deb")}
    files[f"{_APT}/{indexes.PACKAGES}"] = repository / indexes.PACKAGES
    files |= {f"wheels/{each.name}": each for folder in wheels for each in folder.glob("*.whl")}
    models = model_store.digests_below(model_store.ECHO_MODEL)
    name = f"{PREFIX}{digest([repository.name, sorted(files), models])[:16]}"
    target = store / "snapshots" / name
    if not target.is_dir():
        draft = target.with_name(f".{name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        for path, source in files.items():
            (draft / path).parent.mkdir(parents=True, exist_ok=True)
            _link(source, draft / path)
        model_store.publish(draft / "models" / "echo")
        draft.rename(target)
    snapshots.select(store, name, key, site=site, now=now)
    return name


def _link(source: Path, target: Path) -> None:
    """Create a hard link; a copy on another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
