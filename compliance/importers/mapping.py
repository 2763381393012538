"""Explicit mapping of rules of another tool to controls of frameworks: a YAML file of the site.

    mapping: openscap-debian
    tool: openscap                           # must equal the tool of the imported file
    reviewed_by: security office
    reviewed: 2026-11-20
    controls:
      xccdf_org.ssgproject.content_rule_sshd_disable_root_login: {nist-800-53-moderate: [ac-6.2, ac-17]}

A rule without an entry is mapped to no control. Mapped results are information for a control; they never decide its
state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from sovctl.support.atomic_files import read_error_reason
from sovctl.support.bounded_files import read_bounded
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.strict_yaml import MAX_BYTES, YamlSyntaxError, read_text

from ..controls.model_problems import problem_of, unknown_name
from ..controls.pack import Pack

_WHAT = "the mapping"
_PAGE = "docs/commands/evidence.md"
_Text = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class MappingText(BaseModel):
    """Content of a mapping file."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    mapping: _Text
    tool: _Text
    reviewed_by: Annotated[str, StringConstraints(min_length=3, max_length=100)]
    reviewed: date
    controls: Annotated[
        dict[_Text, dict[_Text, Annotated[tuple[_Text, ...], Field(min_length=1)]]], Field(min_length=1)
    ]
    """Controls by framework, by rule."""


@dataclass(frozen=True)
class RuleMapping:
    """A mapping and the digest of its file."""

    text: MappingText
    sha256: str

    def controls_of(self, rule: str) -> dict[str, list[str]]:
        """Return the controls of a rule by framework; empty without an entry."""
        return {pack: list(controls) for pack, controls in self.text.controls.get(rule, {}).items()}


def load_mapping(path: Path, *, packs: Sequence[Pack], today: date) -> RuleMapping:
    """Read a mapping.

    Args:
        packs: frameworks whose controls can be named.

    Raises:
        InputError: unreadable file.
        SpecError: all problems of the file.
    """
    try:
        data = read_bounded(path, MAX_BYTES)
        text = read_text(data)
    except OSError as error:
        raise InputError(f"unreadable: {read_error_reason(error)}", where=str(path)) from None
    except YamlSyntaxError as error:
        raise SpecError([error.placed(path)], what=_WHAT) from None
    found, problems = mapping_of(text.value, packs, today)
    problems = sorted([*text.problems, *problems], key=lambda problem: text.line(problem.where))
    if found is None or problems:
        raise SpecError([text.placed(path, each) for each in problems], what=_WHAT)
    return RuleMapping(found, sha256_hex(data))


def mapping_of(value: Any, packs: Sequence[Pack], today: date) -> tuple[MappingText | None, list[Problem]]:
    """Parse the content of a file, and return its problems. Pure."""
    try:
        found = MappingText.model_validate_json(json.dumps(value))
    except ValidationError as error:
        known = list(MappingText.model_fields)
        return None, [problem_of(each, known=known, page=_PAGE) for each in error.errors(include_url=False)]
    by_name: Mapping[str, Pack] = {pack.name: pack for pack in packs}
    problems = []
    for rule, by_pack in found.controls.items():
        for pack, controls in by_pack.items():
            where = f"controls.{rule}.{pack}"
            if pack not in by_name:
                problems.append(unknown_name("framework", pack, by_name, where))
                continue
            ids = [control.id for control in by_name[pack].controls]
            problems += [unknown_name(f"control of {pack}", each, ids, where) for each in controls if each not in ids]
    if found.reviewed > today:
        message = f"expected a day until today, {today}, got {found.reviewed}"
        problems.append(Problem(message, where="reviewed", hint="correct the date"))
    return found, problems
