"""Models of a lab: a small echo model, with the manifest for the verification of its files."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.package_files import package_folder

ECHO_MODEL = package_folder("engine/lab/echo_model/model").resolve()
ECHO_GGUF = package_folder("engine/lab/echo_model/gguf").resolve()
"""The same model in the format of llama.cpp."""
MANIFEST = "MANIFEST"


def manifest_text(digests: Mapping[str, str]) -> str:
    """Return the MANIFEST of a model: lines of `sha256  path`, sorted by path, for sha256sum(1) -c.

    Args:
        digests: SHA-256 in hex by path relative to the model's folder.
    """
    return "".join(f"{digests[path]}  {path}\n" for path in sorted(digests))


def digests_below(folder: Path) -> dict[str, str]:
    """Return the SHA-256 in hex of all files below `folder` except MANIFEST, by relative path."""
    found = {}
    for file in folder.rglob("*"):
        if file.is_file() and file.name != MANIFEST:
            with file.open("rb") as data:
                found[file.relative_to(folder).as_posix()] = hashlib.file_digest(data, "sha256").hexdigest()
    return found


def publish(folder: Path, *, source: Path = ECHO_MODEL) -> None:
    """Copy the model to `folder` and write its MANIFEST.

    A complete copy is not replaced, because a node may be reading it.
    """
    manifest = manifest_text(digests_below(source))
    existing = folder / MANIFEST
    if existing.exists() and existing.read_text() == manifest == manifest_text(digests_below(folder)):
        return
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    write_atomic(folder / MANIFEST, manifest)
