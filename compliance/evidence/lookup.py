"""Finds records of a site by id, check, node and state, and verifies a record that is shown.

    summaries(directory, reader, newest=True)        # one row for each check and target
    found = find(directory, reader, "3fa9c0de")      # the record whose SHA-256 begins with these digits

The list compares record files with the ledger, without raw output. `find` verifies record, raw output, population, the
inclusion of the entry in the signed checkpoint, and the signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from sovctl.support.errors import InputError

from ..ledger.errors import LedgerDamaged
from ..ledger.format import Entry
from ..ledger.merkle import leaf_hash
from ..ledger.proof import verify_inclusion
from ..ledger.reader import LedgerReader
from ..verify_key import BadSignature, parse_vkey
from .freshness import is_stale
from .layout import RUNS, is_current, is_run_id, leaf_of, record_file_name
from .runs import VERIFY_AGAIN, EarlierRelease, EvidenceDamaged, checked_record, read_record
from .store import StoredEvidence

ID_DIGITS = 12
"""Digits of the SHA-256 that lists show; they are also in the name of the file."""
_ID = re.compile(r"[0-9a-f]{6,64}")
ALTERED, EARLIER, EXPIRED = "altered", "earlier-format", "expired"
STATES = ("PASS", "WARN", "FAIL", "UNKNOWN", "N/A", EXPIRED, EARLIER, ALTERED)
"""A verdict that counts, or the reason why the record does not count."""


@dataclass(frozen=True)
class Summary:
    """One record in a list."""

    sha256: str
    check: str
    target: str
    state: str
    """One of `STATES`."""
    verdict: str
    ended: str
    """UTC; empty for a record that does not count as evidence."""
    expires: str
    run: str
    leaf_index: int
    simulated: bool


@dataclass(frozen=True)
class Filter:
    """Conditions of a list; empty ones are true.

    Args:
        checks: patterns of check ids, such as `gpu.*`.
        nodes: names; `site` is the controller.
        states: of `STATES`.
    """

    checks: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    states: tuple[str, ...] = ()

    def has_target(self, entry: Entry) -> bool:
        """Return whether check and node of a ledger entry match."""
        check, target = str(entry.record.get("check_id")), str(entry.record.get("target"))
        is_check = not self.checks or any(fnmatchcase(check, each) for each in self.checks)
        return is_check and (not self.nodes or bool({*self.nodes} & {*target.partition("/")[0].split("+")}))


def summaries(
    directory: Path, reader: LedgerReader, *, at: str, chosen: Filter = Filter(), newest: bool = True
) -> list[Summary]:
    """Return the records in ledger order.

    Args:
        at: UTC time that selects the evidence that has not expired.
        newest: only the newest record of each check and target.
    """
    found: dict[object, Entry] = {}
    for entry in evidence_entries(reader):
        if chosen.has_target(entry):
            key = (entry.record.get("check_id"), entry.record.get("target")) if newest else entry.leaf_index
            found[key] = entry
    entries = sorted(found.values(), key=lambda entry: entry.leaf_index)
    rows = (_summary(directory, entry, at) for entry in entries)
    return [row for row in rows if not chosen.states or row.state in chosen.states]


def find(directory: Path, reader: LedgerReader, name: str) -> StoredEvidence:
    """Return the record whose SHA-256 begins with `name`, after verifying it.

    Args:
        name: 6 to 64 hexadecimal digits.

    Raises:
        InputError: not an id, or no record or several records with it.
        EarlierRelease: the record does not count as evidence.
        EvidenceDamaged, LedgerDamaged: the record, a part of it, or its entry was altered.
    """
    if not _ID.fullmatch(name):
        raise InputError(
            f"expected 6 to 64 hexadecimal digits, got {name[:80]!r}",
            where="ID",
            hint="list the records with `sovctl evidence list`",
        )
    entries = [entry for entry in evidence_entries(reader) if str(entry.record.get("sha256")).startswith(name)]
    if not entries:
        hint = "list the records with `sovctl evidence list --all`"
        raise InputError(f"unknown record {name}", where="ID", hint=hint)
    if len({entry.record["sha256"] for entry in entries}) > 1:
        raise InputError(f"{len(entries)} records begin with {name}", where="ID", hint="give more digits")
    entry = entries[-1]
    require_signed(reader, entry)
    record = read_record(path_of(directory, entry))
    where = f"{entry.record.get('check_id')} on {entry.record.get('target')}, run {entry.record.get('run_id')}"
    try:
        return checked_record(directory, entry, dict([record]) if record else {}, {})
    except EarlierRelease as error:
        raise EarlierRelease(error.message, where=where, hint=VERIFY_AGAIN) from None
    except EvidenceDamaged as error:
        hint = "list all findings with `sovctl audit verify`"
        raise EvidenceDamaged(error.message, where=where, hint=hint) from None


def evidence_entries(reader: LedgerReader) -> Iterator[Entry]:
    """Yield the ledger entries of records, in ledger order."""
    for entry in reader.entries():
        if b'"type":"evidence"' in entry.data and entry.record.get("type") == "evidence":
            yield entry


def path_of(directory: Path, entry: Entry) -> Path:
    """Return the path of the file of a record."""
    leaf, run_id = entry.record, entry.record.get("run_id")
    if not is_run_id(run_id):
        raise LedgerDamaged(f"expected a run id in entry {entry.leaf_index}, got another value")
    name = record_file_name(str(leaf.get("check_id")), str(leaf.get("target")), str(leaf.get("sha256")))
    return directory / RUNS / str(run_id) / name


def _summary(directory: Path, entry: Entry, at: str) -> Summary:
    leaf, found = entry.record, read_record(path_of(directory, entry))
    digest, record = found or ("", {})
    state, verdict = ALTERED, str(leaf.get("verdict"))
    if digest == leaf.get("sha256") and not is_current(record):
        state = EARLIER
    elif digest == leaf.get("sha256") and leaf_of(record, digest, str(leaf.get("run_id"))) == leaf:
        state = EXPIRED if is_stale(record["expires"], verdict, at) else verdict
    counts = state not in (ALTERED, EARLIER)
    return Summary(
        sha256=str(leaf.get("sha256")),
        check=str(leaf.get("check_id")),
        target=str(leaf.get("target")),
        state=state,
        verdict=verdict,
        ended=record["ended"] if counts else "",
        expires=record["expires"] if counts else "",
        run=str(leaf.get("run_id")),
        leaf_index=entry.leaf_index,
        simulated=bool(leaf.get("simulated")),
    )


def require_signed(reader: LedgerReader, entry: Entry) -> None:
    """Verify that the entry is in the tree of the signed checkpoint.

    Raises:
        LedgerDamaged: it is not, or the signature is invalid.
    """
    checkpoint, hint = reader.checkpoint, "list all findings with `sovctl audit verify`"
    try:
        checkpoint.verify(parse_vkey(reader.vkey_text().strip())[1])
    except BadSignature as error:
        raise LedgerDamaged(f"checkpoint: {error}", where=str(reader.directory), hint=hint) from None
    if entry.leaf_index >= checkpoint.size:
        raise LedgerDamaged(f"entry {entry.leaf_index} is newer than the checkpoint", where=str(reader.directory))
    path = reader.inclusion_proof(entry.leaf_index)
    if not verify_inclusion(leaf_hash(entry.data), entry.leaf_index, checkpoint.size, path, checkpoint.root):
        raise LedgerDamaged(
            f"entry {entry.leaf_index} is not in the tree of the signed checkpoint",
            where=str(reader.directory),
            hint=hint,
        )
