"""Reads entries for an operator, and records the access in the same ledger before it returns the first entry."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from sovctl.support.errors import InputError
from sovctl.support.operator_name import operator_name

from ..ledger import format as layout
from ..ledger.format import Entry
from ..ledger.pending import record_or_leave
from ..ledger.reader import LedgerReader
from .search import Query, query

RECORD_TYPE = "audit-read"
_FOLLOW_EVERY_S = 0.5
_INDEX = re.compile(r"[0-9]{1,15}")
MAX_ENTRIES = 100_000  # chosen; a result is held in memory


def record_access(ledger: Path, command: str, conditions: dict[str, Any]) -> bool:
    """Record an access to a ledger. The key is that of the state folder which contains the ledger, if any.

    Args:
        command: `search`, `tail` or `prove`.
        conditions: of the query; ids and digests only.

    Returns:
        True if the record is in the ledger, False if its writer appends it later.

    Raises:
        InputError: no ledger, or the access cannot be recorded. The caller must not show entries then.
    """
    LedgerReader(ledger)
    record = {
        "type": RECORD_TYPE,
        "time": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "command": command,
        "operator": operator_name(),
        "query": conditions,
    }
    return record_or_leave(
        ledger,
        record,
        key_file=ledger.parent / "keys" / "ledger.key",
        hint="get write access to the folder; for a copy outside the site add --copy",
    )


def search(ledger: Path, query: Query, *, limit: int) -> list[Entry]:
    """Return the newest `limit` matching entries in the order of the ledger."""
    found: list[Entry] = []
    for entry in query.select(LedgerReader(ledger).entries()):
        found.append(entry)
        if len(found) > 2 * limit:
            del found[:-limit]
    return found[-limit:]


def newest(ledger: Path, count: int) -> list[Entry]:
    """Return the newest entries in the order of the ledger."""
    reader = LedgerReader(ledger)
    found = list(reader.entries(start=max(0, reader.checkpoint.size - count)))
    return found[-count:] if count else []


def size(ledger: Path) -> int:
    """Return the number of entries in the newest checkpoint."""
    return LedgerReader(ledger).checkpoint.size


def follow(ledger: Path, start: int, *, wait: Callable[[float], None] = time.sleep) -> Iterator[Entry]:
    """Yield the entries from index `start` on, and new ones when they are written, until the caller stops."""
    while True:
        for entry in LedgerReader(ledger).entries(start=start):
            yield entry
            start = entry.leaf_index + 1
        wait(_FOLLOW_EVERY_S)


def entries_of(ledger: Path, wanted: str) -> list[Entry]:
    """Return the entry with an index, or the entries with an id.

    Raises:
        InputError: none.
    """
    if _INDEX.fullmatch(wanted):
        found = list(islice(LedgerReader(ledger).entries(start=int(wanted)), 1))
    else:
        found = search(ledger, query(id=wanted), limit=MAX_ENTRIES)
    if not found:
        raise InputError(
            f"expected the index or the id of an entry, got {wanted[:80]!r}",
            where=str(ledger / layout.ENTRIES),
            hint="list entries with `sovctl audit search` or `sovctl audit tail`",
        )
    return found
