"""The models that the lab's site serves: our own small echo model, with the manifest a node checks every file by."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.package_files import package_folder

ECHO_MODEL = package_folder("engine/lab/echo_model/model").resolve()
MANIFEST = "MANIFEST"


def manifest_text(digests: Mapping[str, str]) -> str:
    """The MANIFEST of a model.

    Args:
        digests: SHA-256 in hex by path relative to the model's folder.

    Returns:
        Lines of `sha256  path`, sorted by path; what sha256sum(1) -c reads.
    """
    return "".join(f"{digests[path]}  {path}\n" for path in sorted(digests))


def digests_below(folder: Path) -> dict[str, str]:
    """SHA-256 in hex of every file below `folder` but its MANIFEST, by relative path."""
    found = {}
    for file in folder.rglob("*"):
        if file.is_file() and file.name != MANIFEST:
            with file.open("rb") as data:
                found[file.relative_to(folder).as_posix()] = hashlib.file_digest(data, "sha256").hexdigest()
    return found


def publish(folder: Path, *, source: Path = ECHO_MODEL) -> None:
    """Lay the model and its MANIFEST into `folder`.

    One that is there and whole is left alone: a node may be reading it.
    """
    manifest = manifest_text(digests_below(source))
    laid = folder / MANIFEST
    if laid.exists() and laid.read_text() == manifest == manifest_text(digests_below(folder)):
        return
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    write_atomic(folder / MANIFEST, manifest)
