"""Waivers of failed checks, and attestations of controls without checks.

Both name persons and reasons, and expire. A waiver does not cover a check without a result, and an attestation does not
cover a control with checks.

    waivers:
      - id: W-1
        control: cm-6
        check: software.packages-held       # a check of the control
        targets: [gpu-1]
        reason: driver rollback under vendor case
        compensating: the plan is compared with the node every night
        requested_by: platform team, A. Example
        approved_by: security office, B. Example
        approved: 2026-11-01
        expires: 2026-12-01
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sovctl.support.errors import Problem, SpecError
from sovctl.support.strict_yaml import read_file

from .model_problems import problem_of, unknown_name
from .pack import Control, Pack

_WHAT = "the waivers"
_PAGE = "docs/commands/report.md"
MAX_DAYS = 365  # chosen: a long acceptance is indistinguishable from neglect (sbomify/sbomify issue 1296)

Text = Annotated[str, Field(min_length=3)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Waiver(_Model):
    """Time-limited acceptance of a failed check on named targets, approved by a second person."""

    id: Text
    control: Text
    pack: Annotated[str, Field(min_length=1)] | None = None
    """Framework of the control; required if loaded frameworks have different controls with this id."""
    check: Text
    targets: Annotated[tuple[str, ...], Field(min_length=1)]
    reason: Text
    compensating: Text
    """Compensating measure."""
    requested_by: Text
    approved_by: Text
    """Must differ from `requested_by`."""
    approved: date
    expires: date
    """Last day of effect (UTC), at most 365 days after `approved`."""

    @model_validator(mode="after")
    def _second_person_and_near_end(self) -> Self:
        if self.requested_by.strip().casefold() == self.approved_by.strip().casefold():
            raise ValueError("requested_by and approved_by are the same person")
        _require_near_end(self.approved, self.expires)
        return self

    def counts_on(self, day: date) -> bool:
        """Return True from `approved` to `expires`, both included."""
        return self.approved <= day <= self.expires


class Attestation(_Model):
    """Time-limited statement of a person about a control without checks."""

    control: Text
    pack: Annotated[str, Field(min_length=1)] | None = None
    """Framework of the control; required if loaded frameworks have different controls with this id."""
    statement: Text
    by: Text
    attested: date
    expires: date
    """Last day of effect (UTC), at most 365 days after `attested`."""

    @model_validator(mode="after")
    def _near_end(self) -> Self:
        _require_near_end(self.attested, self.expires)
        return self

    def counts_on(self, day: date) -> bool:
        """Return True from `attested` to `expires`, both included."""
        return self.attested <= day <= self.expires


class Exceptions(_Model):
    """Content of a file of waivers and attestations."""

    waivers: tuple[Waiver, ...] = ()
    attestations: tuple[Attestation, ...] = ()

    def of_pack(self, pack: str) -> Exceptions:
        """Return the exceptions that apply to the controls of a framework."""
        return Exceptions(
            waivers=tuple(each for each in self.waivers if each.pack in (None, pack)),
            attestations=tuple(each for each in self.attestations if each.pack in (None, pack)),
        )

    def with_check_ids(self, names: Mapping[str, str]) -> Exceptions:
        """Return the exceptions with check ids of waivers replaced, `names` being the new id by the old one."""
        waivers = [each.model_copy(update={"check": names.get(each.check, each.check)}) for each in self.waivers]
        return Exceptions(waivers=tuple(waivers), attestations=self.attestations)


def load_exceptions(path: Path, *, packs: Sequence[Pack], former_ids: Mapping[str, str] | None = None) -> Exceptions:
    """Read waivers and attestations.

    Args:
        packs: frameworks whose controls and checks may be named.
        former_ids: current check id by former id; waivers have current ids.

    Raises:
        InputError: unreadable file.
        SpecError: all problems of the file.
    """
    text = read_file(path, what=_WHAT)
    found, problems = exceptions_of({} if text.value is None else text.value, packs, former_ids or {})
    problems = sorted([*text.problems, *problems], key=lambda problem: text.line(problem.where))
    if problems:
        raise SpecError([text.placed(path, each) for each in problems], what=_WHAT)
    return found


def exceptions_of(value: Any, packs: Sequence[Pack], former_ids: Mapping[str, str]) -> tuple[Exceptions, list[Problem]]:
    """Parse the content of a file, and return its problems. Pure."""
    try:
        found = Exceptions.model_validate_json(json.dumps(value)).with_check_ids(former_ids)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        return Exceptions(), [problem_of(each, known=_known_at(each["loc"]), page=_PAGE) for each in errors]
    return found, [*_waiver_problems(found.waivers, packs), *_attestation_problems(found.attestations, packs)]


def _known_at(loc: Sequence[str | int]) -> list[str]:
    if len(loc) == 1:
        return list(Exceptions.model_fields)
    return list(Waiver.model_fields if loc[0] == "waivers" else Attestation.model_fields)


def _waiver_problems(waivers: Sequence[Waiver], packs: Sequence[Pack]) -> Iterator[Problem]:
    """Yield waivers without effect: unknown controls or checks, and duplicate ids."""
    for index, waiver in enumerate(waivers):
        where = f"waivers[{index}]"
        if waiver.id in [each.id for each in waivers[:index]]:
            yield Problem(f"duplicate id {waiver.id}", where=f"{where}.id")
        controls, problems = _controls(waiver, packs, where)
        yield from problems
        checks = [each for control in controls for each in _checks(control)]
        if controls and waiver.check not in checks:
            yield unknown_name(f"check of {waiver.control}", waiver.check, checks, f"{where}.check")


def _attestation_problems(attestations: Sequence[Attestation], packs: Sequence[Pack]) -> Iterator[Problem]:
    for index, each in enumerate(attestations):
        where = f"attestations[{index}]"
        controls, problems = _controls(each, packs, where)
        yield from problems
        if controls and all(_checks(control) for control in controls):
            hint = "write a waiver instead"
            message = f"control {each.control} has checks and cannot be attested"
            yield Problem(message, where=f"{where}.control", hint=hint)


def _controls(each: Waiver | Attestation, packs: Sequence[Pack], where: str) -> tuple[list[Control], list[Problem]]:
    """Return the controls that an exception names, and the problems of the name.

    Two baselines contain the same control. Two frameworks can have different controls with one id, such as A.5.2.
    """
    chosen = [pack for pack in packs if each.pack in (None, pack.name)]
    if not chosen:
        return [], [unknown_name("pack", str(each.pack), [pack.name for pack in packs], f"{where}.pack")]
    by_pack = {pack.name: control for pack in chosen for control in pack.controls if control.id == each.control}
    if not by_pack:
        known = [control.id for pack in chosen for control in pack.controls]
        return [], [unknown_name("control", each.control, known, f"{where}.control")]
    if len({control.title for control in by_pack.values()}) > 1:
        message = f"control {each.control} is in several packs: {', '.join(by_pack)}"
        return [], [Problem(message, where=f"{where}.control", hint=f"add `pack: {next(iter(by_pack))}`")]
    return list(by_pack.values()), []


def _checks(control: Control) -> tuple[str, ...]:
    return control.mapping.checks if control.mapping else ()


def _require_near_end(begin: date, end: date) -> None:
    days = (end - begin).days
    if not 0 <= days <= MAX_DAYS:
        raise ValueError(f"expected expiry 0 to {MAX_DAYS} days after the start, got {days}")
