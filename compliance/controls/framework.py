"""Control frameworks as data: all controls, and the checks of those that sovctl can assess.

`<name>.yaml` lists all controls, because coverage is reported relative to the whole framework. `<name>.map.yaml` maps
controls to checks, and states which part of a control they support and which part requires people.

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
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ControlMap(_Model):
    """The checks of one control, and what they prove."""

    objective: Text
    """The assessed objective."""
    checks: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Check ids; all must pass."""
    supports: Text
    """The part of the control that the checks support."""
    people: Text
    """The part that requires people."""


class Control(_Model):
    """One control of a framework."""

    id: Text
    title: Text
    family: Text
    """Name of its family."""
    mapping: ControlMap | None = None
    """None if the control has no checks."""

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
    """All controls, in the order of the framework."""

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the whole framework, which a report records."""
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
        """Return the ids of all mapped checks."""
        return frozenset(check for control in self.controls if control.mapping for check in control.mapping.checks)


def builtin_pack(name: str) -> Path:
    """Return the file of a framework that is part of sovctl.

    Raises:
        InputError: unknown name.
    """
    folder = package_folder("compliance/packs")
    known = sorted(path.stem for path in folder.glob("*.yaml") if not path.stem.endswith(".map"))
    if name not in known:
        raise InputError(
            f"unknown pack {name}, expected one of {', '.join(known)}",
            where="site.yaml: compliance.packs",
            hint=_nearest(name, known),
        )
    return folder / f"{name}.yaml"


def load_pack(
    path: Path, *, known_checks: Collection[str] | None = None, former_ids: Mapping[str, str] | None = None
) -> Pack:
    """Read a framework and its map.

    Args:
        path: the list of controls; the map is `<stem>.map.yaml` in the same folder.
        known_checks: ids of all checks. A map with another id is rejected, because its control could never be assessed.
            None: no validation.
        former_ids: current check id by former id; the pack has current ids.

    Raises:
        InputError: unreadable or invalid file, or unknown controls or checks.
    """
    listed, mapped = _read(path), _read(path.with_name(f"{path.stem}.map.yaml"))
    where = str(path)
    for key, kind in (("pack", str), ("controls", dict), ("families", dict)):
        if not isinstance(listed.get(key), kind):
            raise InputError(f"expected a {kind.__name__} under `{key}`", where=where)
    if mapped.get("pack") != listed["pack"] or not isinstance(mapped.get("controls"), dict):
        raise InputError(f"not a map of the pack {listed['pack']}", where=f"{path.stem}.map.yaml")
    if unknown_controls := sorted(mapped["controls"].keys() - listed["controls"].keys()):
        raise InputError(
            f"unknown controls of {listed['pack']}: {', '.join(unknown_controls)}", where=f"{path.stem}.map.yaml"
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
            f"unknown checks: {', '.join(unknown)}",
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
        raise InputError("expected a mapping", where=str(path))
    return value


def _nearest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]}?" if near else ""
