"""Steps of applies as evidence: lines of the journal, each bound to the ledger by its number and SHA-256.

    steps = list_steps(state / "journal", reader)             # of the newest run
    step = find_step(state / "journal", reader, "3fa9c0de")   # None if no step has this id

Nothing is copied: the id of a step is the SHA-256 of its line in the journal, which its ledger entry contains. A step
is `altered` if the journal has another line at its place, or none. `sovctl audit verify` checks the chain of all lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from ..journal_chain import CLOSING, PREVIOUS, STEP, complete_lines
from ..ledger.format import Entry
from ..ledger.reader import LedgerReader
from .layout import is_run_id, is_sha256
from .lookup import ALTERED, require_signed
from .runs import EvidenceDamaged

RECORDED = "recorded"
_TYPES = frozenset((STEP, "apply-started", "apply-wave", *CLOSING))
_OWN = frozenset(("event", "time", "plan_sha256", PREVIOUS))


@dataclass(frozen=True)
class ApplyStep:
    """One line of the journal of an apply.

    Args:
        state: `RECORDED`, or `ALTERED` if the journal differs from the ledger; event, time and fields are then empty.
        fields: further fields of the line, such as `node`, `role` and `wave`.
        line: number in the journal, from 1.
        leaf_index: ledger entry with number and SHA-256 of the line.
    """

    sha256: str
    state: str
    event: str
    time: str
    fields: Mapping[str, Any]
    run: str
    line: int
    leaf_index: int
    plan_sha256: str
    simulated: bool

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes that the step names; empty for a step of the run."""
        named = self.fields.get("node"), self.fields.get("nodes")
        found = [named[0]] if isinstance(named[0], str) else list(named[1]) if isinstance(named[1], list | dict) else []
        return tuple(map(str, found))


def list_steps(journals: Path, reader: LedgerReader, *, every_run: bool = False) -> list[ApplyStep]:
    """Return the steps in ledger order.

    Args:
        journals: folder of the journals.
        every_run: include earlier runs; default: the newest run of the ledger.
    """
    entries = list(_entries(reader))
    if entries and not every_run:
        newest = entries[-1].record["run"]
        entries = [each for each in entries if each.record["run"] == newest]
    lines = {run: _lines(journals, run) for run in {str(each.record["run"]) for each in entries}}
    return [_step(each, lines[str(each.record["run"])]) for each in entries]


def find_step(journals: Path, reader: LedgerReader, name: str) -> ApplyStep | None:
    """Return the step whose id begins with `name`, after verifying it; None for an unknown id.

    Raises:
        InputError: several steps have ids that begin with `name`.
        EvidenceDamaged, LedgerDamaged: the line or its entry was altered.
    """
    entries = [each for each in _entries(reader) if str(each.record["journal_sha256"]).startswith(name)]
    if not entries:
        return None
    if len({each.record["journal_sha256"] for each in entries}) > 1:
        raise InputError(f"{len(entries)} steps begin with {name}", where="ID", hint="give more digits")
    require_signed(reader, entries[-1])
    step = _step(entries[-1], _lines(journals, str(entries[-1].record["run"])))
    if step.state == ALTERED:
        raise EvidenceDamaged(
            f"line {step.line} of the journal differs from the ledger",
            where=str(journals / f"{step.run}.jsonl"),
            hint="list all findings with `sovctl audit verify`",
        )
    return step


def plan_entry(reader: LedgerReader, plan_sha256: str) -> Entry | None:
    """Return the newest ledger entry of a plan, with its operator and the digests of site.yaml; None without one."""
    found = None
    for entry in reader.entries():
        if b'"type":"plan"' in entry.data and entry.record.get("plan_sha256") == plan_sha256:
            found = entry
    return found


def _entries(reader: LedgerReader) -> Iterator[Entry]:
    for entry in reader.entries():
        if b'"journal_sha256"' not in entry.data:
            continue
        record = entry.record
        is_bound = is_sha256(record.get("journal_sha256")) and isinstance(record.get("journal_lines"), int)
        if record.get("type") in _TYPES and is_bound and is_run_id(record.get("run")):
            yield entry


def _lines(journals: Path, run: str) -> list[bytes]:
    try:
        return complete_lines((journals / f"{run}.jsonl").read_bytes())
    except OSError:
        return []


def _step(entry: Entry, lines: list[bytes]) -> ApplyStep:
    record, number = entry.record, entry.record["journal_lines"]
    line = lines[number - 1] if 0 < number <= len(lines) else b""
    is_own = sha256_hex(line) == record["journal_sha256"]
    values: dict[str, Any] = json.loads(line) if is_own else {}
    return ApplyStep(
        sha256=str(record["journal_sha256"]),
        state=RECORDED if is_own else ALTERED,
        event=str(values.get("event", "")),
        time=str(values.get("time", "")),
        fields={name: each for name, each in values.items() if name not in _OWN},
        run=str(record["run"]),
        line=number,
        leaf_index=entry.leaf_index,
        plan_sha256=str(record.get("plan_sha256")),
        simulated=bool(record.get("simulated")),
    )
