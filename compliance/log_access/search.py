"""Selects entries of a ledger by type, node, id, commitment and time. Pure.

wanted = query(types=("gateway.*",), since=start)
list(wanted.select(entries))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sovctl.support.errors import InputError

from ..ledger.format import Entry
from ..ledger.state_files import FIELD

_NODE_FIELDS = ("node", "target", "pool")
_PATTERN = re.compile(r"[a-z0-9.*?-]{1,64}")
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._/:-]{0,127}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ID_FIELDS = ("id", "run", "run_id", "handoff_id", "request_id", "check_id", "folder")


@dataclass(frozen=True)
class Query:
    """Conditions of a search. An entry has to meet all; an unset condition is met by each entry."""

    types: tuple[str, ...] = ()
    """Types of records, or patterns such as `gateway.*`; one of them has to match."""
    node: str = ""
    """Value of `node`, `target` or `pool`, or a node of a gather."""
    id: str = ""
    """Value of an id field, such as the id of a request or a run."""
    commitment: str = ""
    """A digest: any text value of the record equals it, such as the key of a conversation or an HMAC."""
    since: datetime | None = None
    """Earliest time, included."""
    until: datetime | None = None
    """Latest time, excluded."""

    def select(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Yield the matching entries. An entry without a time has that of the entry before it."""
        last: datetime | None = None
        for entry in entries:
            record = entry.record
            last = time_of(record) or last
            if self._matches(record) and self._is_in_time(last):
                yield entry

    def as_json(self) -> dict[str, Any]:
        """Return the set conditions, for the record of the access."""
        values = {"types": list(self.types), "node": self.node, "id": self.id, "commitment": self.commitment}
        times = {"since": self.since, "until": self.until}
        found: dict[str, Any] = {name: value for name, value in values.items() if value}
        return found | {name: f"{value:%Y-%m-%dT%H:%M:%SZ}" for name, value in times.items() if value}

    def _matches(self, record: dict[str, Any]) -> bool:
        kind = str(record.get("type", ""))
        if self.types and not any(fnmatchcase(kind, pattern) for pattern in self.types):
            return False
        if self.node and not _is_about(record, self.node):
            return False
        if self.id and all(record.get(field) != self.id for field in _ID_FIELDS):
            return False
        return not self.commitment or self.commitment in _texts(record)

    def _is_in_time(self, time: datetime | None) -> bool:
        if self.since is None and self.until is None:
            return True
        if time is None:
            return False
        return (self.since is None or time >= self.since) and (self.until is None or time < self.until)


def _is_about(record: dict[str, Any], node: str) -> bool:
    """Return whether a record has a node as its subject, or the digest of a file of that node."""
    files, unreachable = record.get(FIELD), record.get("unreachable")
    return (
        any(record.get(field) == node for field in _NODE_FIELDS)
        or (isinstance(files, dict) and any(Path(name).stem == node for name in files))
        or (isinstance(unreachable, list) and node in unreachable)
    )


def time_of(record: dict[str, Any]) -> datetime | None:
    """Return the time of a record in UTC; None without a valid one."""
    try:
        time = datetime.fromisoformat(str(record.get("time", "")))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def parse_time(text: str, *, where: str) -> datetime:
    """Return the time of an option: RFC 3339, or a day. Without an offset it is UTC.

    Raises:
        InputError: another format.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"expected a time such as 2026-11-28 or 2026-11-28T10:00:00Z, got {text[:40]!r}", where=where
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def query(
    *,
    types: Sequence[str] = (),
    node: str = "",
    id: str = "",  # noqa: A002 - the name of the option
    commitment: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
) -> Query:
    """Return a query of checked values. The query is recorded, so it cannot have free text or personal data.

    Raises:
        InputError: a value is not a type pattern, a name, an id or a digest.
    """
    for text, form, where, expected in (
        *((each, _PATTERN, "--type", "a type such as gateway.*") for each in types),
        (node, _NAME, "--node", "a name"),
        (id, _NAME, "--id", "an id"),
        (commitment, _DIGEST, "--subject", "a digest of 64 hex digits, not a name"),
    ):
        if text and not form.fullmatch(text):
            raise InputError(f"expected {expected}", where=where)
    return Query(tuple(types), node, id, commitment, since, until)
