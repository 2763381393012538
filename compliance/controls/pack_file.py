"""Parses the file of a control framework, and of objectives, and returns all problems at once. Pure.

    pack: house-rules                      # the name of the file
    title: Rules of the house
    version: "3"
    kind: framework                        # framework, law or residency
    jurisdiction: international            # ISO 3166-1 alpha-2, EU or international
    source: intranet, page 12
    date: 2026-01-01                       # of the publication
    read: 2026-11-01
    licence: internal
    groups: {H: House}                     # title of each group, by the beginning of the control ids
    objectives:                            # optional, in addition to those of sovctl
      comparable-times:
        statement: Clocks of the nodes are synchronized.
        checks: [clock.synchronized]
        if_present: [ib.ports-active]      # must pass, unless the site declares no such part
        supports: Time stamps of the nodes.
        people: Choosing the time source.
    controls:
      H-1: Keep the rooms closed           # no check is evidence for it
      H-2: {title: Keep the time, objectives: [comparable-times], because: the log needs comparable times}

A file with `of` instead of `groups` selects its `controls`, a list of ids, from the catalogue file that `of` names.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from sovctl.support.errors import Problem

from .model_problems import problem_of, unknown_name
from .pack import Control, ControlMap, Objective, Pack, PackKind

PAGE = "docs/control-packs.md"
Text = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Place = Annotated[str, StringConstraints(pattern=r"^([A-Z]{2}|international)$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{0,60}$")]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ObjectiveText(_Model):
    """One objective of a file."""

    statement: Text
    checks: tuple[Text, ...] = ()
    if_present: tuple[Text, ...] = ()
    supports: Text
    people: Text


class ControlText(_Model):
    """One control of a file."""

    title: Text
    objectives: tuple[Text, ...] = ()
    because: str = ""
    unsure: str = ""


class Header(_Model):
    """The keys that every pack has."""

    pack: Name
    title: Text
    version: Text
    kind: PackKind
    jurisdiction: Place
    source: Text
    date: Day
    read: Day
    licence: Text
    note: str = ""


class PackText(Header):
    """A pack with its own controls."""

    groups: Annotated[dict[str, Text], Field(min_length=1)]
    objectives: dict[Name, ObjectiveText] = {}
    controls: Annotated[dict[Text, ControlText], Field(min_length=1)]


class SelectionText(Header):
    """A pack that selects controls of a catalogue, such as a baseline."""

    of: Text
    controls: Annotated[tuple[Text, ...], Field(min_length=1)]


_BELOW: dict[str, type[BaseModel]] = {"objectives": ObjectiveText, "controls": ControlText}


@dataclass(frozen=True)
class Known:
    """Names that a pack can refer to.

    Args:
        objectives: objectives by name.
        checks: ids of all checks; None: check ids are not validated.
        former_ids: current check id by former id.
    """

    objectives: Mapping[str, Objective]
    checks: Collection[str] | None = None
    former_ids: Mapping[str, str] | None = None


def objectives_of(value: Any, known: Known, *, at: str = "objectives") -> tuple[dict[str, Objective], list[Problem]]:
    """Return the objectives of a file's section by name, and its problems."""
    problems: list[Problem] = []
    found: dict[str, Objective] = {}
    for name, content in (value if isinstance(value, dict) else {}).items():
        where = f"{at}.{name}"
        try:
            text = ObjectiveText.model_validate_json(json.dumps(content))
        except ValidationError as error:
            problems += [_placed(each, where, list(ObjectiveText.model_fields)) for each in _errors(error)]
            continue
        objective = Objective(name=name, **text.model_dump()).with_check_ids(known.former_ids or {})
        problems += _objective_problems(objective, where, known)
        found[name] = objective
    if not isinstance(value, dict):
        problems.append(Problem("expected a mapping of objectives by name", where=at, hint=f"compare with {PAGE}"))
    return found, problems


def pack_of(value: Any, known: Known, *, stem: str) -> tuple[Pack | None, list[Problem]]:
    """Return the pack of a file's content, and its problems; None if it cannot be built.

    Args:
        stem: name of the file without its ending; the pack must have this name.
    """
    if not isinstance(value, dict):
        return None, [Problem("expected a mapping", hint=f"compare with {PAGE}")]
    own, problems = objectives_of(value.get("objectives", {}), known)
    problems += [
        Problem(f"objective {name} is defined by sovctl", where=f"objectives.{name}", hint="use another name")
        for name in own.keys() & known.objectives.keys()
    ]
    text, faults = _validated(PackText, _with_titles(value) | {"objectives": {}}, stem)
    problems += faults
    if text is None:
        return None, problems
    everything = {**own, **known.objectives}
    problems += list(_control_problems(text, everything))
    if problems:
        return None, problems
    used = {name for each in text.controls.values() for name in each.objectives}
    problems += [
        Problem(f"objective {name} is used by no control", where=f"objectives.{name}", hint="remove it, or refer to it")
        for name in own.keys() - used
    ]
    controls = tuple(
        Control(
            id=name,
            title=each.title,
            family=_group(name, text.groups),
            mapping=_map(each, everything),
            unsure=each.unsure,
        )
        for name, each in text.controls.items()
    )
    return _pack(text, controls), problems


def selection_of(value: Any, catalogue: Pack, *, stem: str) -> tuple[Pack | None, list[Problem]]:
    """Return the pack that selects controls of `catalogue`, and its problems."""
    text, problems = _validated(SelectionText, value, stem)
    if text is None:
        return None, problems
    by_id = {control.id: control for control in catalogue.controls}
    problems += [
        unknown_name(f"control of {catalogue.name}", name, by_id, f"controls[{index}]")
        for index, name in enumerate(text.controls)
        if name not in by_id
    ]
    problems += [
        Problem(f"duplicate control {name}", where=f"controls[{index}]", hint="remove one of the two")
        for index, name in enumerate(text.controls)
        if name in text.controls[:index]
    ]
    if problems:
        return None, problems
    return _pack(text, tuple(by_id[name] for name in text.controls)), problems


def _pack(header: Header, controls: tuple[Control, ...]) -> Pack:
    fields = header.model_dump(include=set(Header.model_fields) - {"pack"})
    return Pack(name=header.pack, controls=controls, **fields)


def _validated(model: type[Any], value: Mapping[str, Any], stem: str) -> tuple[Any, list[Problem]]:
    try:
        text = model.model_validate_json(json.dumps(value))
    except ValidationError as error:
        return None, [_placed(each, "", _known_at(model, each["loc"])) for each in _errors(error)]
    if text.pack != stem:
        message = f"expected the name of the file, {stem}, got {text.pack}"
        return text, [Problem(message, where="pack", hint="rename the file, or correct `pack`")]
    return text, []


def _with_titles(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the file's content with each short control `id: title` in its long form."""
    controls = value.get("controls")
    if not isinstance(controls, dict):
        return dict(value)
    long = {name: {"title": each} if isinstance(each, str) else each for name, each in controls.items()}
    return {**value, "controls": long}


def _objective_problems(objective: Objective, where: str, known: Known) -> Iterator[Problem]:
    if not objective.all_checks():
        yield Problem("expected a check in `checks` or `if_present`, got none", where=where, hint="add a check id")
    for key, checks in (("checks", objective.checks), ("if_present", objective.if_present)):
        for index, check in enumerate(checks):
            if known.checks is not None and check not in known.checks:
                yield unknown_name("check", check, known.checks, f"{where}.{key}[{index}]")
    for check in set(objective.checks) & set(objective.if_present):
        yield Problem(f"check {check} is in `checks` and in `if_present`", where=where, hint="remove one of the two")


def _control_problems(text: PackText, objectives: Mapping[str, Objective]) -> Iterator[Problem]:
    for name, control in text.controls.items():
        where = f"controls.{name}"
        if not _group(name, text.groups):
            yield Problem("no group begins this id", where=where, hint=f"add it to groups: {', '.join(text.groups)}")
        for index, objective in enumerate(control.objectives):
            if objective not in objectives:
                yield unknown_name("objective", objective, objectives, f"{where}.objectives[{index}]")
            if objective in control.objectives[:index]:
                hint = "remove one of the two"
                yield Problem(f"duplicate objective {objective}", where=f"{where}.objectives[{index}]", hint=hint)
        if bool(control.objectives) != bool(control.because):
            hint = "state why the objectives are evidence for the control"
            yield Problem("`objectives` and `because` belong together", where=where, hint=hint)


def _map(control: ControlText, objectives: Mapping[str, Objective]) -> ControlMap | None:
    if not control.objectives:
        return None
    return ControlMap(objectives=tuple(objectives[name] for name in control.objectives), because=control.because)


def _group(control: str, groups: Mapping[str, str]) -> str:
    """Return the title of the group with the longest key that begins the id; empty if none does."""
    keys = [key for key in groups if control.startswith(key)]
    return groups[max(keys, key=len)] if keys else ""


def _errors(error: ValidationError) -> list[Any]:
    return list(error.errors(include_url=False))


def _placed(error: Mapping[str, Any], prefix: str, known: Collection[str]) -> Problem:
    found = problem_of(error, known=known, page=PAGE)
    where = ".".join(filter(None, (prefix, found.where)))
    return Problem(found.message, where=where, hint=found.hint or f"compare with {PAGE}")


def _known_at(model: type[BaseModel], loc: tuple[str | int, ...]) -> list[str]:
    """Return the keys that are allowed at the path of an error."""
    below = _BELOW.get(str(loc[0])) if len(loc) > 2 else None
    return list((below or model).model_fields)
