"""An invented list, its index, and what a text looks like once everything listed is taken out of it."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sovctl.gateway.detect.edm.index.build import build_index
from sovctl.gateway.detect.edm.index.index import Index
from sovctl.gateway.detect.edm.matching.finder import EdmFinder
from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.detect.findings.overlaps import resolve
from sovctl.gateway.detect.text.words import words_of

KEY = bytes(range(32))
BUILT_AT = "2026-11-21T10:00:00Z"
_PEOPLE = Path(__file__).parent / "data" / "listed_people.txt"


@dataclass(frozen=True)
class ListedPerson:
    """One of `data/listed_people.txt`."""

    given: str
    surname: str
    full: list[str]
    partial: list[str]


def listed_people() -> list[ListedPerson]:
    """Everybody in the file, with the forms in which they must be found."""
    rows = [line.split("|") for line in _PEOPLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    people = []
    for given, surname, full, partial in rows:
        forms = [[form.strip() for form in each.split(";") if form.strip()] for each in (full, partial)]
        people.append(ListedPerson(given.strip(), surname.strip(), *forms))
    return people


def write_list(path: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    """A CSV file with all columns that occur."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return path


def finder_of(folder: Path, rows: Sequence[Mapping[str, str]]) -> EdmFinder:
    """What finds these rows."""
    index = folder / "listed.edm"
    build_index(write_list(folder / "listed.csv", rows), index, KEY, built_at=BUILT_AT)
    return EdmFinder(Index.open(index, KEY))


def found_in(finder: EdmFinder, text: str) -> list[Finding]:
    """What stands, sorted."""
    return resolve(finder.find(words_of(text)))


def surfaces(finder: EdmFinder, text: str) -> list[str]:
    """How that is written."""
    return [text[finding.start : finding.end] for finding in found_in(finder, text)]
