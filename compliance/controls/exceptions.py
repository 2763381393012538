"""Waivers of failed checks, and attestations of controls without checks.

They are in `compliance.waivers` and `compliance.attestations` of site.yaml, or in a file of this form. Both name
persons and reasons, and expire. A waiver does not cover a check without a result, and an attestation does not cover a
control with checks.

    waivers:
      - id: W-1
        checks: [software.packages-held]
        controls: [cm-6]                    # default: all controls with the checks
        targets: [gpu-1]
        reason: driver rollback under vendor case
        compensating: the plan is compared with the node every night
        requested_by: platform team, A. Example
        approved_by: security office, B. Example
        approved: 2026-11-01
        expires: 2026-12-01
        signatures: []                      # of `sovctl waiver sign`; required if the site lists keys of approvers
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

from ..waiver_signatures import signature_problem
from .model_problems import problem_of, unknown_name
from .pack import Control, Pack

WHAT = "the waivers"
_PAGE = "docs/commands/report.md"
MAX_DAYS = 365  # chosen: a long acceptance is indistinguishable from neglect (sbomify/sbomify issue 1296)

Text = Annotated[str, Field(min_length=3)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class _Terms(_Model):
    """Fields of a waiver next to its controls and checks."""

    id: Text
    pack: Annotated[str, Field(min_length=1)] | None = None
    """Framework of the controls; required if loaded frameworks have different controls with one id."""
    targets: Annotated[tuple[str, ...], Field(min_length=1)]
    """Targets of the checks, such as nodes."""
    reason: Text
    compensating: Text
    """Compensating measure."""
    requested_by: Text
    approved_by: Text
    """Must differ from `requested_by`."""
    approved: date
    expires: date
    """Last day of effect (UTC), at most 365 days after `approved`."""
    signatures: tuple[str, ...] = ()
    """Of the request and of the approval; see `waiver_signatures`."""

    @model_validator(mode="after")
    def _second_person_and_near_end(self) -> Self:
        if is_same_person(self.requested_by, self.approved_by):
            raise ValueError("requested_by and approved_by are the same person")
        _require_near_end(self.approved, self.expires)
        return self

    def counts_on(self, day: date) -> bool:
        """Return True from `approved` to `expires`, both included."""
        return self.approved <= day <= self.expires


class WaiverText(_Terms):
    """A waiver as a person writes it: several controls and checks. `control` and `check` are short forms of one."""

    controls: tuple[Text, ...] = ()
    """Empty: all controls with the checks."""
    checks: Annotated[tuple[Text, ...], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _of_one(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        long = {f"{key}s": [value[key]] for key in ("control", "check") if key in value and f"{key}s" not in value}
        return {key: each for key, each in value.items() if f"{key}s" not in long} | long

    def signed_text(self) -> dict[str, Any]:
        """Return the content of signatures: every field with a value, except `signatures`."""
        return self.model_dump(mode="json", exclude={"signatures"}, exclude_defaults=True)


class Waiver(_Terms):
    """Time-limited acceptance of one failed check of one control on named targets, approved by a second person."""

    control: Text
    check: Text
    signed_text: dict[str, Any] | None = None
    """Fields as written; None without signatures."""


class WaiverPolicy(_Model):
    """Persons that approve waivers of a site by signature."""

    site: str
    approvers: tuple[str, ...]
    """C2SP vkey texts; empty: signatures are not required."""


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


class _Text(_Model):
    """Content of a file of waivers and attestations."""

    waivers: tuple[WaiverText, ...] = ()
    attestations: tuple[Attestation, ...] = ()


class Exceptions(_Model):
    """Waivers, each of one control and one check, and attestations."""

    waivers: tuple[Waiver, ...] = ()
    attestations: tuple[Attestation, ...] = ()
    texts: tuple[WaiverText, ...] = ()
    """The waivers as written, in their order."""
    policy: WaiverPolicy | None = None

    def problem_of(self, waiver: Waiver) -> str:
        """Return why the signatures of a waiver do not suffice; empty if they do."""
        policy = self.policy.model_dump(mode="json") if self.policy else None
        return signature_problem(waiver.model_dump(mode="json"), policy)

    def unsigned(self) -> dict[str, str]:
        """Return why waivers do not count, by id, without those whose signatures suffice."""
        return {each.id: problem for each in self.waivers if (problem := self.problem_of(each))}

    def of_pack(self, pack: str) -> Exceptions:
        """Return the exceptions that apply to the controls of a framework."""
        return Exceptions(
            waivers=tuple(each for each in self.waivers if each.pack in (None, pack)),
            attestations=tuple(each for each in self.attestations if each.pack in (None, pack)),
            policy=self.policy,
        )

    def with_check_ids(self, names: Mapping[str, str]) -> Exceptions:
        """Return the exceptions with check ids of waivers replaced, `names` being the new id by the old one."""
        waivers = [each.model_copy(update={"check": names.get(each.check, each.check)}) for each in self.waivers]
        return Exceptions(waivers=tuple(waivers), attestations=self.attestations, policy=self.policy)

    def with_more(self, other: Exceptions, *, where: str) -> Exceptions:
        """Return the exceptions of two sources together.

        Args:
            where: the second source, for the message.

        Raises:
            SpecError: a waiver id of both.
        """
        known = {each.id for each in self.texts}
        if twice := [each.id for each in other.texts if each.id in known]:
            hint = "remove one of the two"
            raise SpecError([Problem(f"duplicate id {each}", where=where, hint=hint) for each in twice], what=WHAT)
        return Exceptions(
            waivers=(*self.waivers, *other.waivers),
            attestations=(*self.attestations, *other.attestations),
            texts=(*self.texts, *other.texts),
            policy=self.policy,
        )


def exceptions_of_site(
    value: Mapping[str, Any], *, site_file: Path, packs: Sequence[Pack], former_ids: Mapping[str, str]
) -> Exceptions:
    """Return the exceptions of site.yaml.

    Args:
        value: `waivers` and `attestations` of its section `compliance`.

    Raises:
        SpecError: all problems.
    """
    found, problems = exceptions_of(value, packs, former_ids)
    if problems:
        placed = [Problem(p.message, where=f"{site_file}: compliance.{p.where}", hint=p.hint) for p in problems]
        raise SpecError(placed, what=WHAT)
    return found


def load_exceptions(path: Path, *, packs: Sequence[Pack], former_ids: Mapping[str, str] | None = None) -> Exceptions:
    """Read waivers and attestations.

    Args:
        packs: frameworks whose controls and checks may be named.
        former_ids: current check id by former id; waivers have current ids.

    Raises:
        InputError: unreadable file.
        SpecError: all problems of the file.
    """
    text = read_file(path, what=WHAT)
    found, problems = exceptions_of({} if text.value is None else text.value, packs, former_ids or {})
    problems = sorted([*text.problems, *problems], key=lambda problem: text.line(problem.where))
    if problems:
        raise SpecError([text.placed(path, each) for each in problems], what=WHAT)
    return found


def exceptions_of(value: Any, packs: Sequence[Pack], former_ids: Mapping[str, str]) -> tuple[Exceptions, list[Problem]]:
    """Parse the content of a file, and return its problems. Pure."""
    try:
        text = _Text.model_validate_json(json.dumps(value))
    except ValidationError as error:
        errors = error.errors(include_url=False)
        return Exceptions(), [problem_of(each, known=_known_at(each["loc"]), page=_PAGE) for each in errors]
    waivers: list[Waiver] = []
    problems: list[Problem] = []
    for index, each in enumerate(text.waivers):
        where = f"waivers[{index}]"
        if each.id in [other.id for other in text.waivers[:index]]:
            problems.append(Problem(f"duplicate id {each.id}", where=f"{where}.id"))
        found, faults = _resolved(each, packs, former_ids, where)
        waivers += found
        problems += faults
    problems += _attestation_problems(text.attestations, packs)
    return Exceptions(waivers=tuple(waivers), attestations=text.attestations, texts=text.waivers), problems


def _known_at(loc: Sequence[str | int]) -> list[str]:
    if len(loc) == 1:
        return list(_Text.model_fields)
    return list(WaiverText.model_fields if loc[0] == "waivers" else Attestation.model_fields)


def _resolved(
    text: WaiverText, packs: Sequence[Pack], former_ids: Mapping[str, str], where: str
) -> tuple[list[Waiver], list[Problem]]:
    """Return one waiver for each control and check that the text covers, and its problems: names without effect."""
    checks = list(dict.fromkeys(former_ids.get(check, check) for check in text.checks))
    terms = {name: getattr(text, name) for name in _Terms.model_fields}
    terms["signed_text"] = text.signed_text() if text.signatures else None
    if not text.controls:
        found = [
            Waiver(**terms | {"pack": pack.name}, control=control.id, check=check)
            for pack in packs
            if text.pack in (None, pack.name)
            for control in pack.controls
            for check in checks
            if check in _checks(control)
        ]
        known = sorted({check for pack in packs for check in pack.checks()})
        used = {waiver.check for waiver in found}
        return found, [
            unknown_name("check of a control", check, known, f"{where}.checks[{index}]")
            for index, check in enumerate(checks)
            if check not in used
        ]
    found, problems = [], []
    covered: set[str] = set()
    for index, name in enumerate(text.controls):
        controls, faults = _controls(text.pack, name, packs, f"{where}.controls[{index}]")
        problems += faults
        own = {check for control in controls for check in _checks(control)}
        found += [Waiver(**terms, control=name, check=check) for check in checks if check in own]
        covered |= own
        if controls and not own & set(checks):
            near = checks[0] if checks else ""
            problems.append(unknown_name(f"check of {name}", near, own, f"{where}.checks"))
    problems += [
        unknown_name(f"check of {', '.join(text.controls)}", check, covered, f"{where}.checks[{index}]")
        for index, check in enumerate(checks)
        if check not in covered and covered & set(checks)
    ]
    return found, problems


def _attestation_problems(attestations: Sequence[Attestation], packs: Sequence[Pack]) -> Iterator[Problem]:
    for index, each in enumerate(attestations):
        where = f"attestations[{index}]"
        controls, problems = _controls(each.pack, each.control, packs, f"{where}.control")
        yield from problems
        if controls and all(_checks(control) for control in controls):
            hint = "write a waiver instead"
            message = f"control {each.control} has checks and cannot be attested"
            yield Problem(message, where=f"{where}.control", hint=hint)


def _controls(pack: str | None, name: str, packs: Sequence[Pack], where: str) -> tuple[list[Control], list[Problem]]:
    """Return the controls that an exception names, and the problems of the name.

    Two baselines contain the same control. Two frameworks can have different controls with one id, such as A.5.2.
    """
    chosen = [each for each in packs if pack in (None, each.name)]
    if not chosen:
        return [], [unknown_name("pack", str(pack), [each.name for each in packs], where)]
    by_pack = {each.name: control for each in chosen for control in each.controls if control.id == name}
    if not by_pack:
        known = [control.id for each in chosen for control in each.controls]
        return [], [unknown_name("control", name, known, where)]
    if len({control.title for control in by_pack.values()}) > 1:
        message = f"control {name} is in several packs: {', '.join(by_pack)}"
        return [], [Problem(message, where=where, hint=f"add `pack: {next(iter(by_pack))}`")]
    return list(by_pack.values()), []


def _checks(control: Control) -> tuple[str, ...]:
    return control.mapping.checks if control.mapping else ()


def is_same_person(one: str, other: str) -> bool:
    """Return whether two names are equal apart from case and spaces."""
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()


def _require_near_end(begin: date, end: date) -> None:
    days = (end - begin).days
    if not 0 <= days <= MAX_DAYS:
        raise ValueError(f"expected expiry 0 to {MAX_DAYS} days after the start, got {days}")
