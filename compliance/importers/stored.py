"""Reads the imported files of a site back, and compares each with its ledger entry."""

from __future__ import annotations

from pathlib import Path

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from ..evidence.layout import is_sha256
from ..ledger.reader import LedgerReader
from ..report.foreign import ForeignImport
from .store import RESULTS


def read_imports(parent: Path, reader: LedgerReader) -> list[ForeignImport]:
    """Return the imports that the state contains, in ledger order.

    A file that was removed and imported again counts with its newest entry. An import whose folder was removed is
    omitted; `sovctl audit verify` reports it.

    Args:
        parent: the folder `foreign` of the site's state.

    Raises:
        InputError: the results differ from the ledger.
    """
    newest: dict[str, ForeignImport] = {}
    for entry in reader.entries():
        if b'"type":"foreign-evidence"' not in entry.data or entry.record.get("type") != "foreign-evidence":
            continue
        folder = str(entry.record.get("folder"))
        newest.pop(folder, None)
        if is_sha256(folder) and (parent / folder).is_dir():
            newest[folder] = ForeignImport(entry.leaf_index, entry.record, b"")
    return [_read(parent / folder / RESULTS, each) for folder, each in newest.items()]


def _read(path: Path, each: ForeignImport) -> ForeignImport:
    content = path.read_bytes() if path.is_file() else b""
    if sha256_hex(content) != each.leaf["results_sha256"]:
        raise InputError(
            "the imported results differ from the ledger",
            where=str(path),
            hint="list all findings with `sovctl audit verify`",
        )
    return ForeignImport(each.leaf_index, each.leaf, content)
