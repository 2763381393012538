"""Ways to tamper with the ledger. Each function changes a copy of the state, and returns the place."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from sovctl.compliance.ledger.checkpoint import parse_checkpoint, sign_checkpoint
from sovctl.compliance.ledger.format import Entry, frame, read_entries
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.rotate import rotate
from sovctl.compliance.ledger.store import Ledger

from .expected import Expected, flip
from .site import ORIGIN, Site, key_of, open_ledger

Tamper = Callable[[Site, Path, Random], Expected]


def _entries(state: Path) -> list[Entry]:
    return list(read_entries(state / "ledger" / "entries"))


def _write(state: Path, records: list[bytes]) -> None:
    (state / "ledger" / "entries").write_bytes(b"".join(map(frame, records)))


def _sign_again(state: Path, records: list[bytes]) -> None:
    """Replace the log by one with other records, signed with the key of the site."""
    key = key_of(state)
    shutil.rmtree(state / "ledger")
    with Ledger.open(state / "ledger", origin=ORIGIN, key=key) as ledger:
        ledger.append_encoded(records)


def byte_of_entries(_: Site, state: Path, random: Random) -> Expected:
    """Flip a bit of an entry or of its length."""
    ends = [entry.end for entry in _entries(state)]
    at = flip(state / "ledger" / "entries", random)
    return Expected(index=next(index for index, end in enumerate(ends) if at < end))


def byte_of_another_file(_: Site, state: Path, random: Random) -> Expected:
    """Flip a bit of the index, of a row of the tree, of the checkpoint or of the public key."""
    name = random.choice(["index", "level-1", "checkpoint", "log.vkey"])
    flip(state / "ledger" / name, random)
    return Expected(files=(f"ledger/{name}",))


def tail_cut(_: Site, state: Path, random: Random) -> Expected:
    """Cut bytes at the end."""
    path, ends = state / "ledger" / "entries", [entry.end for entry in _entries(state)]
    size = random.randrange(ends[-1])
    with path.open("r+b") as file:
        file.truncate(size)
    return Expected(index=sum(end <= size for end in ends))


def head_cut(_: Site, state: Path, random: Random) -> Expected:
    """Remove the first entries."""
    records = [entry.data for entry in _entries(state)]
    _write(state, records[random.randrange(1, len(records)) :])
    return Expected(index=0)


def middle_cut(_: Site, state: Path, random: Random) -> Expected:
    """Remove entries in the middle."""
    records = [entry.data for entry in _entries(state)]
    first = random.randrange(1, len(records) - 2)
    _write(state, records[:first] + records[random.randrange(first + 1, len(records)) :])
    return Expected(index=first)


def inserted(_: Site, state: Path, random: Random) -> Expected:
    """Insert an entry."""
    records = [entry.data for entry in _entries(state)]
    at = random.randrange(len(records))
    _write(state, [*records[:at], b'{"type":"invented"}', *records[at:]])
    return Expected(index=at)


def reordered(_: Site, state: Path, random: Random) -> Expected:
    """Exchange two entries."""
    records = [entry.data for entry in _entries(state)]
    first, second = sorted(random.sample(range(len(records)), 2))
    while records[first] == records[second]:
        first, second = sorted(random.sample(range(len(records)), 2))
    records[first], records[second] = records[second], records[first]
    _write(state, records)
    return Expected(index=first)


def deleted(_: Site, state: Path, __: Random) -> Expected:
    """Delete the whole log."""
    shutil.rmtree(state / "ledger")
    return Expected(files=("ledger",))


def old_copy(site: Site, state: Path, _: Random) -> Expected:
    """Restore an older copy of the whole state."""
    shutil.rmtree(state)
    shutil.copytree(site.older, state)
    return Expected(index=len(_entries(state)))


def cut_and_signed(_: Site, state: Path, random: Random) -> Expected:
    """Cut the tail, and sign the rest with the key of the site."""
    records = [entry.data for entry in _entries(state)]
    size = random.randrange(1, len(records))
    _sign_again(state, records[:size])
    return Expected(index=size)


def fork(_: Site, state: Path, random: Random) -> Expected:
    """Change one entry, and sign all with the key of the site."""
    records = [entry.data for entry in _entries(state)]
    at = random.randrange(len(records))
    records[at] = b'{"type":"invented"}'
    _sign_again(state, records)
    return Expected(index=at)


def two_writers(_: Site, state: Path, random: Random) -> Expected:
    """Write with two writers from the same state; the files of one and the checkpoint of the other remain."""
    size = len(_entries(state))
    twin = Path(shutil.copytree(state, state.with_name("twin")))
    for number, folder in enumerate((state, twin)):
        with open_ledger(folder) as ledger:
            ledger.append([{"type": "node-event", "writer": number}] * random.randint(1, 5))
    shutil.copy(twin / "ledger" / "checkpoint", state / "ledger" / "checkpoint")
    shutil.rmtree(twin)
    return Expected(index=size)


def clock_set_back(_: Site, state: Path, random: Random) -> Expected:
    """Append an entry with the time of a clock that was set back by 2 minutes to 1 year."""
    time = datetime.now(UTC) - timedelta(seconds=random.randint(120, 365 * 86400))
    with open_ledger(state) as ledger:
        (index,) = ledger.append([{"type": "node-event", "time": f"{time:%Y-%m-%dT%H:%M:%SZ}"}])
    return Expected(index=index)


def checkpoint_replayed(site: Site, state: Path, _: Random) -> Expected:
    """Replace the checkpoint by an older one of the same log."""
    shutil.copy(site.older / "ledger" / "checkpoint", state / "ledger" / "checkpoint")
    return Expected(index=parse_checkpoint((state / "ledger" / "checkpoint").read_text()).size)


def witness_forged(site: Site, state: Path, random: Random) -> Expected:
    """Give the auditor a checkpoint whose cosignature was made with another key, or removed."""
    text = site.checkpoint.read_text()
    head, _, last = text.rstrip("\n").rpartition("\n")
    start, _, encoded = last.rpartition(" ")
    blob = bytearray(base64.b64decode(encoded))
    forged = state.with_name("forged")
    if random.random() < 0.5:
        forged.write_text(f"{head}\n")
    else:
        blob[random.randrange(4, len(blob))] ^= 1 << random.randrange(8)
        forged.write_text(f"{head}\n{start} {base64.b64encode(blob).decode()}\n")
    return Expected(index=parse_checkpoint(text).size - 1, checkpoint=forged)


def writer_silenced(_: Site, state: Path, random: Random) -> Expected:
    """Suppress heartbeats for 4 to 1000 intervals."""
    begin, gap_s = datetime.now(UTC), 60 * random.randint(4, 1000)
    beats = [{**BEAT, "time": f"{begin + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"} for seconds in (0, gap_s)]
    with open_ledger(state) as ledger:
        indices = ledger.append(beats)
    return Expected(index=indices[1])


def revoked_key_used(_: Site, state: Path, __: Random) -> Expected:
    """Sign the newest checkpoint with the key before its rotation."""
    old = key_of(state)
    rotate(state / "ledger", state / "keys" / "ledger.key", reason="compromised", operator="bench")
    newest = LedgerReader(state / "ledger").checkpoint
    forged = sign_checkpoint(ORIGIN, newest.size, newest.root, old)
    (state / "ledger" / "checkpoint").write_text(forged.text)
    return Expected(files=("ledger/checkpoint",))


def content_removed(_: Site, state: Path, random: Random) -> Expected:
    """Declare the first entries pruned, without a record of it."""
    last = random.choice(_entries(state)[:-1])
    (state / "ledger" / "pruned").write_text(json.dumps({"size": last.leaf_index + 1, "end": last.end}))
    return Expected(index=last.leaf_index)


def entry_improved(_: Site, state: Path, random: Random) -> Expected:
    """Turn a FAIL into a PASS of the same length."""
    entries = _entries(state)
    failed = [e.leaf_index for e in entries if json.loads(e.data).get("verdict") == "FAIL"]
    at = random.choice(failed)
    records = [entry.data for entry in entries]
    records[at] = records[at].replace(b'"FAIL"', b'"PASS"')
    _write(state, records)
    return Expected(index=at)


BEAT = {"type": "heartbeat", "interval_s": 60, "clock": None}
CASES: dict[str, Tamper] = {
    "ledger: any bit of the entries": byte_of_entries,
    "ledger: any bit of another file": byte_of_another_file,
    "ledger: tail cut": tail_cut,
    "ledger: head cut": head_cut,
    "ledger: middle cut": middle_cut,
    "ledger: entry inserted": inserted,
    "ledger: entry improved": entry_improved,
    "ledger: entries reordered": reordered,
    "ledger: deleted": deleted,
    "ledger: old copy of the site": old_copy,
    "ledger: cut and signed again": cut_and_signed,
    "ledger: fork, signed again": fork,
    "ledger: two writers": two_writers,
    "ledger: clock set back": clock_set_back,
    "ledger: checkpoint replayed": checkpoint_replayed,
    "ledger: witness forged": witness_forged,
    "ledger: writer silenced": writer_silenced,
    "ledger: revoked key used": revoked_key_used,
    "ledger: content removed": content_removed,
}
