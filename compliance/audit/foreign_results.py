"""Verifies the results of other tools in a report: each is logged, and shows what its file holds."""

from __future__ import annotations

from typing import Any

from sovctl.support.plain_json import decode_base64, plain_json, sha256_hex

from ..evidence.layout import is_sha256
from ..ledger.checkpoint import Checkpoint
from ..ledger.merkle import leaf_hash
from ..ledger.proof import verify_inclusion
from .audited_report import AuditedReport, Wrong
from .files import MAX_DOCUMENT_BYTES, content, parse_object


def verify_foreign_results(report: AuditedReport) -> list[Checkpoint]:
    """Compare the results of other tools with their ledger entries. Their rows are in files that the entries name."""
    checkpoint = report.open_checkpoint(report.document["ledger"]["checkpoint"])
    imports = report.document.get("foreign", [])
    for item in imports:
        entry, index, source = item["leaf"], item["leaf_index"], item["source"]
        where = f"foreign results of {source['tool']}"
        path = [decode_base64(value) for value in item["proof"]]
        if not verify_inclusion(leaf_hash(plain_json(entry)), index, checkpoint.size, path, checkpoint.root):
            report.find(f"{where}: expected entry {index} of the ledger, got no proof of it", first_index=index)
        if not is_sha256(source["sha256"]):
            raise Wrong(f"{where}: expected a SHA-256 digest as the name of its file")
        name = f"foreign/{source['sha256']}.json"
        data = content(report.folder / name, limit_bytes=MAX_DOCUMENT_BYTES) or b""
        logged = (entry["type"], entry["original_sha256"], entry["results_sha256"])
        if logged != ("foreign-evidence", source["sha256"], sha256_hex(data)):
            report.find(f"{where}: expected the file and the results that were logged, got others", name)
            continue
        stored = parse_object(data)
        fields = ("source", "imported", "operator", "mapping", "outcomes")
        rows = {
            _foreign_row(row, row["controls"].get(report.document["pack"]["name"], [])) for row in stored["results"]
        }
        shown = {_foreign_row(row, row["controls"]) for row in item["rows"]}
        if any(item[field] != stored[field] for field in fields) or not shown <= rows:
            report.find(f"{where}: expected the results of {name}, got others")
    if imports:
        report.result.facts.append(f"{report.area}: foreign results: {len(imports)} files, as in the ledger")
    return []


def _foreign_row(row: dict[str, Any], controls: list[str]) -> bytes:
    return plain_json(row | {"controls": controls})
