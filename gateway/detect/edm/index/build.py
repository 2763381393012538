"""Builds an index from a CSV file: `sovctl gateway edm build`.

    built = build_index(Path("customers.csv"), Path("customers.edm"), key, built_at="2026-11-21T10:00:00Z")
    built.header["people"], built.bad            # 1000000, [(17, "expected 5 columns, got 6")]

Either every row is in the index, or none is written: identifiers of a skipped customer would not be found. The option
`skip_invalid_rows` permits it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.support.errors import InputError, Problem, SpecError

from .entries import Listing
from .index import Hasher, write_index
from .table import Table

_MOST_SHOWN = 100  # bad rows; the rest is counted
_PROGRESS_EVERY = 20_000  # rows


@dataclass(frozen=True, slots=True)
class Built:
    """Result of a build."""

    header: Mapping[str, Any]
    """Header of the file."""
    bad: list[tuple[int, str]]
    """Lines that are not in it, and why."""


def build_index(
    source: Path,
    out: Path,
    key: bytes,
    *,
    built_at: str,
    columns: Mapping[str, str] | None = None,
    delimiter: str = "",
    skip_invalid_rows: bool = False,
    progress: Callable[[int], None] = lambda _rows: None,
) -> Built:
    """Read `source`, write `out` at once.

    Args:
        columns: field -> header, where headers are not found by themselves.
        progress: called with the rows read so far.

    Raises:
        InputError: the file can't be read, or has no column with names.
        SpecError: bad rows, each with its line; nothing was written.
    """
    listing = Listing(Hasher(key))
    try:
        with source.open(newline="", encoding="utf-8-sig") as file:
            table = Table(file, where=str(source), columns=columns or {}, delimiter=delimiter)
            for number, (line, fields) in enumerate(table, start=1):
                if not listing.add(fields):
                    table.bad.append((line, "expected a surname, a full name or a company, got none"))
                if number % _PROGRESS_EVERY == 0:
                    progress(number)
    except OSError as error:
        raise InputError(f"expected a readable file, got: {error.strerror}", where=str(source)) from error
    except UnicodeDecodeError as error:
        raise InputError(
            "expected UTF-8, got something else", where=str(source), hint="iconv -f WINDOWS-1251 -t UTF-8 converts it"
        ) from error
    bad = sorted(table.bad)
    if bad and not skip_invalid_rows:
        raise SpecError(_problems(source, bad))
    if not listing.people and not listing.companies:
        raise InputError("expected rows with names, got none", where=str(source))
    return Built(write_index(out, key, listing.contents(), built_at=built_at), bad)


def _problems(source: Path, bad: list[tuple[int, str]]) -> list[Problem]:
    problems = [Problem(why, where=f"{source}: line {line}") for line, why in bad[:_MOST_SHOWN]]
    if len(bad) > _MOST_SHOWN:
        problems.append(Problem(f"and {len(bad) - _MOST_SHOWN} more bad rows", where=str(source)))
    problems.append(
        Problem(
            "nothing was written", where=str(source), hint="correct the rows, or omit them with --skip-invalid-rows"
        )
    )
    return problems
