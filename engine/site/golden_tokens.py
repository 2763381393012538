"""Recorded tokens of pools in the state folder: `golden/POOL.json`. Each recording is a record of the ledger.

A file that cannot be read counts as absent, so that the check of its pool is UNKNOWN.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import digest
from sovctl.support.errors import InputError

from ..facts.benchmarks.golden_tokens import GoldenRecord
from ..facts.unreadable import Unreadable

FOLDER = "golden"


def file_of(root: Path, pool: str) -> Path:
    """Return the path of a pool's record."""
    return root / FOLDER / f"{pool}.json"


def load_all(root: Path, pools: Iterable[str]) -> dict[str, GoldenRecord]:
    """Return the readable records by name of the pool."""
    found = {}
    for pool in pools:
        try:
            record = GoldenRecord.from_json(json.loads(file_of(root, pool).read_bytes()))
        except (OSError, ValueError, RecursionError, Unreadable):
            continue
        if record.pool == pool:
            found[pool] = record
    return found


def save(root: Path, site: str, record: GoldenRecord, *, operator: str, replace: bool) -> None:
    """Append the ledger record, then write the file. The caller holds the site's lock.

    Raises:
        InputError: the pool has a file, and `replace` is False.
    """
    path = file_of(root, record.pool)
    if path.exists() and not replace:
        raise InputError(
            f"pool {record.pool} has recorded tokens",
            where=str(path),
            hint="record them again only after an intended change: sovctl golden record --replace",
        )
    entry = {
        "type": "golden-tokens-recorded",
        "time": record.time,
        "site": site,
        "pool": record.pool,
        "operator": operator,
        "run": record.run,
        "record_sha256": digest(record.to_json()),
        "replaced": path.exists(),
    }
    key = load_or_create(root / "keys" / "ledger.key")
    with Ledger.open(root / "ledger", origin=f"sovctl.{site}/site", key=key) as ledger:
        ledger.append([entry])
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_atomic(path, json.dumps(record.to_json(), indent=1) + "\n", mode=0o600)
