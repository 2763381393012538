"""Ready sites to start from: `templates/presets/NAME.yaml`, whole and commented, the same as `examples/NAME/site.yaml`.

names()                          # ["lab", "bank-hybrid", ...]
write_preset("lab", Path("."))   # site.yaml, and the schema that editors complete it with
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError
from sovctl.support.package_files import package_folder

FOLDER = package_folder("templates/presets")
SCHEMA_FILE = "site.schema.json"

_SCHEMA_IN_REPOSITORY = "$schema=../../docs/site.schema.json"

# In the order a newcomer meets them, and what to do once the file is there.
_REAL_SITE = (
    "edit {site}: names, addresses, manifests, approvers",
    "put the ssh key, the host keys and the secrets where it says (mode 600)",
    "sovctl validate {site}",
    "sovctl plan {site}",
)
_NEXT = {
    "lab": ("sovctl lab up --directory {folder}", "sovctl plan {site}"),
    "bank-hybrid": _REAL_SITE,
    "closed-perimeter": _REAL_SITE,
    "superpod-b200": _REAL_SITE,
}


@dataclass(frozen=True)
class Written:
    """What `write_preset` left behind.

    Args:
        next_steps: in words or as commands, in order.
    """

    site: Path
    schema: Path
    next_steps: tuple[str, ...]


def names() -> list[str]:
    """Every preset, in the order a newcomer meets them."""
    return list(_NEXT)


def about(name: str) -> str:
    """What a preset shows, from its first lines of comment."""
    lines = (FOLDER / f"{name}.yaml").read_text().splitlines()
    comment = []
    for line in lines[2:]:  # after the schema's line and an empty comment
        if not line.startswith("# "):
            break
        comment.append(line[2:])
    return " ".join(comment)


def write_preset(name: str, folder: Path, *, force: bool = False) -> Written:
    """Write `site.yaml` and the schema beside it.

    Args:
        force: replace a site.yaml that is there.

    Raises:
        InputError: no such preset, a site.yaml that is there, or a folder that cannot be written.
    """
    if name not in _NEXT:
        near = difflib.get_close_matches(name, _NEXT, n=1)
        raise InputError(
            f"expected one of {', '.join(_NEXT)}, got '{name}'",
            where="--preset",
            hint=f"did you mean {near[0]}?" if near else "sovctl init --list says what each shows",
        )
    site, schema = folder / "site.yaml", folder / SCHEMA_FILE
    if site.exists() and not force:
        raise InputError(
            "expected a new file, got one that is there", where=str(site), hint="choose another folder, or --force"
        )
    from .documentation import render_schema

    text = (FOLDER / f"{name}.yaml").read_text()
    try:
        write_atomic(schema, render_schema())
        write_atomic(site, text.replace(_SCHEMA_IN_REPOSITORY, f"$schema={SCHEMA_FILE}", 1))
    except OSError as error:
        reason = (error.strerror or "it cannot be written").lower()
        raise InputError(f"expected a folder to write to, got: {reason}", where=str(folder)) from None
    return Written(site, schema, tuple(step.format(site=site, folder=folder) for step in _NEXT[name]))
