"""A control framework: its controls, and the objectives whose checks are evidence for a part of them. Pure.

An objective is defined once. Controls of all packs refer to it by name, so that a check that is added to an objective
reaches every pack.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sovctl.support.canonical_json import digest

Text = Annotated[str, Field(min_length=1)]


class PackKind(StrEnum):
    """Origin of a pack."""

    FRAMEWORK = "framework"
    """Standard or catalogue of controls."""
    LAW = "law"
    """Law or regulation; its controls are articles."""
    RESIDENCY = "residency"
    """Rules of one jurisdiction about the place of data."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Objective(_Model):
    """An assertion about a site, its checks, and the limits of their evidence."""

    name: Text
    """Such as `no-way-out`."""
    statement: Text
    """The asserted property, in one sentence."""
    checks: tuple[Text, ...] = ()
    """Check ids. Each needs evidence, and must pass."""
    if_present: tuple[Text, ...] = ()
    """Check ids of parts that a site can lack, such as InfiniBand. Each must pass, unless the site declares no such
    part."""
    absent: tuple[Text, ...] = ()
    """Check ids of `if_present` whose part the site does not declare, by the evidence of the run."""
    supports: Text
    """The part of a control that the checks support."""
    people: Text
    """The part that requires people."""

    def all_checks(self) -> tuple[str, ...]:
        """Return the ids of all checks that need evidence."""
        return (*self.checks, *self.if_present)

    def with_check_ids(self, names: Mapping[str, str]) -> Objective:
        """Return the objective with check ids replaced."""
        changed = {
            field: _renamed(value, names)
            for field, value in (("checks", self.checks), ("if_present", self.if_present), ("absent", self.absent))
        }
        return self.model_copy(update=changed)

    def without_absent(self, absent: Collection[str]) -> Objective:
        """Return the objective for a site that declares no target of the checks `absent`."""
        missing = tuple(check for check in self.if_present if check in absent)
        kept = tuple(check for check in self.if_present if check not in absent)
        return self.model_copy(update={"if_present": kept, "absent": (*self.absent, *missing)})


class ControlMap(_Model):
    """The objectives of one control."""

    objectives: Annotated[tuple[Objective, ...], Field(min_length=1)]
    because: Text
    """Reason why these objectives are evidence for the control."""
    checks: tuple[Text, ...] = ()
    """Check ids of all objectives, without duplicates; all must pass."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        checks = dict.fromkeys(check for each in self.objectives for check in each.all_checks())
        object.__setattr__(self, "checks", tuple(checks))
        return self

    def with_check_ids(self, names: Mapping[str, str]) -> ControlMap:
        """Return the map with check ids replaced."""
        return ControlMap(objectives=tuple(o.with_check_ids(names) for o in self.objectives), because=self.because)

    def without_absent(self, absent: Collection[str]) -> ControlMap:
        """Return the map for a site that declares no target of the checks `absent`."""
        return ControlMap(objectives=tuple(o.without_absent(absent) for o in self.objectives), because=self.because)


class Control(_Model):
    """One control of a framework."""

    id: Text
    """As in the source, such as `ac-2.1`, `A.8.15` or `art-32.1.a`."""
    title: Text
    family: Text
    """Title of its group."""
    mapping: ControlMap | None = None
    """None if no check is evidence for the control."""
    unsure: str = ""
    """Part of the entry that was not verified against the primary source; empty if none."""


class Pack(_Model):
    """A framework."""

    name: Text
    title: Text
    source: Text
    """Publication, with the place where the list of controls was read."""
    licence: Text
    """Licence of ids and titles."""
    controls: Annotated[tuple[Control, ...], Field(min_length=1)]
    """All controls, in the order of the framework."""
    version: str = ""
    """Version or number of the publication."""
    kind: PackKind = PackKind.FRAMEWORK
    jurisdiction: str = ""
    """ISO 3166-1 alpha-2, `EU` or `international`."""
    date: str = ""
    """Date of the publication, YYYY-MM-DD."""
    read: str = ""
    """Date on which the list was read, YYYY-MM-DD."""
    note: str = ""
    """Limits of the pack."""

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the controls and their maps as a report states them."""
        shown = self.model_dump(mode="json", include={"name", "title", "source", "licence"})
        fields = {"id", "title", "family", "mapping"}
        return digest(shown | {"controls": [each.model_dump(mode="json", include=fields) for each in self.controls]})

    def with_check_ids(self, names: Mapping[str, str]) -> Pack:
        """Return the pack with check ids replaced, `names` being the new id by the old one."""
        return self._with_maps({c.id: c.mapping.with_check_ids(names) for c in self.controls if c.mapping})

    def without_absent(self, absent: Collection[str]) -> Pack:
        """Return the pack for a site that declares no target of the checks `absent`."""
        return self._with_maps({c.id: c.mapping.without_absent(absent) for c in self.controls if c.mapping})

    def _with_maps(self, maps: Mapping[str, ControlMap]) -> Pack:
        controls = tuple(
            each.model_copy(update={"mapping": maps[each.id]}) if each.id in maps else each for each in self.controls
        )
        return Pack(**{name: getattr(self, name) for name in Pack.model_fields} | {"controls": controls})

    def checks(self) -> frozenset[str]:
        """Return the ids of all mapped checks."""
        return frozenset(check for control in self.controls if control.mapping for check in control.mapping.checks)

    def objectives(self) -> tuple[Objective, ...]:
        """Return the objectives in the order of their first control."""
        found = {o.name: o for control in self.controls if control.mapping for o in control.mapping.objectives}
        return tuple(found.values())

    def decided(self) -> int:
        """Return the number of controls with checks."""
        return sum(control.mapping is not None for control in self.controls)


def _renamed(checks: tuple[str, ...], names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names.get(check, check) for check in checks))
