"""Groups of documents from a file: CSV with the columns `source`, `allow`, `deny`, or JSON.

    source,allow,deny
    policies/,staff;auditors,
    policies/board/,board,contractors
    policies/board/minutes.pdf,secretary,

- `source` is a file, or a folder that ends in `/`; `/` is the whole source folder.
- The entry with the longest `source` gives `allow`. `deny` of all matching entries applies, because deny wins.
- A document without an entry, or with an empty `allow`, is not ingested.

JSON: `{"documents": {"policies/": {"allow": ["staff"], "deny": []}}}`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError, Problem, SpecError

from ..values import Groups

MAX_BYTES = 64 << 20  # 500,000 lines of 128 bytes
_HEADERS = ("source", "allow", "deny")


@dataclass(frozen=True)
class AccessList:
    """Groups by source.

    Args:
        entries: by file, or by folder with `/` at its end.
    """

    entries: Mapping[str, Groups]

    def groups(self, source_id: str) -> Groups | None:
        """Return the groups of a document; None if no entry gives it a group."""
        matching = [self.entries[name] for name in _names(source_id) if name in self.entries]
        if not matching or not matching[0].allow:
            return None
        deny = {group for entry in matching for group in entry.deny}
        return Groups(matching[0].allow, frozenset(deny))


def _names(source_id: str) -> Iterator[str]:
    """Yield the names of entries that match a document, the longest first."""
    yield source_id
    parts = source_id.split("/")
    for count in range(len(parts) - 1, 0, -1):
        yield "/".join(parts[:count]) + "/"
    yield "/"


def read_access_list(path: Path) -> AccessList:
    """Read a file of groups; its suffix selects the format.

    Raises:
        InputError: the file is absent or has another suffix.
        SpecError: all problems, each with its line or key.
    """
    readers = {".csv": _csv, ".json": _json}
    if path.suffix.lower() not in readers:
        raise InputError("expected a name that ends in .csv or .json", where=str(path))
    try:
        text = read_bounded(path, MAX_BYTES).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise InputError("no such file", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", where=str(path)) from error
    entries: dict[str, Groups] = {}
    problems: list[Problem] = []
    for place, source, allow, deny in readers[path.suffix.lower()](text, path, problems):
        source = source.strip()
        where = f"{path}: {place}"
        if not _is_source(source):
            hint = "write it relative to the source folder, as `policies/board/minutes.pdf` or `policies/`"
            problems.append(Problem("invalid `source`", where=where, hint=hint))
        elif source in entries:
            problems.append(Problem("the source occurs twice", where=where, hint="keep one entry"))
        elif invalid := [each for each in (*allow, *deny) if not 0 < len(each) <= 200 or not each.isprintable()]:
            problems.append(
                Problem(f"{len(invalid)} invalid group names", where=where, hint="1 to 200 printable characters")
            )
        else:
            entries[source] = Groups(frozenset(allow), frozenset(deny))
    if not entries and not problems:
        problems.append(Problem("no entries", where=str(path), hint="add a line for each file or folder"))
    if problems:
        raise SpecError(problems, what="the groups")
    return AccessList(entries)


def _is_source(source: str) -> bool:
    parts = source.rstrip("/").split("/")
    return source == "/" or bool(source and source.isprintable() and all(part not in ("", ".", "..") for part in parts))


_Rows = Iterator[tuple[str, str, list[str], list[str]]]


def _csv(text: str, path: Path, problems: list[Problem]) -> _Rows:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = tuple(cell.strip().lower() for cell in next(rows, []))
        if header not in (_HEADERS, _HEADERS[:2]):
            problems.append(Problem("expected the headers `source,allow,deny`", where=f"{path}: line 1"))
            return
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                message = f"expected {len(header)} columns, got {len(row)}"
                problems.append(Problem(message, where=f"{path}: line {rows.line_num}", hint="separate groups by `;`"))
                continue
            lists = [[group.strip() for group in cell.split(";") if group.strip()] for cell in (*row[1:], "")]
            yield f"line {rows.line_num}", row[0], lists[0], lists[1]
    except csv.Error as error:
        problems.append(Problem(f"invalid CSV: {error}", where=f"{path}: line {rows.line_num}"))


def _json(text: str, path: Path, problems: list[Problem]) -> _Rows:
    try:
        value: Any = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        problems.append(Problem("not JSON, or a key occurs twice", where=str(path)))
        return
    documents = value.get("documents") if isinstance(value, dict) else None
    if not isinstance(documents, dict):
        problems.append(Problem("expected an object `documents`", where=str(path)))
        return
    for number, (source, entry) in enumerate(documents.items(), 1):
        match entry:
            case {"allow": list(allow)} if entry.keys() <= {"allow", "deny"} and isinstance(
                entry.get("deny", []), list
            ):
                deny = entry.get("deny", [])
                if all(isinstance(group, str) for group in (*allow, *deny)):
                    yield f"document {number}", source, allow, deny
                    continue
        hint = '{"allow": ["staff"], "deny": []}'
        problems.append(Problem("expected lists of group names", where=f"{path}: document {number}", hint=hint))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found
