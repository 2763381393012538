"""A framework as data: every control it has, and the few that our checks speak to.

`<name>.yaml` lists all controls, so that coverage has an honest denominator; `<name>.map.yaml` beside it says which
checks decide which control, what that is evidence for, and what stays with people.

    pack = load_pack(builtin_pack("nist-800-53-moderate"), known_checks=check_ids)
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sovctl.support.canonical_json import digest
from sovctl.support.errors import InputError
from sovctl.support.package_files import package_folder

Text = Annotated[str, Field(min_length=1)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class ControlMap(_Model):
    """How far our checks speak to one control."""

    objective: Text
    """What is decided, in our words."""
    checks: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Check ids; all of them must pass."""
    supports: Text
    """The part of the control this is evidence for."""
    people: Text
    """What no check decides."""


class Control(_Model):
    """One control of a framework."""

    id: Text
    title: Text
    family: Text
    """Name of its family."""
    mapping: ControlMap | None = None
    """None when no check speaks to it."""

    def with_check_ids(self, names: Mapping[str, str]) -> Control:
        """Return the control with check ids replaced."""
        if self.mapping is None or names.keys().isdisjoint(self.mapping.checks):
            return self
        checks = tuple(dict.fromkeys(names.get(check, check) for check in self.mapping.checks))
        return self.model_copy(update={"mapping": self.mapping.model_copy(update={"checks": checks})})


class Pack(_Model):
    """A framework."""

    name: Text
    title: Text
    source: Text
    licence: Text
    controls: Annotated[tuple[Control, ...], Field(min_length=1)]
    """All of them, in the framework's order."""

    @cached_property
    def sha256(self) -> str:
        """Of everything in it, so that a report says exactly what it was measured against."""
        return digest(self.model_dump(mode="json"))

    def with_check_ids(self, names: Mapping[str, str]) -> Pack:
        """Return the pack with check ids replaced, `names` being the new id by the old one."""
        return Pack(
            name=self.name,
            title=self.title,
            source=self.source,
            licence=self.licence,
            controls=tuple(control.with_check_ids(names) for control in self.controls),
        )

    def checks(self) -> frozenset[str]:
        """Every check id that some control rests on."""
        return frozenset(check for control in self.controls if control.mapping for check in control.mapping.checks)


def builtin_pack(name: str) -> Path:
    """The file of a pack that comes with sovctl.

    Raises:
        InputError: there is none of that name.
    """
    folder = package_folder("compliance/packs")
    known = sorted(path.stem for path in folder.glob("*.yaml") if not path.stem.endswith(".map"))
    if name not in known:
        raise InputError(
            f"expected one of the packs {', '.join(known)}, got {name}",
            where="site.yaml: compliance.packs",
            hint=_nearest(name, known),
        )
    return folder / f"{name}.yaml"


def load_pack(
    path: Path, *, known_checks: Collection[str] | None = None, former_ids: Mapping[str, str] | None = None
) -> Pack:
    """Read a framework and its map.

    Args:
        path: the list of controls; the map is `<stem>.map.yaml` beside it.
        known_checks: ids of the checks that exist; a map that names another is refused, because a control that rests
            on a check nobody runs would look undecided for ever. None where they are not known.
        former_ids: current check id by former id; the pack has current ids.

    Raises:
        InputError: unreadable, of another form, or naming controls or checks that do not exist.
    """
    listed, mapped = _read(path), _read(path.with_name(f"{path.stem}.map.yaml"))
    where = str(path)
    for key, kind in (("pack", str), ("controls", dict), ("families", dict)):
        if not isinstance(listed.get(key), kind):
            raise InputError(f"expected a {kind.__name__} under `{key}`, got something else", where=where)
    if mapped.get("pack") != listed["pack"] or not isinstance(mapped.get("controls"), dict):
        raise InputError(f"expected a map of the pack {listed['pack']}, got another", where=f"{path.stem}.map.yaml")
    if strangers := sorted(mapped["controls"].keys() - listed["controls"].keys()):
        raise InputError(
            f"expected controls of {listed['pack']}, got {', '.join(strangers)}", where=f"{path.stem}.map.yaml"
        )
    try:
        pack = Pack(
            name=listed["pack"],
            title=listed.get("title", ""),
            source=listed.get("source", ""),
            licence=listed.get("licence", ""),
            controls=tuple(
                Control(
                    id=control,
                    title=title,
                    family=listed["families"].get(control.split("-")[0], ""),
                    mapping=mapped["controls"].get(control),
                )
                for control, title in listed["controls"].items()
            ),
        )
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{place}: {first['msg'].lower()}", where=where) from None
    pack = pack.with_check_ids(former_ids or {})
    if known_checks is not None and (unknown := sorted(pack.checks() - set(known_checks))):
        raise InputError(
            f"expected ids of checks that exist, got {', '.join(unknown)}",
            where=f"{path.stem}.map.yaml",
            hint=_nearest(unknown[0], known_checks),
        )
    return pack


def _read(path: Path) -> dict[str, Any]:
    try:
        value = yaml.safe_load(path.read_text())
    except OSError as error:
        raise InputError(f"cannot read the pack: {(error.strerror or '').lower()}", where=str(path)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"expected YAML, got: {str(error).splitlines()[0]}", where=str(path)) from None
    if not isinstance(value, dict):
        raise InputError("expected a mapping, got something else", where=str(path))
    return value


def _nearest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]}?" if near else ""
