"""Verifies a whole ledger against its signed checkpoints, in constant memory.

    result = verify_ledger(Path("ledger"), key=parse_vkey(text), kept=[parse_checkpoint(old)])
    result.is_whole, result.findings, result.limits()

The tree is recomputed from all entries; its roots at the signed sizes must equal the signed roots. The index of the log
is not trusted: it locates a damaged entry only if its own hashes have the signed root. A writer may append
concurrently: entries after the newest checkpoint are counted and not verified.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from sovctl.support.errors import InputError

from ..verify_key import BadSignature, VerifyKey, parse_vkey
from . import format as layout
from . import rotation
from .checkpoint import Checkpoint
from .errors import LedgerDamaged
from .findings import Finding, FindingKind, LedgerVerification
from .format import read_entries
from .index import Index
from .merkle import LEVEL_BITS, Frontier, leaf_hash
from .reader import LedgerReader
from .rotation import KeyChain, chain_of

_BLOCK = 4096  # index rows per read: 160 KiB


@dataclass
class _Reading:
    """Result of one pass over the entries."""

    roots: dict[int, bytes] = field(default_factory=dict)
    """Root hash by tree size, for the requested sizes up to the number of entries."""
    entries: int = 0
    end: int = 0
    mismatch: int | None = None
    """Index of the first entry whose hash or end offset differs from its index row."""
    mismatch_leaf: bytes = b""
    bad_row: str = ""
    """File and row of the first upper row that differs."""
    pruned: int = 0
    """Number of leading entries without content. Their leaf hashes are read from the index."""
    rotations: list[layout.Entry] = field(default_factory=list)
    """Entries of key rotations, also of pruned ones."""
    pruned_by_record: int = 0
    """Highest number of pruned entries in a record of the log."""


def verify_ledger(
    directory: Path,
    *,
    key: tuple[str, VerifyKey] | None = None,
    kept: Iterable[Checkpoint] = (),
    on_site: Iterable[Checkpoint] = (),
) -> LedgerVerification:
    """Verify the ledger in `directory` against all given checkpoints.

    Args:
        key: name and public key of the log, kept outside the site; None: the key in the folder of the log.
        kept: checkpoints of this log that were kept outside the site, for example in a report of an auditor. Their
            signatures are verified here.
        on_site: checkpoints stored on the site, for example in its reports. The log must be consistent with them, but
            they do not count as kept outside, because they can be replaced together with the log.
    """
    findings: list[Finding] = []
    kept, on_site = list(kept), list(on_site)
    name, verify_key = key or _key_of_folder(directory, findings)
    checkpoint = _own_checkpoint(directory, findings)
    sizes = {each.size for each in [*kept, *on_site, *([checkpoint] if checkpoint else [])]}
    try:
        reading = _read(directory, sizes, checkpoint.size if checkpoint else 0)
    except LedgerDamaged as error:
        reading = _Reading()
        findings.append(Finding(FindingKind.MISSING_ENTRIES, error.message, 0, file=layout.PRUNED))
    chain = _chain(name, verify_key, reading, findings)
    if key and checkpoint and chain and _key_text(directory) != chain.newest.vkey(name) + "\n":
        findings.append(Finding(FindingKind.BAD_KEY, f"{layout.VKEY} differs from the given key", file=layout.VKEY))
    signed = checkpoint if checkpoint and _is_signed(checkpoint, name, chain, "the log's", findings) else None
    outside = [each for each in kept if _is_signed(each, name, chain, "the kept", findings)]
    inside = [each for each in on_site if _is_signed(each, name, chain, "a report's", findings)]
    if reading.pruned > reading.pruned_by_record:
        message = (
            f"the content of the first {reading.pruned} entries is missing, and no record states that it was pruned"
        )
        findings.append(Finding(FindingKind.MISSING_ENTRIES, message, 0, reading.pruned - 1))

    notes = _tail_notes(directory, reading, signed)
    if reading.pruned:
        notes += (f"the content of the first {reading.pruned} entries was pruned; their hashes are in the tree",)
    witnessed = _judge_kept(outside, signed, reading, findings)
    _judge_kept(inside, signed, reading, findings)
    if signed:
        known = [each.size for each in [*outside, *inside] if reading.roots.get(each.size) == each.root]
        _judge_own(directory, signed, reading, findings, max(known, default=0))
    return LedgerVerification(
        origin=checkpoint.origin if checkpoint else "",
        entries=reading.entries,
        signed_size=signed.size if signed else 0,
        root=reading.roots.get(signed.size, b"").hex() if signed else "",
        witnessed_size=witnessed,
        key_is_independent=key is not None,
        findings=tuple(findings),
        notes=notes,
        keys=tuple(each.vkey(name) for each in chain.keys) if chain else (),
    )


def _chain(name: str, given: VerifyKey | None, reading: _Reading, findings: list[Finding]) -> KeyChain | None:
    if given is None:
        return None
    chain, problems = chain_of(name, given, reading.rotations)
    findings += [Finding(FindingKind.BAD_KEY, message, index) for index, message in problems]
    return chain


def _key_text(directory: Path) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return (directory / layout.VKEY).read_text()
    return ""


def _key_of_folder(directory: Path, findings: list[Finding]) -> tuple[str, VerifyKey | None]:
    if not directory.is_dir():
        return "", None
    text = _key_text(directory)
    try:
        name, key = parse_vkey(text)
    except InputError as error:
        findings.append(Finding(FindingKind.BAD_KEY, f"{layout.VKEY}: {error.message}", file=layout.VKEY))
        return "", None
    if key.vkey(name) + "\n" != text:
        findings.append(
            Finding(FindingKind.BAD_KEY, f"{layout.VKEY}: expected a single line with the key", file=layout.VKEY)
        )
    return name, key


def _own_checkpoint(directory: Path, findings: list[Finding]) -> Checkpoint | None:
    if not directory.is_dir() or not any(directory.iterdir()):
        findings.append(Finding(FindingKind.MISSING_LOG, f"no ledger in {directory}", file="."))
        return None
    try:
        return LedgerReader(directory).checkpoint
    except InputError as error:
        findings.append(Finding(FindingKind.BAD_CHECKPOINT, error.message, file=layout.CHECKPOINT))
        return None


def _is_signed(checkpoint: Checkpoint, name: str, chain: KeyChain | None, whose: str, findings: list[Finding]) -> bool:
    if chain is None:
        return False
    try:
        if checkpoint.origin != name:
            raise BadSignature(f"expected the log {name}, got {checkpoint.origin}")
        checkpoint.verify(chain.at(checkpoint.size))
    except BadSignature as error:
        file = layout.CHECKPOINT if whose == "the log's" else ""
        message = f"{whose} checkpoint of {checkpoint.size} entries: {error}"
        findings.append(Finding(FindingKind.BAD_SIGNATURE, message, file=file))
        return False
    return True


def _read(directory: Path, sizes: set[int], signed_size: int) -> _Reading:
    """Read all entries once. Compute the roots at `sizes`, and compare index and upper rows up to the signed size."""
    reading, frontier = _Reading(), Frontier()
    path = directory / layout.ENTRIES
    if 0 in sizes:
        reading.roots[0] = frontier.root()
    if not path.exists():
        return reading
    last_signed = max(sizes, default=0)
    with contextlib.closing(Index(directory)) as index:
        rows = _index_rows(index)
        reading.pruned, reading.end = layout.read_pruned(directory)
        kept_records = layout.read_rotations(directory)
        for end, leaf in islice(rows, reading.pruned):
            if (data := kept_records.get(frontier.size)) is not None and leaf_hash(data) == leaf:
                reading.rotations.append(layout.Entry(frontier.size, data, end))
            if (completed := frontier.append(leaf)) and not reading.bad_row:
                reading.bad_row = _bad_row(index, frontier.size, completed)
            if frontier.size in sizes:
                reading.roots[frontier.size] = frontier.root()
        for entry in read_entries(path):
            if entry.leaf_index >= last_signed and not layout.is_record(entry.data):
                break  # unacknowledged data of an interrupted write
            leaf = leaf_hash(entry.data)
            completed = frontier.append(leaf)
            if entry.leaf_index < signed_size:
                if reading.mismatch is None and next(rows, None) != (entry.end, leaf):
                    reading.mismatch, reading.mismatch_leaf = entry.leaf_index, leaf
                if completed and not reading.bad_row:
                    reading.bad_row = _bad_row(index, frontier.size, completed)
            if frontier.size in sizes:
                reading.roots[frontier.size] = frontier.root()
            if rotation.MARK in entry.data and entry.record.get("type") == rotation.RECORD_TYPE:
                reading.rotations.append(entry)
            if b'"type":"pruned"' in entry.data and reading.pruned:
                reading.pruned_by_record = max(reading.pruned_by_record, _pruned_size(entry))
            reading.end = entry.end
    reading.entries = frontier.size
    return reading


def _pruned_size(entry: layout.Entry) -> int:
    record = entry.record
    size = record.get("size")
    return size if record.get("type") == "pruned" and isinstance(size, int) else 0


def _index_rows(index: Index) -> Iterator[tuple[int, bytes]]:
    start = 0
    while block := index.block(start, start + _BLOCK):
        yield from block
        start += len(block)


def _bad_row(index: Index, size: int, completed: list[bytes]) -> str:
    for level, value in enumerate(completed, start=1):
        row = (size >> (LEVEL_BITS * level)) - 1
        if index.rows(level, row, row + 1) != [value]:
            return f"{layout.level_name(level)}, row {row}"
    return ""


def _tail_notes(directory: Path, reading: _Reading, signed: Checkpoint | None) -> tuple[str, ...]:
    notes = []
    path = directory / layout.ENTRIES
    torn = path.stat().st_size - reading.end if path.exists() else 0
    if signed and reading.entries > signed.size:
        notes.append(
            f"{reading.entries - signed.size} entries are newer than the newest checkpoint and not signed: a writer "
            "is running, or was killed"
        )
    if signed and torn > 0 and reading.entries >= signed.size:
        notes.append(
            f"{torn} bytes at the end are an incomplete record: an interrupted write that was never acknowledged"
        )
    return tuple(notes)


def _judge_kept(
    kept: list[Checkpoint], signed: Checkpoint | None, reading: _Reading, findings: list[Finding]
) -> int | None:
    """Compare with kept checkpoints. Return the largest size consistent with the log; None if none was given."""
    witnessed: int | None = None
    for each in sorted(kept, key=lambda checkpoint: checkpoint.size):
        if reading.roots.get(each.size) == each.root and (signed is None or signed.size >= each.size):
            witnessed = each.size
        elif signed and signed.size < each.size:
            message = f"expected at least the {each.size} entries of the kept checkpoint, got {signed.size} signed"
            findings.append(Finding(FindingKind.ROLLED_BACK, message, signed.size, each.size - 1))
        elif each.size > reading.entries:
            message = f"expected at least the {each.size} entries of the kept checkpoint, got {reading.entries}"
            findings.append(Finding(FindingKind.CUT_TAIL, message, reading.entries, each.size - 1))
        else:
            message = f"expected the first {each.size} entries to have the kept root, got another"
            findings.append(Finding(FindingKind.FORKED, message, witnessed or 0, each.size - 1))
    return witnessed if kept else None


def _judge_own(
    directory: Path, signed: Checkpoint, reading: _Reading, findings: list[Finding], known_size: int
) -> None:
    """Compare with the checkpoint of the log, and locate a damage with the index.

    Args:
        known_size: number of entries that another checkpoint proves.
    """
    if reading.roots.get(signed.size) == signed.root:
        if reading.mismatch is not None:
            message = f"expected {layout.INDEX} to match the entries, got another row {reading.mismatch}"
            message += "; the entries are intact"
            findings.append(Finding(FindingKind.BAD_INDEX, message, reading.mismatch, file=layout.INDEX))
        elif reading.bad_row:
            message = f"expected the rows of the tree to match the entries, got another in {reading.bad_row}"
            file = reading.bad_row.partition(",")[0]
            findings.append(Finding(FindingKind.BAD_INDEX, message + "; the entries are intact", file=file))
        return
    with contextlib.closing(Index(directory)) as index:
        if not _has_signed_root(signed, index):
            findings.append(_unlocated(signed, reading, known_size))
        elif reading.mismatch is None:
            message = f"expected {signed.size} entries, got the first {reading.entries} of them"
            findings.append(Finding(FindingKind.CUT_TAIL, message, reading.entries, signed.size - 1))
        elif (found := _find(reading.mismatch_leaf, reading.mismatch + 1, signed.size, index)) is not None:
            message = f"expected entry {reading.mismatch}, got what was entry {found}"
            findings.append(Finding(FindingKind.MISSING_ENTRIES, message, reading.mismatch, found - 1))
        else:
            message = f"expected entry {reading.mismatch} as it was signed, got other content"
            findings.append(Finding(FindingKind.ALTERED, message, reading.mismatch))


def _has_signed_root(signed: Checkpoint, index: Index) -> bool:
    """Return whether the leaf hashes in the index have the signed root."""
    frontier = Frontier()
    for _, leaf in _index_rows(index):
        if frontier.size == signed.size:
            break
        frontier.append(leaf)
    return frontier.size == signed.size and frontier.root() == signed.root


def _unlocated(signed: Checkpoint, reading: _Reading, known_size: int) -> Finding:
    if reading.entries < signed.size:
        message = f"expected {signed.size} entries, got {reading.entries}; the index does not locate the rest"
        return Finding(FindingKind.CUT_TAIL, message, known_size, signed.size - 1)
    message = f"expected {signed.size} entries with the signed root, got another root; the index does not locate it"
    return Finding(FindingKind.ALTERED, message, known_size, signed.size - 1)


def _find(leaf: bytes, start: int, stop: int, index: Index) -> int | None:
    for at in range(start, stop, _BLOCK):
        block = index.rows(0, at, min(at + _BLOCK, stop))
        if leaf in block:
            return at + block.index(leaf)
    return None
