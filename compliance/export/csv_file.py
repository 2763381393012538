"""Writes a table as CSV (RFC 4180, UTF-8). Pure.

A text that a spreadsheet would run as a formula begins with an apostrophe. Source: OWASP, CSV Injection, read 2026-11.
"""

from __future__ import annotations

import csv
import io

from .tables import Cell, Table

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_bytes(table: Table) -> bytes:
    """Return the content of the CSV file of a table, with a header line."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(table.columns)
    writer.writerows([harmless(cell) for cell in row] for row in table.rows)
    return buffer.getvalue().encode()


def harmless(cell: Cell) -> Cell:
    """Return a cell that no spreadsheet runs as a formula; numbers are unchanged."""
    if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULA):
        return f"'{cell}"
    return cell
