"""Checks the LoRA adapters of a bundle at the site: a builder may have packed them without `sovctl lock`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ...lock.adapters import CONFIG, WEIGHTS, refused_adapter_files
from ..manifest import File


def refused_adapters(files: Iterable[File], content: Callable[[str], Path]) -> list[str]:
    """Return a line for each reason to refuse the adapters of a bundle, by folder.

    A folder of models with settings or weights of an adapter is an adapter.

    Args:
        files: of the bundle's manifest.
        content: returns the file with a content, by SHA-256.
    """
    folders: dict[str, dict[str, Path]] = {}
    for each in files:
        folder, _, name = each.path.rpartition("/")
        if each.kind == "model":
            folders.setdefault(folder, {})[name] = content(each.sha256)
    return [
        f"{folder}/{reason}"
        for folder, found in sorted(folders.items())
        if CONFIG in found or WEIGHTS in found
        for reason in refused_adapter_files(found)
    ]
