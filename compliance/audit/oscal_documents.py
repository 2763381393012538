"""Verifies the OSCAL documents of a report: schema, references, digests of files, and equality with the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..oscal.lint import lint
from ..oscal.metadata import ASSESSMENT_RESULTS
from ..oscal.package_index import property_of
from ..oscal.schema import validate
from .files import MAX_DOCUMENT_BYTES, content, file_names, file_sha256, parse_object

FOLDER = "oscal"
_SHOWN = 20  # findings of one report; further ones are counted


def oscal_problems(folder: Path, report: Mapping[str, Any]) -> tuple[int, list[str]]:
    """Return the number of OSCAL documents in a report folder, and their problems.

    Args:
        report: report.json; its states are compared with the findings.
    """
    names = [name for name in file_names(folder / FOLDER) if name.endswith(".json")]
    documents: dict[str, dict[str, Any]] = {}
    problems = []
    for name in names:
        data = content(folder / FOLDER / name, limit_bytes=MAX_DOCUMENT_BYTES)
        try:
            documents[name] = parse_object(data or b"")
            problems += [f"{name}: {each}" for each in validate(documents[name])]
        except (ValueError, RecursionError) as error:
            problems.append(f"{name}: expected a JSON object, got {error}")
    if documents and not problems:
        problems += lint(documents, lambda href: _digest(folder, href))
        problems += _differences(documents.get(ASSESSMENT_RESULTS, {}), report)
    more = len(problems) - _SHOWN
    return len(names), problems[:_SHOWN] + ([f"and {more} more problems"] if more > 0 else [])


def _digest(folder: Path, href: str) -> str | None:
    """Return the SHA-256 of a file of the report by its path relative to the documents; None outside the report."""
    parts = (FOLDER, *href.split("/"))
    inside: list[str] = []
    for part in parts:
        if part == "..":
            if not inside:
                return None
            inside.pop()
        elif part not in ("", "."):
            inside.append(part)
    return file_sha256(folder.joinpath(*inside)) or None


def _differences(results: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the controls whose state differs between the assessment results and the report."""
    states = {control["id"]: control["state"] for control in report["controls"]}
    found = {
        property_of(finding, "control"): property_of(finding, "state")
        for result in results.get("assessment-results", {}).get("results", ())
        for finding in result.get("findings", ())
    }
    if not results:
        yield f"{ASSESSMENT_RESULTS}: expected the results of the report, got no document"
    for control, state in states.items() if results else ():
        if found.get(control) != state:
            yield f"{ASSESSMENT_RESULTS}: expected {control} to be {state} as in the report, got {found.get(control)}"
