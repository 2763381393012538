"""States that an honest site can have, including after crashes. A verifier must have no finding.

Each function changes a copy of the state.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from sovctl.compliance.ledger.rotate import rotate
from sovctl.support.canonical_json import sha256_hex

from .site import Site, now, open_ledger

Change = Callable[[Site, Path, Random], None]


def as_finished(_: Site, __: Path, ___: Random) -> None:
    """Change nothing."""


def later_entries(_: Site, state: Path, random: Random) -> None:
    """Append entries after the kept checkpoint."""
    with open_ledger(state) as ledger:
        ledger.append([{"type": "node-event", "time": now(), "number": n} for n in range(random.randint(1, 300))])


def writer_killed(_: Site, state: Path, random: Random) -> None:
    """Leave a part of a record that was never acknowledged, as a killed writer does."""
    with (state / "ledger" / "entries").open("ab") as file:
        file.write(random.choice([b"\0" * 512, b'\x00\x30{"type":"node-ev', b"\x7f"]))


def writer_recovered(site: Site, state: Path, random: Random) -> None:
    """Open the ledger again after its writer was killed."""
    writer_killed(site, state, random)
    with open_ledger(state) as ledger:
        ledger.append([{"type": "node-event", "time": now()}])


def apply_killed(_: Site, state: Path, __: Random) -> None:
    """Start a journal, and be killed before its first line has a ledger entry."""
    line = json.dumps({"event": "started", "previous": "0" * 64})
    (state / "journal" / "20261123T090000.000Z-dddddddd.jsonl").write_text(line + "\n")


def verify_killed(_: Site, state: Path, random: Random) -> None:
    """Store a raw output, and be killed before its record has a ledger entry."""
    data = b"%d\n" % random.randrange(10**9)
    (state / "evidence" / "raw" / sha256_hex(data)).write_bytes(data)


def report_killed(_: Site, state: Path, __: Random) -> None:
    """Be killed after a report was logged, before its folder was renamed."""
    folder = max((state / "reports").iterdir())
    folder.rename(folder.with_name(f".{folder.name}.4242.new"))


def key_rotated(_: Site, state: Path, __: Random) -> None:
    """Rotate the key of the ledger, and go on."""
    rotate(state / "ledger", state / "keys" / "ledger.key", reason="planned", operator="bench")
    with open_ledger(state) as ledger:
        ledger.append([{"type": "node-event", "time": now()}])


def heartbeats(_: Site, state: Path, random: Random) -> None:
    """Append heartbeats, some of them late."""
    begin, seconds = datetime.now(UTC), 0
    for _beat in range(10):
        time = f"{begin + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"
        with open_ledger(state) as ledger:
            ledger.append([{"type": "heartbeat", "interval_s": 60, "time": time, "clock": None}])
        seconds += random.randint(55, 170)


def copied(_: Site, state: Path, __: Random) -> None:
    """Copy the state, which changes times and order of its files."""
    twin = shutil.copytree(state, state.with_name("twin"), copy_function=shutil.copyfile)
    shutil.rmtree(state)
    Path(twin).rename(state)


STATES: dict[str, Change] = {
    "as finished": as_finished,
    "later entries": later_entries,
    "writer killed": writer_killed,
    "writer killed, ledger opened again": writer_recovered,
    "apply killed": apply_killed,
    "verify killed": verify_killed,
    "report killed": report_killed,
    "key rotated": key_rotated,
    "heartbeats": heartbeats,
    "copied": copied,
}
