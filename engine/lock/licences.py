"""Licence classes of locked files, and the acceptance of licences by name.

A file whose class needs acceptance is refused until a file names it:

    accepted:
      - {name: nvidia-open, licence: NVIDIA driver licence, by: head of IT, on: 2026-11-20, because: contract 47}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from sovctl.support.errors import Problem, SpecError
from sovctl.support.strict_yaml import read_file

from .part import LockedPackage, Redistributable

_Text = Annotated[str, StringConstraints(min_length=3, max_length=500)]
FREE = "free"
_FREE_COMPONENTS: Mapping[str, frozenset[str]] = {
    "Debian": frozenset({"main"}),  # Debian Social Contract, 1: main follows the DFSG
    "Debian-Security": frozenset({"main"}),
    "Ubuntu": frozenset({"main", "universe"}),  # Ubuntu licensing policy: both follow it
}
_OPEN = re.compile(
    r"\b(0BSD|Apache|BSD|CC0|HPND|ISC|MIT|MPL|Mozilla Public|PSF|Python Software Foundation|Unlicense|Zlib|ZPL|WTFPL|"
    r"BSL-1|Boost|LGPL|GNU Lesser|GPL|GNU General|Artistic|NCSA|CNRI|Unicode|OFL|Public Domain|EPL|MulanPSL)",
    re.IGNORECASE,
)
_CLOSED = re.compile(r"proprietary|nvidia|commercial|EULA", re.IGNORECASE)


class Acceptance(BaseModel):
    """A licence that a person accepted for the site."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: _Text
    """Name of the package."""
    licence: _Text
    by: _Text
    """Role or person."""
    on: date
    because: _Text


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    accepted: tuple[Acceptance, ...]


def read_acceptances(path: Path) -> tuple[Acceptance, ...]:
    """Return the accepted licences of a file, sorted by name.

    Raises:
        InputError: unreadable file.
        SpecError: all problems of the file.
    """
    what = "the accepted licences"
    text = read_file(path, what=what, hint="see docs/lock.md")
    try:
        found = _File.model_validate_json(json.dumps(text.value))
    except ValidationError as error:
        problems = [
            Problem(each["msg"].lower(), where=".".join(map(str, each["loc"])), hint="compare with docs/lock.md")
            for each in error.errors()
        ]
        raise SpecError([text.placed(path, each) for each in [*text.problems, *problems]], what=what) from None
    if text.problems:
        raise SpecError([text.placed(path, each) for each in text.problems], what=what)
    return tuple(sorted(found.accepted, key=lambda each: each.name))


def licence_of_archive(origin: str, component: str, *, is_own: bool) -> tuple[str, Redistributable]:
    """Return the licence class of a package of an archive, and whether it may be handed to third parties.

    Args:
        origin: field `Origin` of the Release file.
    """
    if is_own:
        return "vendor (own file)", "own-file"
    if component in _FREE_COMPONENTS.get(origin, frozenset()):
        return f"{FREE} ({origin} {component})", "yes"
    return f"vendor ({' '.join(filter(None, (origin, component))) or 'unknown origin'})", "no"


def stated_licence(stated: str | None) -> tuple[str, Redistributable]:
    """Return the licence of a wheel or an rpm package, and whether it may be handed to third parties.

    Args:
        stated: in the metadata; None if unknown.
    """
    licence = (stated or "unknown").removeprefix("spdx:")
    is_open = bool(_OPEN.search(licence)) and not _CLOSED.search(licence)
    return licence, "yes" if is_open else "no"


def not_accepted(packages: Iterable[LockedPackage], accepted: Iterable[Acceptance]) -> list[str]:
    """Return a line for each package whose licence needs acceptance and that no person accepted, sorted.

    The subscription of a site covers packages with `own-subscription`.
    """
    names = {each.name for each in accepted}
    found = {
        f"licence of {each.name} not accepted: {each.licence}"
        for each in packages
        if each.redistributable not in ("yes", "own-subscription") and each.name not in names
    }
    return sorted(found)
