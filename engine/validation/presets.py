"""Presets of `sovctl init`: complete, commented sites in `templates/presets/NAME.yaml`, equal to
`examples/NAME/site.yaml`.

names()                          # ["lab", "bank-hybrid", ...]
write_preset("lab", Path("."))   # site.yaml, and its schema for editors
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError
from sovctl.support.package_files import package_folder
from sovctl.support.suggestions import nearest

FOLDER = package_folder("templates/presets")
SCHEMA_FILE = "site.schema.json"

_SCHEMA_IN_REPOSITORY = "$schema=../../docs/site.schema.json"

# Presets from simple to large, and the next steps after the file is written.
REAL_SITE = (
    "edit {site}: names, addresses, manifests, approvers",
    "sovctl validate {site}",
    "sovctl doctor {site}    # lists the keys and secrets to create",
    "sovctl plan {site}",
)
_NEXT = {
    "lab": ("sovctl lab up --directory {folder}", "sovctl plan {site}"),
    "ha": ("sovctl lab up --preset ha --directory {folder}", "sovctl plan {site}"),
    "llama-cpp": ("sovctl lab up --engine llama.cpp --directory {folder}", "sovctl plan {site}"),
    "mirror": ("sovctl lab up --preset mirror --directory {folder}", "sovctl plan {site}"),
    "vm": ("sovctl lab up --tier vm --directory {folder}", "sovctl plan {site}"),
    "bank-hybrid": REAL_SITE,
    "closed-perimeter": REAL_SITE,
    "superpod-b200": REAL_SITE,
}


@dataclass(frozen=True)
class Written:
    """Files of `write_preset`.

    Args:
        next_steps: descriptions or commands, in order.
    """

    site: Path
    schema: Path
    next_steps: tuple[str, ...]


def names() -> list[str]:
    """Return the names of all presets, from simple to large."""
    return list(_NEXT)


def about(name: str) -> str:
    """Return the description of a preset, from its first comment."""
    lines = (FOLDER / f"{name}.yaml").read_text().splitlines()
    comment = []
    for line in lines[2:]:  # after the line of the schema and an empty comment
        if not line.startswith("# "):
            break
        comment.append(line[2:])
    return " ".join(comment)


def write_preset(name: str, folder: Path, *, force: bool = False) -> Written:
    """Write `site.yaml` and its schema into `folder`.

    Args:
        force: replace an existing site.yaml.

    Raises:
        InputError: the preset is unknown, site.yaml exists, or the folder is not writable.
    """
    if name not in _NEXT:
        near = nearest(name, list(_NEXT))
        raise InputError(
            f"expected one of {', '.join(_NEXT)}, got '{name}'",
            where="--preset",
            hint=f"did you mean {near}?" if near else "`sovctl init --list` describes the presets",
        )
    text = (FOLDER / f"{name}.yaml").read_text().replace(_SCHEMA_IN_REPOSITORY, f"$schema={SCHEMA_FILE}", 1)
    return write_site(text, folder, next_steps=_NEXT[name], force=force)


def write_site(text: str, folder: Path, *, next_steps: tuple[str, ...] = REAL_SITE, force: bool = False) -> Written:
    """Write `site.yaml` and its schema into `folder`.

    Args:
        next_steps: with the fields `{site}` and `{folder}`.
        force: replace an existing site.yaml.

    Raises:
        InputError: site.yaml exists, or the folder is not writable.
    """
    site, schema = folder / "site.yaml", folder / SCHEMA_FILE
    if site.exists() and not force:
        raise InputError("file exists", where=str(site), hint="choose another folder, or use --force")
    from .documentation import render_schema

    try:
        write_atomic(schema, render_schema())
        write_atomic(site, text)
    except OSError as error:
        reason = (error.strerror or "not writable").lower()
        raise InputError(f"cannot write the files: {reason}", where=str(folder)) from None
    return Written(site, schema, tuple(step.format(site=site, folder=folder) for step in next_steps))
