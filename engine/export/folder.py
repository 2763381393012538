"""Folder of an export: YAML files, a kustomization, README.txt and not-exported.md. Equal inputs give equal bytes.

The folder is written next to its place and then renamed, so it is complete or absent. A folder with other files, or
without the mark of an export in its README.txt, is not replaced.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from sovctl.support.atomic_files import sync_folder, write_many
from sovctl.support.errors import InputError

from .source import Object

README = "README.txt"
MARK = "Written by `sovctl export"
"""First words of README.txt."""


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and equal values without anchors."""

    def ignore_aliases(self, _data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    is_block = "\n" in value and not any(line != line.rstrip() for line in value.split("\n"))
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if is_block else None)


_Dumper.add_representer(str, _text)


def as_yaml(objects: Iterable[Object]) -> str:
    """Return objects as YAML documents, keys in the order of the objects."""
    return "".join(
        f"---\n{yaml.dump(each, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)}" for each in objects
    )


def kustomization(names: Iterable[str]) -> str:
    """Return `kustomization.yaml` of files."""
    made: Object = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(names),
    }
    return as_yaml([made])


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Write or replace the folder of an export.

    Raises:
        InputError: the path exists and is not a folder that an export wrote.
    """
    if folder.is_symlink() or (folder.exists() and not _is_export(folder)):
        raise InputError(
            "exists, and `sovctl export` did not write it", where=str(folder), hint="choose another folder with --to"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        draft.chmod(0o755)
        write_many({draft / name: text.encode() for name, text in files.items()})
        former = draft.with_name(f"{draft.name}.old")
        if folder.exists():
            folder.rename(former)
        draft.rename(folder)
        sync_folder(folder.parent)
        shutil.rmtree(former, ignore_errors=True)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _is_export(folder: Path) -> bool:
    """Return whether the folder is empty, or an export without other files."""
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir()}
    if not names:
        return True
    readme = folder / README
    if README not in names or not readme.is_file() or not readme.read_text(errors="replace").startswith(MARK):
        return False
    listed = readme.read_text(errors="replace").split("Files:", 1)[-1].split()
    return names <= {*listed, README}
