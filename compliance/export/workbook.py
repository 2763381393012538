"""Writes all tables of a report as one XLSX workbook. Deterministic: the only time in it is that of the report.

Texts are never written as formulas, links or numbers. Library: XlsxWriter (BSD-2-Clause, no dependencies).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from .tables import Table

_MAX_TEXT = 32767  # characters of a cell; Microsoft, "Excel specifications and limits", read 2026-11
_CUT = " [cut: report.json has the whole text]"
_WIDTHS = {"title": 40, "reasons": 60, "reason": 60, "objectives": 50, "because": 40, "requires_people": 40}
_WIDTH = 16
_COLOURS = {"pass": "#1b7f3b", "fail": "#b3261e", "error": "#b3261e", "waived": "#8a5a00"}


def xlsx_bytes(document: Mapping[str, Any], tables: Sequence[Table]) -> bytes:
    """Return the content of the XLSX file: a sheet about the report, and one for each table."""
    from xlsxwriter import Workbook

    buffer = io.BytesIO()
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with Workbook(buffer, options) as book:
        title = f"{document['subject']['site']}: {document['pack']['title']}"
        book.set_properties({"title": title, "created": datetime.fromisoformat(document["generated"])})
        bold = book.add_format({"bold": True})
        _head(book.add_worksheet("report"), document, bold)
        colours = {state: book.add_format({"font_color": colour}) for state, colour in _COLOURS.items()}
        for table in tables:
            _sheet(book.add_worksheet(table.name), table, bold, colours)
    return buffer.getvalue()


def _head(sheet: Any, document: Mapping[str, Any], bold: Any) -> None:
    rows = [
        ("site", document["subject"]["site"]),
        ("framework", document["pack"]["title"]),
        ("result", document["summary"]["sentence"]),
        ("generated", document["generated"]),
        ("run", document["run"]["id"]),
        ("simulated", "SIMULATED: proves nothing about a real site" if document["simulated"] else "no"),
        ("statement", document["statement"]),
        *(("limit", limit) for limit in document["limits"]),
    ]
    sheet.set_column(0, 0, _WIDTH)
    sheet.set_column(1, 1, 120)
    for number, (name, text) in enumerate(rows):
        sheet.write_string(number, 0, name, bold)
        sheet.write_string(number, 1, _fitting(text))


def _sheet(sheet: Any, table: Table, bold: Any, colours: Mapping[str, Any]) -> None:
    for number, name in enumerate(table.columns):
        sheet.set_column(number, number, _WIDTHS.get(name, _WIDTH))
        sheet.write_string(0, number, name, bold)
    sheet.freeze_panes(1, 1)
    sheet.autofilter(0, 0, max(len(table.rows), 1), len(table.columns) - 1)
    state = table.columns.index("state") if "state" in table.columns else None
    for row, cells in enumerate(table.rows, start=1):
        for number, cell in enumerate(cells):
            if isinstance(cell, int):
                sheet.write_number(row, number, cell)
            elif cell:
                sheet.write_string(row, number, _fitting(cell), colours.get(cell) if number == state else None)


def _fitting(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - len(_CUT)] + _CUT
