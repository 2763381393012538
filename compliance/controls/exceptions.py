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

import difflib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sovctl.support.errors import Problem, SpecError
from sovctl.support.strict_yaml import read_file

from .framework import Control, Pack

_WHAT = "the waivers"
MAX_DAYS = 365  # chosen: a long acceptance is indistinguishable from neglect (sbomify/sbomify issue 1296)

Text = Annotated[str, Field(min_length=3)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Waiver(_Model):
    """Time-limited acceptance of a failed check on named targets, approved by a second person."""

    id: Text
    control: Text
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
        return Exceptions(), [_problem(each) for each in error.errors(include_url=False)]
    controls: dict[str, list[Control]] = {}
    for control in (each for pack in packs for each in pack.controls):
        controls.setdefault(control.id, []).append(control)
    return found, [*_waiver_problems(found.waivers, controls), *_attestation_problems(found.attestations, controls)]


def _problem(found: Mapping[str, Any]) -> Problem:
    """Return a problem for one error of pydantic."""
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in found["loc"]).lstrip(".")
    if found["type"] == "missing":
        return Problem("missing key", where=where, hint="compare with docs/commands/report.md")
    if found["type"] == "extra_forbidden":
        known = _known_at(found["loc"])
        near = difflib.get_close_matches(str(found["loc"][-1]), known, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"remove it; known here: {', '.join(known)}"
        return Problem(f"unknown key `{found['loc'][-1]}`", where=where, hint=hint)
    if found["type"] == "value_error":  # of several fields together
        return Problem(found["msg"].removeprefix("Value error, "), where=where)
    said = found["msg"].removeprefix("Input should be ").removeprefix("Input should have ")
    return Problem(f"expected {said[:1].lower()}{said[1:]}, got {found['input']!r:.60}", where=where)


def _known_at(loc: Sequence[str | int]) -> list[str]:
    if len(loc) == 1:
        return list(Exceptions.model_fields)
    return list(Waiver.model_fields if loc[0] == "waivers" else Attestation.model_fields)


def _waiver_problems(waivers: Sequence[Waiver], controls: Mapping[str, Sequence[Control]]) -> Iterator[Problem]:
    """Yield waivers without effect: unknown controls or checks, and duplicate ids."""
    for index, waiver in enumerate(waivers):
        where = f"waivers[{index}]"
        if waiver.id in [each.id for each in waivers[:index]]:
            yield Problem(f"duplicate id {waiver.id}", where=f"{where}.id")
        if waiver.control not in controls:
            yield _unknown("control", waiver.control, controls, f"{where}.control")
            continue
        checks = [each for control in controls[waiver.control] for each in _checks(control)]
        if waiver.check not in checks:
            yield _unknown(f"check of {waiver.control}", waiver.check, checks, f"{where}.check")


def _attestation_problems(
    attestations: Sequence[Attestation], controls: Mapping[str, Sequence[Control]]
) -> Iterator[Problem]:
    for index, each in enumerate(attestations):
        where = f"attestations[{index}].control"
        if each.control not in controls:
            yield _unknown("control", each.control, controls, where)
        elif all(_checks(control) for control in controls[each.control]):
            hint = "write a waiver instead"
            yield Problem(f"control {each.control} has checks and cannot be attested", where=where, hint=hint)


def _unknown(kind: str, name: str, known: Collection[str], where: str) -> Problem:
    near = difflib.get_close_matches(name, list(known), n=1)
    few = ", ".join(sorted(known)[:6]) or "none"
    return Problem(
        f"unknown {kind}: {name}", where=where, hint=f"did you mean {near[0]}?" if near else f"such as {few}"
    )


def _checks(control: Control) -> tuple[str, ...]:
    return control.mapping.checks if control.mapping else ()


def _require_near_end(begin: date, end: date) -> None:
    days = (end - begin).days
    if not 0 <= days <= MAX_DAYS:
        raise ValueError(f"expected expiry 0 to {MAX_DAYS} days after the start, got {days}")
