"""Known vulnerabilities of model servers: affected releases, and the settings that close each one.

    status_of(load_advisories()["CVE-2026-48746"], "0.21.0")     # Status.AFFECTED
    status_of(load_advisories()["CVE-2026-48746"], "0.32.0+cpu") # Status.FIXED

Releases are compared by their numbers; a local part such as `+cpu` and the mark of a pre-release are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from functools import cache
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .figure import CatalogModel, read_catalog

Version = Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+){1,3}$")]
SettingName = Annotated[str, StringConstraints(pattern=r"^(front|(no )?(flag [a-z0-9-]+|variable [A-Z0-9_]+))$")]
_RELEASE = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})+(?!\.?[0-9])")


class Status(StrEnum):
    """Relation of a release to an advisory."""

    FIXED = "fixed"
    NOT_YET = "not yet"
    """The release is older than the first affected one."""
    AFFECTED = "affected"
    UNKNOWN = "unknown"
    """The release has no numbers."""


class Advisory(CatalogModel):
    """One vulnerability."""

    id: Annotated[str, StringConstraints(pattern=r"^(CVE-[0-9]{4}-[0-9]{4,7}|vllm-[0-9]+)$")]
    package: Literal["vllm", "torch"]
    title: str
    first: Version | None = Field(default=None, alias="from")
    fixed: Version | None
    settings: tuple[SettingName, ...] = ()
    """Settings that close it, all of which are required."""
    measures: tuple[str, ...] = ()
    """Further protection, which is not measured with the advisory."""
    source: str


class _File(CatalogModel):
    read: date
    advisories: tuple[Advisory, ...]


@cache
def _file() -> _File:
    return _File.model_validate(read_catalog("advisories"))


@cache
def load_advisories() -> Mapping[str, Advisory]:
    """Return all advisories by id, in the order of the file."""
    return {each.id: each for each in _file().advisories}


def read_on() -> date:
    """Return the day on which the sources of all advisories were read."""
    return _file().read


def release(version: str) -> tuple[int, ...] | None:
    """Return the numbers of a release, without zeros at the end; None without numbers."""
    match = _RELEASE.match(version)
    if match is None:
        return None
    numbers = [int(part) for part in match[0].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def status_of(advisory: Advisory, version: str) -> Status:
    """Return the relation of a release to an advisory."""
    numbers = release(version)
    if numbers is None:
        return Status.UNKNOWN
    if advisory.first is not None and numbers < (release(advisory.first) or ()):
        return Status.NOT_YET
    if advisory.fixed is not None and numbers >= (release(advisory.fixed) or ()):
        return Status.FIXED
    return Status.AFFECTED
