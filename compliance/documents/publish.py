"""Writes the folder of the documents atomically, and records it in the ledger.

    documents/<time>/          (or <time>.2, .3, ... for further ones of the second)
      gdpr-art-30.md, .json ...  the documents          sbom.cdx.json, ml-bom.cdx.json   bills of materials
      manifest.json              digests of all files   checkpoint, log.vkey             for an auditor to keep
      documents.tlog-proof       proof that the ledger has the manifest

Order: all files are written to a hidden folder, their digests are appended to the ledger, the proof of that entry is
added, and the folder is renamed. After a crash, the next call completes a hidden folder whose manifest is in the
ledger, and removes others. Two calls with equal sources write equal files, except `manifest.json`, which states the
time."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import sync_folder, write_atomic, write_many
from sovctl.support.canonical_json import sha256_hex

from ..ledger.reader import LedgerReader
from ..ledger.store import Ledger
from ..report.publish import tlog_proof

FORMAT = "sovctl-documents-v1"
MANIFEST = "manifest.json"
PROOF = "documents.tlog-proof"


@dataclass(frozen=True)
class Subject:
    """The site and the evidence of the documents.

    Args:
        run_id: run of the evidence; empty without usable evidence.
        spec_sha256: digest of site.yaml.
        simulated: whether any value is from simulated hardware.
        missing: number of MISSING fields in all documents.
        findings: number of findings in all documents.
    """

    site: str
    run_id: str
    spec_sha256: str
    simulated: bool
    missing: int
    findings: int


@dataclass(frozen=True)
class Published:
    """A stored folder of documents."""

    folder: Path
    leaf_index: int
    """Index of the ledger entry."""


def publish(
    contents: Mapping[str, bytes],
    *,
    parent: Path,
    ledger: Ledger,
    subject: Subject,
    generated: datetime,
    tool_version: str,
) -> Published:
    """Write, log and store documents.

    Args:
        contents: files by name, without manifest and proof.
        parent: parent of the new folder.
        ledger: open for writing.
        generated: current time (UTC).

    Raises:
        LedgerUnwritable: the documents could not be logged and were not written.
    """
    _complete_drafts(parent, ledger)
    checkpoint = ledger.checkpoint()
    files = {
        **contents,
        "checkpoint": checkpoint.text.encode(),
        "log.vkey": (LedgerReader(ledger.directory).vkey_text().strip() + "\n").encode(),
    }
    digests = {name: sha256_hex(content) for name, content in sorted(files.items())}
    manifest = _json(
        {
            "format": FORMAT,
            "generated": f"{generated:%Y-%m-%dT%H:%M:%SZ}",
            "tool_version": tool_version,
            **vars(subject),
            "ledger_size": checkpoint.size,
            "files": digests,
        }
    )
    folder = _free_folder(parent, f"{generated:%Y%m%dT%H%M%SZ}")
    draft = parent / f".{folder.name}.{os.getpid()}.new"
    record = {
        "type": "documents",
        "folder": folder.name,
        "run_id": subject.run_id,
        "manifest_sha256": sha256_hex(manifest),
        "files": digests,
        "missing": subject.missing,
        "findings": subject.findings,
        "simulated": subject.simulated,
    }
    try:
        write_many({draft / name: content for name, content in (files | {MANIFEST: manifest}).items()})
        leaf_index = ledger.append([record])[0]
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    _finish(draft, folder, ledger, record, leaf_index, since=checkpoint.size)
    return Published(folder, leaf_index)


def _finish(
    draft: Path, folder: Path, ledger: Ledger, record: Mapping[str, Any], leaf_index: int, *, since: int
) -> None:
    """Add the proof of the ledger entry, and rename the folder. Repeatable after a crash."""
    write_atomic(draft / PROOF, tlog_proof(ledger, record, leaf_index, since=since))
    draft.rename(folder)
    sync_folder(folder.parent)


def _complete_drafts(parent: Path, ledger: Ledger) -> None:
    """Complete the drafts of killed calls that are in the ledger, and remove the others."""
    drafts = {_digest(path / MANIFEST): path for path in parent.glob(".*.new")}
    if drafts:
        for entry in LedgerReader(ledger.directory).entries():
            record = entry.record if b'"type":"documents"' in entry.data else {}
            folder = parent / Path(str(record.get("folder", ""))).name
            if record.get("type") == "documents" and record["manifest_sha256"] in drafts and not folder.exists():
                draft = drafts.pop(record["manifest_sha256"])
                since = json.loads((draft / MANIFEST).read_bytes())["ledger_size"]
                _finish(draft, folder, ledger, record, entry.leaf_index, since=since)
    for path in drafts.values():
        shutil.rmtree(path, ignore_errors=True)


def _digest(path: Path) -> str:
    try:
        return sha256_hex(path.read_bytes())
    except OSError:
        return str(path)  # never equal to a digest


def _free_folder(parent: Path, name: str) -> Path:
    parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    folder, number = parent / name, 1
    while folder.exists():
        number += 1
        folder = parent / f"{name}.{number}"
    return folder


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
