"""Verifies the ledger, evidence, reports and journals of a site, and their consistency.

    result = audit(Path(".sovctl"))          # or the folder of a report or a ledger
    result.verdict, result.findings, result.facts, result.limits

Findings decide the verdict. Without findings it is OK only with a checkpoint kept outside the site. Limits state what
the result does not prove.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from sovctl.support.errors import InputError

from ..ledger import format as layout
from ..ledger.checkpoint import Checkpoint
from ..ledger.errors import LedgerDamaged
from ..ledger.reader import LedgerReader
from ..verify_key import BadSignature
from .documents import compare_documents
from .evidence import compare_evidence
from .foreign import compare_foreign
from .inputs import Key, read_checkpoint, read_key
from .journals import compare_journals
from .ledger import add_ledger, check_entries, find_irregular
from .report_folder import PROOF, EarlierFormat, NoReport, verify_report
from .reports import compare_reports, report_folders
from .result import AuditResult
from .signatures import Signers
from .state_files import compare_state_files
from .witnesses import Witnesses, anchors

_FOLDERS = ("ledger", "evidence", "reports", "journal", "documents", "foreign", "plans", "facts", "waivers")
"""Folders of a site's state that are compared with the ledger."""


def audit(
    target: Path,
    *,
    key: Key | None = None,
    kept: Sequence[Checkpoint] = (),
    witnesses: Witnesses = Witnesses(),
    as_of: datetime | None = None,
    signers: Signers = Signers(),
) -> AuditResult:
    """Verify the report, ledger or site at `target`.

    Args:
        target: the folder of a report (or its report.json), of a ledger, of a site's state, or of a site.yaml.
        key: name and public key of the ledger, kept outside the site.
        kept: checkpoints kept outside the site.
        witnesses: keys of witnesses, kept outside the site.
        as_of: time at which the target was copied; None: unknown.
        signers: keys of persons that must have signed each report.

    Raises:
        InputError: `target` contains none of these.
    """
    folder = target.parent if target.is_file() else target
    result = AuditResult()
    for place in (folder, folder / ".sovctl"):
        if (place / "report.json").is_file():
            _audit_one_report(place, key, kept, witnesses, signers, result)
            return result
        if (place / layout.ENTRIES).exists() or (place / layout.CHECKPOINT).exists():
            if add_ledger(place, result, key=key, kept=kept, witnesses=witnesses):
                check_entries(place, result, as_of=as_of)
            return result
        if any((place / name).is_dir() for name in ("ledger", "evidence", "reports")):
            _audit_state(place, key, kept, witnesses, signers, result, as_of)
            return result
    raise InputError(
        "no report, ledger or site state found",
        where=str(target),
        hint="give the folder of a report, or .sovctl, or use --ledger",
    )


def _audit_report(
    folder: Path,
    key: Key | None,
    signers: Signers,
    result: AuditResult,
    place: str = "",
    keys: Sequence[str] = (),
) -> list[Checkpoint]:
    try:
        return verify_report(folder, result, key=key, place=place, keys=keys, signers=signers)
    except EarlierFormat as error:
        if place:  # of a site, whose ledger has the digest of report.json
            result.limits.append(f"report {folder.name}: {error}. Only its report.json was compared with the ledger.")
        else:
            result.find(f"report {folder.name}", str(error), file="report.json")
        return []
    except NoReport as error:
        result.find(f"report {folder.name}", str(error), file=f"{place}report.json")
        return []


def _audit_one_report(
    folder: Path,
    key: Key | None,
    kept: Sequence[Checkpoint],
    witnesses: Witnesses,
    signers: Signers,
    result: AuditResult,
) -> None:
    """Verify a report without its ledger. A kept checkpoint anchors it if the report has the one of the same size."""
    own = _audit_report(folder, key, signers, result)
    roots = {each.size: each for each in own}
    for each in anchors(kept, own, witnesses, result):
        same = roots.get(each.size)
        if same is None:
            result.limits.append(
                f"The report has no proof that its ledger extends the kept checkpoint of {each.size} entries; verify "
                "the site's ledger with this checkpoint."
            )
        elif (same.origin, same.root) == (each.origin, each.root) and _is_signed(each, own[0], key, folder):
            result.is_anchored = True
        else:
            message = f"forked: expected the first {each.size} entries to have the kept root, got another"
            result.find("ledger", message, file="checkpoint", first_index=0)


def _is_signed(kept: Checkpoint, own: Checkpoint, key: Key | None, folder: Path) -> bool:
    """Return whether the log that signed the report also signed the kept checkpoint."""
    if kept.note.text == own.note.text:
        return True
    try:
        name, log_key = key or read_key(folder / "log.vkey")
        kept.verify(log_key)
    except (BadSignature, InputError):
        return False
    return name == kept.origin


def _audit_state(
    state: Path,
    key: Key | None,
    kept: Sequence[Checkpoint],
    witnesses: Witnesses,
    signers: Signers,
    result: AuditResult,
    as_of: datetime | None,
) -> None:
    irregular = [find_irregular(state / name, name, result) for name in _FOLDERS]
    if any(irregular):
        result.limits.append("Links and special files are not followed: the other files were not verified.")
        return
    folders = report_folders(state / "reports")
    on_site = _checkpoints_of_reports(folders, result)
    add_ledger(state / "ledger", result, key=key, kept=kept, on_site=on_site, witnesses=witnesses)
    for folder in folders:
        keys = result.ledger.keys if result.ledger else ()
        _audit_report(folder, key, signers, result, f"reports/{folder.name}/", keys)
    try:
        reader = LedgerReader(state / "ledger")
    except InputError:
        return  # already a finding
    check_entries(state / "ledger", result, evidence=state / "evidence", as_of=as_of)
    try:
        compare_evidence(state / "evidence", reader, result)
        compare_reports(state / "reports", reader, result)
        compare_journals(state / "journal", reader, result)
        compare_documents(state / "documents", reader, result, result.ledger.keys if result.ledger else ())
        compare_foreign(state / "foreign", reader, result)
        compare_state_files(state, reader, result)
    except LedgerDamaged as error:  # the damage itself is already a finding
        result.find("ledger", f"evidence, reports and journals: {error.message}; not compared with the ledger")


def _checkpoints_of_reports(folders: Sequence[Path], result: AuditResult) -> list[Checkpoint]:
    """Return two checkpoints per report: the one of its evidence, and the one that covers the report."""
    found = []
    for folder in folders:
        for name in ("checkpoint", PROOF):
            try:
                found.append(read_checkpoint(folder / name))
            except InputError as error:
                place = f"reports/{folder.name}/{name}"
                result.find(f"report {folder.name}", f"{name}: {error.message}", file=place)
    return found
