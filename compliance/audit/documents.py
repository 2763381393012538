"""Compares the folders of documents of a site with its ledger: each logged folder exists, with exactly its files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sovctl.support.errors import SovctlError
from sovctl.support.plain_json import decode_base64, plain_json

from ..ledger.checkpoint import Checkpoint, parse_checkpoint
from ..ledger.merkle import leaf_hash
from ..ledger.proof import verify_inclusion
from ..ledger.reader import LedgerReader
from ..verify_key import BadSignature, parse_vkey
from .files import content, file_names, file_sha256, parse_object
from .result import AuditResult

AREA = "documents"
MANIFEST = "manifest.json"
PROOF = "documents.tlog-proof"


def compare_documents(documents: Path, reader: LedgerReader, result: AuditResult, keys: Sequence[str] = ()) -> None:
    """Check every logged folder of documents, and every further file.

    Args:
        documents: parent of the folders; its files are reported as `documents/...`.
        keys: keys of the ledger before and after rotations, as .vkey text.
    """
    logged: dict[str, tuple[int, dict[str, Any]]] = {}
    for entry in reader.entries():
        if b'"type":"documents"' in entry.data and (record := entry.record).get("type") == AREA:
            logged[str(record.get("folder"))] = (entry.leaf_index, record)
    known = (reader.vkey_text(), *keys)
    for name, (index, record) in sorted(logged.items()):
        _compare(documents / name, index, record, known, result)
    if logged:
        result.facts.append(f"{AREA}: {len(logged)} folders were compared with the ledger")
    for path in sorted(documents.glob("*")) if documents.is_dir() else []:
        if path.name.startswith(".") and path.is_dir():
            note = f"{AREA}: {path.name} is an interrupted folder; `sovctl report documents` completes or removes it"
            result.notes.append(note)
        elif path.name not in logged:
            result.find(AREA, f"{path.name}: no ledger entry of this folder", file=f"{AREA}/{path.name}")


def _compare(folder: Path, index: int, record: dict[str, Any], keys: Sequence[str], result: AuditResult) -> None:
    place = f"{AREA}/{folder.name}"
    if not folder.is_dir():
        message = f"{place}: the folder of ledger entry {index} is missing"
        result.find(AREA, message, file=place, first_index=index)
        return
    expected = {MANIFEST: record.get("manifest_sha256"), **dict(record.get("files", {}))}
    for name, digest in sorted(expected.items()):
        found = file_sha256(folder / name)
        if found != digest:
            got = "another" if found else "no file"
            message = f"{name}: expected the content that was logged, got {got}"
            result.find(AREA, message, file=f"{place}/{name}", first_index=index)
    for name in sorted(set(file_names(folder)) - expected.keys() - {PROOF}):
        result.find(AREA, f"{name}: unknown file", file=f"{place}/{name}")
    if not _is_proven(folder / PROOF, index, record, keys):
        message = f"{PROOF}: expected a proof of ledger entry {index}, got none or another"
        result.find(AREA, message, file=f"{place}/{PROOF}", first_index=index)


def _is_proven(path: Path, index: int, record: dict[str, Any], keys: Sequence[str]) -> bool:
    """Return whether a proof (C2SP tlog-proof) shows that the ledger has `record` at `index`."""
    try:
        head, _, text = (content(path) or b"").decode().partition("\n\n")
        version, extra, number, *hashes = head.split("\n")
        checkpoint = parse_checkpoint(text)
        if not any(_is_signed(checkpoint, each) for each in keys):
            return False
        is_same = parse_object(decode_base64(extra.removeprefix("extra ")))["record"] == record
        leaf = leaf_hash(plain_json(record))
        proof = [decode_base64(each) for each in hashes]
    except (ValueError, KeyError, TypeError, SovctlError):
        return False
    is_named = (version, number) == ("c2sp.org/tlog-proof@v1", f"index {index}")
    return is_same and is_named and verify_inclusion(leaf, index, checkpoint.size, proof, checkpoint.root)


def _is_signed(checkpoint: Checkpoint, vkey: str) -> bool:
    try:
        checkpoint.verify(parse_vkey(vkey)[1])
    except (BadSignature, SovctlError):
        return False
    return True
