"""Stores the records of nodes: `nodes.json` in the state folder, and one ledger record for each event.

The ledger record is written first; after a crash between the two, the event is repeated and recorded twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

from .records import Entry, Fleet, NodeRecord
from .states import State

FILE = "nodes.json"


def load(root: Path) -> Fleet:
    """Return the records in a state folder; none if the file is absent.

    Raises:
        InputError: the file is invalid. A plan must not place replicas then, because a quarantine could be lost.
    """
    path = root / FILE
    try:
        value = json.loads(path.read_text())
        return Fleet(
            nodes={
                name: NodeRecord(State(each["state"]), tuple(Entry(**entry) for entry in each["history"]))
                for name, each in value["nodes"].items()
            },
            breaker=str(value["breaker"]),
            accepted=tuple(value["accepted"]),
        )
    except FileNotFoundError:
        return Fleet()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"unreadable node records ({type(error).__name__})",
            where=str(path),
            hint="restore the file from a backup; its events are in the ledger",
        ) from None


def save(root: Path, site: str, before: Fleet, after: Fleet, *, reason: str, operator: str, time: str) -> None:
    """Write the ledger records of the differences of two fleets, then the file."""
    records: list[Mapping[str, Any]] = []
    for name, record in after.nodes.items():
        old = before.nodes.get(name, NodeRecord())
        states = [old.state.value, *(entry.state for entry in record.history[len(old.history) :])]
        for entry, state in zip(record.history[len(old.history) :], states, strict=False):
            records.append({"type": "node-event", "site": site, "node": name, "before": state, **asdict(entry)})
    if before.breaker != after.breaker:
        event = "opened" if after.breaker else "reset"
        records.append(
            {
                "type": "node-breaker",
                "site": site,
                "time": time,
                "event": event,
                "reason": after.breaker or reason,
                "operator": operator,
            }
        )
    if not records:
        return
    key = load_or_create(root / "keys" / "ledger.key")
    with Ledger.open(root / "ledger", origin=f"sovctl.{site}/site", key=key) as ledger:
        ledger.append(records)
    _write(root, after)


def drop(root: Path, node: str) -> None:
    """Remove the record of a node that the site no longer has. Its events stay in the ledger."""
    fleet = load(root)
    if node in fleet.nodes or node in fleet.accepted:
        nodes = {name: each for name, each in fleet.nodes.items() if name != node}
        accepted = tuple(name for name in fleet.accepted if name != node)
        _write(root, replace(fleet, nodes=nodes, accepted=accepted))


def _write(root: Path, fleet: Fleet) -> None:
    value = {
        "nodes": {
            name: {"state": each.state, "history": [asdict(e) for e in each.history]}
            for name, each in fleet.nodes.items()
        },
        "breaker": fleet.breaker,
        "accepted": list(fleet.accepted),
    }
    write_atomic(root / FILE, json.dumps(value, indent=1, sort_keys=True) + "\n", mode=0o600)
