"""Stores foreign results next to the evidence, and records them in the ledger.

    foreign/<SHA-256 of the file>/
      original        the imported file           results.json    its results, marked as foreign

The folder is written under a hidden name, recorded in the ledger, and renamed. A file is imported once; another
mapping of the same file is a new import after the folder was removed from the state, which the ledger shows."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import sync_folder, write_many
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from ..ledger.reader import LedgerReader
from ..ledger.store import Ledger
from .foreign import ForeignFile, ForeignResult
from .mapping import RuleMapping

FORMAT = "sovctl-foreign-v1"
ORIGINAL, RESULTS = "original", "results.json"
STATEMENT = "Foreign results: written by another tool, and not evidence of a check of sovctl. They decide no control."


@dataclass(frozen=True)
class Imported:
    """A stored file of another tool."""

    folder: Path
    leaf_index: int
    document: Mapping[str, Any]


def store(
    data: bytes,
    found: ForeignFile,
    *,
    parent: Path,
    ledger: Ledger,
    file_name: str,
    imported: datetime,
    operator: str,
    mapping: RuleMapping | None = None,
) -> Imported:
    """Store one file and its results.

    Args:
        parent: the folder `foreign` of the site's state.
        file_name: name of the file, without its folder.

    Raises:
        InputError: the file was imported before, or the mapping is of another tool.
        LedgerUnwritable: the import could not be logged and was not stored.
    """
    digest = sha256_hex(data)
    folder = parent / digest
    _remove_drafts(parent, ledger)
    if folder.exists():
        raise InputError("the file was imported before", where=str(folder), hint="read results.json of this folder")
    if mapping is not None and mapping.text.tool.casefold() != found.tool.casefold():
        message = f"expected a mapping of {found.tool}, got one of {mapping.text.tool}"
        raise InputError(message, where="--mapping", hint="use the mapping of this tool")
    document = _document(found, digest, file_name, imported, operator, mapping)
    content = (json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
    record = {
        "type": "foreign-evidence",
        "time": document["imported"],
        "folder": digest,
        "format": found.format,
        "tool": found.tool,
        "tool_version": found.version,
        "original_sha256": digest,
        "results_sha256": sha256_hex(content),
        "mapping_sha256": mapping.sha256 if mapping else None,
        "outcomes": document["outcomes"],
    }
    parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    draft = parent / f".{digest}.{os.getpid()}.new"
    try:
        write_many({draft / ORIGINAL: data, draft / RESULTS: content})
        leaf_index = ledger.append([record])[0]
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    draft.rename(folder)
    sync_folder(parent)
    return Imported(folder, leaf_index, document)


def _remove_drafts(parent: Path, ledger: Ledger) -> None:
    """Complete the drafts of killed imports that are in the ledger, and remove the others."""
    drafts = {path.name.lstrip(".").partition(".")[0]: path for path in parent.glob(".*.new")}
    if not drafts:
        return
    for entry in LedgerReader(ledger.directory).entries():
        if b'"type":"foreign-evidence"' in entry.data and (folder := str(entry.record.get("folder"))) in drafts:
            draft = drafts.pop(folder)
            if not (parent / folder).exists():
                draft.rename(parent / folder)
    for path in drafts.values():
        shutil.rmtree(path, ignore_errors=True)
    sync_folder(parent)


def _document(
    found: ForeignFile,
    digest: str,
    file_name: str,
    imported: datetime,
    operator: str,
    mapping: RuleMapping | None,
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "statement": STATEMENT,
        "foreign": True,
        "source": {
            "format": found.format,
            "tool": found.tool,
            "tool_version": found.version,
            "content": found.content,
            "started": found.started,
            "ended": found.ended,
            "file": file_name,
            "sha256": digest,
        },
        "imported": f"{imported:%Y-%m-%dT%H:%M:%SZ}",
        "operator": operator,
        "mapping": _mapping(mapping),
        "outcomes": {outcome.value: number for outcome, number in found.counts().items()},
        "results": [_result(each, mapping) for each in found.results],
    }


def _mapping(mapping: RuleMapping | None) -> dict[str, str] | None:
    if mapping is None:
        return None
    text = mapping.text
    return {
        "name": text.mapping,
        "sha256": mapping.sha256,
        "reviewed_by": text.reviewed_by,
        "reviewed": text.reviewed.isoformat(),
    }


def _result(each: ForeignResult, mapping: RuleMapping | None) -> dict[str, Any]:
    return {
        "rule": each.rule,
        "outcome": each.outcome.value,
        "title": each.title,
        "severity": each.severity,
        "target": each.target,
        "controls": mapping.controls_of(each.rule) if mapping else {},
    }
