"""Verifies one ledger: entries, checkpoints, times, and the bytes that a recovery moved aside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from sovctl.support.errors import InputError

from ..ledger.checkpoint import Checkpoint
from ..ledger.cosigned import read_cosigned
from ..ledger.errors import LedgerDamaged
from ..ledger.reader import LedgerReader
from ..ledger.verify import verify_ledger
from .clock import check_times
from .files import file_sha256, irregular
from .inputs import Key
from .result import AuditResult
from .silence import check_silence
from .witnesses import Witnesses, anchors


def audit_ledger(
    directory: Path,
    *,
    key: Key | None = None,
    kept: Sequence[Checkpoint] = (),
    witnesses: Witnesses = Witnesses(),
    as_of: datetime | None = None,
) -> AuditResult:
    """Verify one ledger. A missing ledger is a finding."""
    result = AuditResult()
    if add_ledger(directory, result, key=key, kept=kept, witnesses=witnesses):
        check_entries(directory, result, as_of=as_of)
    return result


def add_ledger(
    directory: Path,
    result: AuditResult,
    *,
    key: Key | None = None,
    kept: Iterable[Checkpoint] = (),
    on_site: Iterable[Checkpoint] = (),
    witnesses: Witnesses = Witnesses(),
) -> bool:
    """Verify a ledger, and add its findings to `result`.

    Returns:
        False if the folder has links or special files. Its entries must not be read then.
    """
    if find_irregular(directory, directory.name, result):
        return False
    on_site = list(on_site)
    collected = read_cosigned(directory)
    on_site += [collected] if collected else []
    cosigned = anchors(kept, [*_own(directory), *on_site], witnesses, result)
    found = verify_ledger(directory, key=key, kept=cosigned, on_site=on_site)
    result.ledger = found
    for finding in found.findings:
        result.find(
            "ledger",
            f"{finding.kind}: {finding.message}",
            first_index=finding.first_index,
            last_index=finding.last_index,
            file=str(Path(directory.name) / finding.file) if finding.file else "",
        )
    if found.is_whole:
        outside = "none" if found.witnessed_size is None else f"{found.witnessed_size}"
        result.facts.append(
            f"ledger: {found.entries} entries of {found.origin}, {found.signed_size} signed, "
            f"{outside} in a checkpoint kept outside"
        )
        result.is_anchored = found.witnessed_size is not None
    result.notes += [f"ledger: {note}" for note in found.notes]
    result.limits += found.limits()
    return True


def check_entries(
    directory: Path, result: AuditResult, *, evidence: Path | None = None, as_of: datetime | None = None
) -> None:
    """Check times, heartbeats and moved bytes of the entries, if they can be read."""
    try:
        reader = LedgerReader(directory)
        check_times(reader, result, evidence=evidence)
        check_silence(reader, result, as_of=as_of)
        _check_torn(directory, reader, result)
    except (InputError, LedgerDamaged):
        return  # already a finding of `verify_ledger`


def find_irregular(folder: Path, name: str, result: AuditResult) -> bool:
    """Add a finding for each link and special file in `folder`; return whether there are any."""
    found = list(irregular(folder)) if not folder.is_symlink() else [folder]
    for path in found:
        place = str(Path(name) / path.relative_to(folder))
        result.find("files", f"{place}: expected a regular file, got a link or a special file", file=place)
    return bool(found)


def _own(directory: Path) -> list[Checkpoint]:
    try:
        return [LedgerReader(directory).checkpoint]
    except InputError:
        return []  # a finding of `verify_ledger`


def _check_torn(directory: Path, reader: LedgerReader, result: AuditResult) -> None:
    """Check that the bytes of interrupted writes, which the ledger mentions, are unchanged."""
    kept = {file_sha256(path) for path in directory.glob("torn-*")}
    for entry in reader.entries():
        if b'"cut_sha256"' in entry.data and (digest := entry.record.get("cut_sha256")) not in kept:
            message = (
                f"the bytes that entry {entry.leaf_index} cut off are missing or altered (digest {str(digest)[:16]})"
            )
            result.find("ledger", message, file=f"{directory.name}/torn-*", first_index=entry.leaf_index)
