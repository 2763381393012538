"""The files of a report folder, without raw output and the proof of the ledger entry. Pure, except for the verifier.

Equal documents give equal bytes: the only time is `generated` of the document.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sovctl.support.canonical_json import sha256_hex

from ..export.csv_file import csv_bytes
from ..export.tables import tables
from ..export.workbook import xlsx_bytes
from ..oscal.package import build_package
from .document import document_bytes
from .foreign import ForeignImport
from .html import render_html
from .pdf import FILE_NAME as PDF
from .pdf import render_pdf
from .verifier_archive import FILE_NAME, build

OSCAL_FOLDER, TABLES_FOLDER, SUMS = "oscal", "tables", "SHA256SUMS"


def artifacts(
    document: Mapping[str, Any], raw: Collection[str], foreign: Sequence[ForeignImport] = (), *, pdf: bool = False
) -> dict[str, bytes]:
    """Return the content of each file by its path in the folder.

    Args:
        raw: digests of the raw outputs, which the folder has as `raw/<sha256>`.
        foreign: results of other tools in the document.
        pdf: add `report.pdf`.

    Raises:
        MissingTool: `pdf`, and its extra is not installed.
        OscalInvalid: an OSCAL document is invalid.
    """
    data = document_bytes(document)
    files = {
        "report.json": data,
        "checkpoint": document["ledger"]["checkpoint"].encode(),
        "log.vkey": (document["ledger"]["vkey"] + "\n").encode(),
        FILE_NAME: build(),
        **{each.path: each.content for each in foreign},
    }
    report_sha256 = sha256_hex(data)
    digests = {f"../raw/{each}": each for each in raw} | {"../report.json": report_sha256}
    digests |= {f"../{each.path}": sha256_hex(each.content) for each in foreign}
    package = build_package(document, report_sha256=report_sha256, digest_of=digests.get)
    files |= {f"{OSCAL_FOLDER}/{name}": content for name, content in package.items()}
    found = tables(document)
    files |= {f"{TABLES_FOLDER}/{table.name}.csv": csv_bytes(table) for table in found}
    files["report.xlsx"] = xlsx_bytes(document, found)
    if pdf:
        files[PDF] = render_pdf(document, files=[*files, "report.html", SUMS])
    files["report.html"] = render_html(document, files=[*files, SUMS]).encode()
    return files | {SUMS: _sums({name: sha256_hex(content) for name, content in files.items()}, raw)}


def _sums(files: Mapping[str, str], raw: Collection[str]) -> bytes:
    """Return the digests of all files, for `sha256sum --check`; the file does not contain itself and the proof."""
    digests = {**files, **{f"raw/{each}": each for each in raw}}
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests)).encode()
