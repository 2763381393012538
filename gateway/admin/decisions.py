"""The last decisions, from the ledger: entity types, counts and reasons. The ledger contains no text.

recent(Path("/var/lib/sovctl/gateway/ledger"), most=50)      # the newest first
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sovctl.compliance.ledger.index import Index
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.support.errors import SovctlError

from ..policy.decision import with_current_name

_RECORDS_EACH = 3  # of a request: itself, usually an answer, sometimes a fallback; requests overlap
REFUSED = "refused"
"""Outcome of a request that policy or its route rejected; it has no further records."""
_SHOWN = ("id", "time", "client", "tenant", "surface", "model", "verdict", "upstream", "tokens")


def recent(directory: Path, *, most: int) -> list[dict[str, Any]]:
    """Return the newest requests with their outcomes; empty without a readable ledger."""
    try:
        with closing(Index(directory)) as index:
            size = index.count(0)
        entries = LedgerReader(directory).entries(start=max(0, size - most * _RECORDS_EACH))
        records = [entry.record for entry in entries]
    except (SovctlError, OSError):
        return []
    return joined(records)[:most]


def joined(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per request, the newest first, from records in the order of the ledger."""
    rows: dict[str, dict[str, Any]] = {}
    for record in records:
        request_id, kind = record.get("id"), record.get("type")
        if kind == "gateway.request":
            ended = REFUSED if record.get("upstream") is None else None
            rows[str(request_id)] = {name: record.get(name) for name in _SHOWN} | {
                "entity_types": record.get("entity_types", record.get("kinds")),  # `kinds`: records of earlier releases
                "reasons": _reasons(record),
                "status": None,
                "ended": ended,
            }
        elif request_id in rows and kind == "gateway.fallback":
            rows[str(request_id)] |= {"upstream": record.get("upstream"), "reasons": _reasons(record)}
        elif request_id in rows and kind == "gateway.answer":
            rows[str(request_id)] |= {"status": record.get("status"), "ended": record.get("reason")}
    return list(reversed(rows.values()))


def _reasons(record: Mapping[str, Any]) -> list[str] | None:
    reasons: list[str] | None = record.get("reasons")
    return reasons and [with_current_name(str(reason)) for reason in reasons]
