"""CSV and XLSX: equal bytes for equal reports, no formula, and every open result in a row."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import Any

import pytest
from report_specimens import report_of

from sovctl.compliance.export.csv_file import csv_bytes, harmless
from sovctl.compliance.export.tables import Table, tables
from sovctl.compliance.export.workbook import xlsx_bytes


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = report_of(tmp_path_factory.mktemp("state")).folder
    return json.loads((folder / "report.json").read_text())


def rows(document: Any, name: str) -> list[dict[str, str]]:
    table = next(each for each in tables(document) if each.name == name)
    return list(csv.DictReader(io.StringIO(csv_bytes(table).decode(), newline="")))


def test_every_control_and_record_has_a_row(document: Any) -> None:
    assert [row["control"] for row in rows(document, "controls")] == [each["id"] for each in document["controls"]]
    assert len(rows(document, "evidence")) == len(document["evidence"])
    assert {row["simulated"] for row in rows(document, "evidence")} == {"no"}


def test_findings_have_failures_unknown_results_and_missing_checks(document: Any) -> None:
    found = {(row["check"], row["target"], row["verdict"], row["waiver"]) for row in rows(document, "findings")}
    assert ("perimeter.no-way-out", "gpu-2", "FAIL", "") in found
    assert ("software.packages-held", "gpu-2", "FAIL", "W-1") in found
    assert ("clock.synchronized", "gpu-2", "UNKNOWN", "") in found
    assert ("model.checksum", "all targets", "UNKNOWN", "") in found
    assert all(row["verdict"] != "PASS" for row in rows(document, "findings"))


def test_open_items_have_owner_and_date_or_say_missing(document: Any) -> None:
    found = {(row["check"], row["kind"], row["deadline"]) for row in rows(document, "poam")}
    assert ("software.packages-held", "waived", "2026-12-01") in found
    assert {row["owner"] for row in rows(document, "poam") if row["kind"] == "finding"} == {"MISSING"}
    assert all(row["deadline"] for row in rows(document, "poam"))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", " =1"])
def test_a_text_that_begins_like_a_formula_is_made_harmless(text: str) -> None:
    assert harmless(text) == f"'{text}"
    data = csv_bytes(Table("t", ("a",), [(text,)]))
    assert list(csv.reader(io.StringIO(data.decode(), newline="")))[1] == [f"'{text}"]


def test_other_cells_are_unchanged() -> None:
    assert [harmless(each) for each in ("x=1", "", -1, 0, "a-b")] == ["x=1", "", -1, 0, "a-b"]


def test_workbook_is_deterministic_and_has_no_formula(document: Any) -> None:
    evil = tables(document)[0]
    evil = Table(evil.name, evil.columns, [("=1+1", *evil.rows[0][1:]), *evil.rows[1:]])
    first = xlsx_bytes(document, [evil, *tables(document)[1:]])
    assert xlsx_bytes(document, [evil, *tables(document)[1:]]) == first
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        sheets = {name: archive.read(name) for name in archive.namelist() if "worksheets/" in name}
        book = archive.read("xl/workbook.xml").decode()
        assert b"2026-11-21T10:30:00Z" in archive.read("docProps/core.xml")
    assert len(sheets) == 6
    assert all(f'name="{name}"' in book for name in ("report", "controls", "findings", "evidence", "poam", "foreign"))
    assert any(b"=1+1" in data for data in sheets.values())
    assert not any(b"<f>" in data or b"<hyperlink" in data for data in sheets.values())


def test_a_text_longer_than_a_cell_is_cut_and_says_so(document: Any) -> None:
    data = xlsx_bytes(document, [Table("long", ("reason",), [("x" * 40000,)])])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert b"[cut: report.json has the whole text]" in archive.read("xl/worksheets/sheet2.xml")
