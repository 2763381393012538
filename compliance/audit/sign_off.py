"""Signs a report as a person: a detached statement over all its files, next to the report.

    sign_report(folder, key, name="officer.example", time="2026-11-21T12:00:00Z")

The report is verified first, and a report with a finding is not signed. Each key has its own file, so that a second
person signs on another machine, and only the file is carried back.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError, SovctlError
from sovctl.support.operator_name import operator_name

from ..attestation import sign, statement
from ..ledger import state_files
from ..ledger.format import CHECKPOINT
from ..verify_key import Signer
from .report_folder import signed_files, verify_report
from .result import AuditResult
from .signatures import FOLDER as SIGNATURES
from .signatures import signature_file

PROPERTIES = ("SOVCTL_REPORT_VERIFIED", "SOVCTL_REPORT_APPROVED")
VERIFIER = "https://sovctl.example/verifier/report/1"


class ReportRefused(SovctlError):
    """The report has findings and is not signed."""


def sign_report(
    folder: Path,
    key: Signer,
    *,
    name: str,
    time: str,
    record: Callable[[dict[str, Any]], object] = lambda _: None,
) -> Path:
    """Verify a report, and write the signature of one key. Returns the file.

    Args:
        name: of the signer, without spaces; as in the .vkey file.
        time: UTC, such as `2026-11-21T12:00:00Z`.
        record: called with the ledger record before the signature is written; if it raises, nothing is written.

    Raises:
        InputError: no report, or the key has signed it.
        ReportRefused: the report has a finding.
    """
    if not (folder / "report.json").is_file():
        raise InputError("no report found", where=str(folder), hint="give the folder of a report")
    result = AuditResult()
    verify_report(folder, result)
    if result.findings:
        raise ReportRefused(
            f"the report has {len(result.findings)} findings, the first: {result.findings[0]}",
            where=str(folder),
            hint=f"list them with `sovctl audit verify {folder}`",
        )
    path = folder / signature_file(key.public)
    if path.exists():
        raise InputError("this key has signed the report", where=str(path))
    files = signed_files(folder)
    predicate: dict[str, Any] = {
        "verifier": {"id": VERIFIER, "name": key.public.vkey(name)},
        "timeCreated": time,
        "properties": list(PROPERTIES),
    }
    envelope = sign(statement(files, predicate), key)
    content = (json.dumps(envelope, indent=1, sort_keys=True) + "\n").encode()
    entry = _ledger_record(folder.resolve().name, path.name, content, key, time)
    record(entry | {"report_sha256": files.get("report.json", "")})
    write_atomic(path, content)
    return path


def state_of(folder: Path) -> Path | None:
    """Return the state folder whose report is in `folder`; None if the report is not in one with a ledger."""
    parent = folder.resolve().parent
    state = parent.parent
    return state if parent.name == "reports" and (state / "ledger" / CHECKPOINT).is_file() else None


def _ledger_record(folder: str, file: str, content: bytes, key: Signer, time: str) -> dict[str, Any]:
    """Return the record of a signature. The name of the signer is only in the signature."""
    return {
        "type": state_files.REPORT_SIGNED,
        "time": time,
        "operator": operator_name(),
        "folder": folder,
        "key_id": key.public.keyid,
        state_files.FIELD: state_files.digests({f"reports/{folder}/{SIGNATURES}/{file}": content}),
    }
