"""Records of counters on the controller: the earlier reading of each check with which the next run compares.

counters/NODE.json    {"ib.counters-zero": {"boot_id", "uptime_s", "values": {"mlx5_0 port 1 symbol_error": 0}}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

from ..facts.counters import CounterReading

Key = tuple[str, str]
"""Node and check id."""


def load(folder: Path) -> dict[Key, CounterReading]:
    """Return all records; empty before the first verification.

    Raises:
        InputError: a file was changed by hand.
    """
    records = {}
    for path in sorted(folder.glob("*.json")):
        try:
            for check, row in json.loads(path.read_text()).items():
                values = {str(name): int(value) for name, value in row["values"].items()}
                records[path.stem, check] = CounterReading(str(row["boot_id"]), float(row["uptime_s"]), values)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError(
                "not a file with readings of counters",
                where=str(path),
                hint="remove the file; the next run compares with the boot, and writes it again",
            ) from None
    return records


def drop(folder: Path, node: str) -> None:
    """Remove the records of a node."""
    (folder / f"{node}.json").unlink(missing_ok=True)


def save(folder: Path, changed: Mapping[Key, CounterReading]) -> None:
    """Add or replace records."""
    records = {**load(folder), **changed}
    for node in {node for node, _ in changed}:
        of_node = {
            check: {"boot_id": each.boot_id, "uptime_s": each.uptime_s, "values": dict(each.values)}
            for (name, check), each in records.items()
            if name == node
        }
        write_atomic(folder / f"{node}.json", json.dumps(of_node, sort_keys=True) + "\n", mode=0o600)
