"""Foreign results in a report: shown as foreign in every format, verified, and without effect on a control."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from evidence_specimens import fill, made, open_ledger
from foreign_specimens import FILES
from page_browser import browsers, set_width
from selenium.webdriver import Chrome

from sovctl.compliance.audit.report_folder import verify_report
from sovctl.compliance.audit.result import AuditResult
from sovctl.compliance.controls.framework import builtin_pack, load_pack
from sovctl.compliance.importers.formats import parse
from sovctl.compliance.importers.mapping import RuleMapping, mapping_of
from sovctl.compliance.importers.store import store
from sovctl.compliance.importers.stored import read_imports
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.report.document import Subject, document_bytes
from sovctl.compliance.report.publish import Published, publish
from sovctl.support.errors import InputError

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
PACK = load_pack(builtin_pack("nist-800-53-low"))
MAPPING = {
    "mapping": "m",
    "tool": "openscap",
    "reviewed_by": "security office",
    "reviewed": "2026-11-20",
    "controls": {"xccdf_test_rule_a": {"nist-800-53-low": ["cm-7"]}},
}


def add_import(state: Path) -> None:
    text, problems = mapping_of(MAPPING, [PACK], NOW.date())
    assert text is not None, problems
    data = FILES["xccdf"]
    with open_ledger(state) as ledger:
        store(
            data,
            parse(data, format_name="xccdf", where=Path("f")),
            parent=state / "foreign",
            ledger=ledger,
            file_name="results.xml",
            imported=NOW,
            operator="ops",
            mapping=RuleMapping(text, "5" * 64),
        )


def published(state: Path) -> Published:
    with open_ledger(state) as ledger:
        return publish(
            evidence=state / "evidence",
            reports=state / "reports",
            ledger=ledger,
            pack=PACK,
            subject=Subject("test-site"),
            generated=NOW,
            tool_version="0.1.0",
            foreign=read_imports(state / "foreign", LedgerReader(state / "ledger")),
        )


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    state = tmp_path_factory.mktemp("state")
    fill(state, [made("clock.drift")])
    return state


@pytest.fixture(scope="module")
def reports(state: Path) -> tuple[Published, Published]:
    """A report without an import, and one with it."""
    without = published(state)
    add_import(state)
    return without, published(state)


@pytest.fixture(scope="module")
def open_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Chrome]]:
    yield from browsers(tmp_path_factory)


@pytest.fixture
def folder(reports: tuple[Published, Published], tmp_path: Path) -> Path:
    return Path(shutil.copytree(reports[1].folder, tmp_path / "report"))


def findings(folder: Path) -> list[str]:
    result = AuditResult()
    verify_report(folder, result)
    return [str(finding) for finding in result.findings]


def test_report_states_tool_digest_time_and_mapping(reports: tuple[Published, Published]) -> None:
    (each,) = reports[1].document["foreign"]
    assert (each["source"]["tool"], each["source"]["file"]) == ("openscap", "results.xml")
    assert each["imported"] == "2026-11-28T12:00:00Z"
    assert each["file"] == f"foreign/{each['source']['sha256']}.json"
    assert each["total"] == 2
    assert {"xccdf_test_rule_a": ["cm-7"]}.items() <= {row["rule"]: row["controls"] for row in each["rows"]}.items()
    page = (reports[1].folder / "report.html").read_text()
    assert "FOREIGN: openscap" in page
    assert each["source"]["sha256"] in page


def test_mapping_does_not_change_the_state_of_a_control(reports: tuple[Published, Published]) -> None:
    without, with_import = (each.document for each in reports)
    assert with_import["controls"] == without["controls"]
    assert with_import["summary"] == without["summary"]


def test_tables_and_oscal_name_the_other_tool(reports: tuple[Published, Published]) -> None:
    (each,) = reports[1].document["foreign"]
    with (reports[1].folder / "tables" / "foreign.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["rule"] for row in rows] == [row["rule"] for row in each["rows"]]
    assert {(row["tool"], row["file_sha256"]) for row in rows} == {("openscap", each["source"]["sha256"])}
    document = json.loads((reports[1].folder / "oscal" / "assessment-results.json").read_bytes())
    (result,) = document["assessment-results"]["results"]
    (found,) = (item for item in result["observations"] if item["types"] == ["foreign-result"])
    (tool,) = result["local-definitions"]["components"]
    assert found["origins"][0]["actors"][0]["actor-uuid"] == tool["uuid"]
    assert tool["title"] == "openscap"
    related = {each["observation-uuid"] for f in result["findings"] for each in f.get("related-observations", ())}
    assert found["uuid"] not in related


def test_report_verifies(folder: Path) -> None:
    assert findings(folder) == []


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def apply(folder: Path) -> None:
        document = json.loads((folder / "report.json").read_bytes())
        change(document["foreign"][0])
        (folder / "report.json").write_bytes(document_bytes(document))

    return apply


@pytest.mark.parametrize(
    "damage",
    [
        edited(lambda each: each["rows"][0].update(outcome="pass", title="other")),
        edited(lambda each: each["rows"][0].update(controls=["ac-1"])),
        edited(lambda each: each["source"].update(tool="other")),
        edited(lambda each: each["leaf"].update(results_sha256="0" * 64)),
        edited(lambda each: each.update(proof=[])),
        lambda folder: next((folder / "foreign").iterdir()).write_text("{}"),
    ],
    ids=["outcome", "controls", "tool", "leaf", "proof", "file"],
)
def test_verifier_finds_changed_foreign_results(folder: Path, damage: Callable[[Path], object]) -> None:
    damage(folder)
    assert any("foreign results of" in each for each in findings(folder))


def test_refuses_changed_and_omits_removed_imports(tmp_path: Path) -> None:
    fill(tmp_path, [made("clock.drift")])
    add_import(tmp_path)
    (folder,) = (tmp_path / "foreign").iterdir()
    (folder / "results.json").write_text("{}")
    with pytest.raises(InputError, match="differ from the ledger"):
        read_imports(tmp_path / "foreign", LedgerReader(tmp_path / "ledger"))
    shutil.rmtree(folder)
    assert read_imports(tmp_path / "foreign", LedgerReader(tmp_path / "ledger")) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_with_foreign_results_fits_each_width_without_a_message(
    folder: Path, scheme: str, open_browser: Callable[..., Chrome]
) -> None:
    browser = open_browser(scheme=scheme)
    for width in (360, 900, 1400):
        set_width(browser, width)
        browser.get((folder / "report.html").as_uri())
        script = "const it = document.documentElement; return [it.scrollWidth, it.clientWidth]"
        content, window = browser.execute_script(script)
        assert content <= window, width
        words = browser.execute_script("return document.querySelector('.foreign').innerText")
        assert words.startswith("FOREIGN: openscap 1.3.7")
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
