"""Importer of vulnerabilities from grype (`grype -o json`). Every match is a failed result. Pure.

Source: anchore/grype, grype/presenter/models (document, descriptor, match), version 0.9x.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sovctl.support.errors import InputError

from .foreign import ForeignFile, ForeignResult, Outcome
from .json_file import items, parse_json, text

_UNDATED = "vulnerability database of unknown date"


def parse_grype(data: bytes) -> ForeignFile:
    """Return the matches of a grype report; none is a result too.

    Raises:
        InputError: another format, or the report of another tool.
    """
    value = parse_json(data)
    name = text(value, "descriptor", "name")
    if name != "grype":
        raise InputError(f"expected a report of grype, got one of {name[:40]}")
    matches = list(items(value, "matches"))
    return ForeignFile(
        format="grype",
        tool=name,
        version=text(value, "descriptor", "version"),
        results=tuple(map(_result, matches)),
        content=_database(value),
        started=text(value, "descriptor", "timestamp", default=""),
    )


def _database(value: Mapping[str, Any]) -> str:
    """Return the date of the vulnerability database; its path differs between releases."""
    for path in (("descriptor", "db", "status", "built"), ("descriptor", "db", "built")):
        if built := text(value, *path, default=""):
            return f"vulnerability database of {built}"
    return _UNDATED


def _result(match: Mapping[str, Any]) -> ForeignResult:
    name, version = text(match, "artifact", "name"), text(match, "artifact", "version", default="")
    fix = text(match, "vulnerability", "fix", "state", default="unknown")
    return ForeignResult(
        rule=text(match, "vulnerability", "id"),
        outcome=Outcome.FAIL,
        title=f"{name} {version}, fix: {fix}",
        severity=text(match, "vulnerability", "severity", default="unknown").lower(),
        target=text(match, "artifact", "purl", default="") or f"{name} {version}",
    )
