"""Stored foreign results: marked, logged, mapped explicitly only, and compared by the audit."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from evidence_specimens import fill, made, open_ledger
from foreign_specimens import FILES

from sovctl.compliance.audit.site import audit
from sovctl.compliance.controls.framework import builtin_pack, load_pack
from sovctl.compliance.controls.pack import Pack
from sovctl.compliance.importers.formats import parse
from sovctl.compliance.importers.mapping import MappingText, RuleMapping, load_mapping, mapping_of
from sovctl.compliance.importers.store import Imported, store
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.support.errors import InputError, SpecError

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
TODAY = date(2026, 11, 28)
MAPPING = {
    "mapping": "m",
    "tool": "OpenSCAP",
    "reviewed_by": "security office",
    "reviewed": "2026-11-20",
    "controls": {"xccdf_test_rule_a": {"nist-800-53-low": ["cm-7"]}},
}


def packs() -> list[Pack]:
    return [load_pack(builtin_pack("nist-800-53-low"))]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    fill(tmp_path, [made("clock.drift")])
    return tmp_path


def imported(state: Path, format_name: str = "xccdf", mapping: RuleMapping | None = None) -> Imported:
    data = FILES[format_name]
    found = parse(data, format_name=format_name, where=Path("f"))
    with open_ledger(state) as ledger:
        return store(
            data,
            found,
            parent=state / "foreign",
            ledger=ledger,
            file_name="results.xml",
            imported=NOW,
            operator="ops",
            mapping=mapping,
        )


def mapping(**changes: object) -> RuleMapping:
    found, problems = mapping_of(MAPPING | changes, packs(), TODAY)
    assert isinstance(found, MappingText), problems
    assert problems == []
    return RuleMapping(found, "5" * 64)


def test_results_are_marked_foreign_with_tool_version_and_digest(state: Path) -> None:
    made = imported(state)
    document = json.loads((made.folder / "results.json").read_bytes())
    assert document["foreign"] is True
    assert document["source"]["tool"] == "openscap"
    assert document["source"]["tool_version"] == "1.3.7"
    assert document["source"]["sha256"] == made.folder.name
    assert (made.folder / "original").read_bytes() == FILES["xccdf"]
    entry = list(LedgerReader(state / "ledger").entries())[made.leaf_index].record
    assert (entry["type"], entry["tool"], entry["outcomes"]) == ("foreign-evidence", "openscap", {"fail": 1, "pass": 1})


def test_a_rule_is_mapped_by_the_mapping_only(state: Path) -> None:
    assert [each["controls"] for each in imported(state).document["results"]] == [{}, {}]
    with_mapping = imported(state, "arf", mapping()).document["results"]
    assert [each["controls"] for each in with_mapping] == [{"nist-800-53-low": ["cm-7"]}, {}]
    assert all(not each["controls"] for each in imported(state, "hdf").document["results"]), (
        "NIST tags are not a mapping"
    )


def test_a_mapping_of_another_tool_stores_nothing(state: Path) -> None:
    size = LedgerReader(state / "ledger").checkpoint.size
    with pytest.raises(InputError, match="expected a mapping of grype"):
        imported(state, "grype", mapping())
    assert list((state / "foreign").glob("*")) == []
    assert LedgerReader(state / "ledger").checkpoint.size == size


def test_a_file_is_imported_once(state: Path) -> None:
    imported(state)
    with pytest.raises(InputError, match="imported before"):
        imported(state)


def test_an_interrupted_import_is_completed_or_removed(state: Path) -> None:
    made = imported(state)
    made.folder.rename(made.folder.with_name(f".{made.folder.name}.1.new"))
    other = state / "foreign" / f".{'0' * 64}.2.new"
    other.mkdir()
    imported(state, "grype")
    assert sorted(path.name[:1] != "." for path in (state / "foreign").iterdir()) == [True, True]
    assert made.folder.is_dir()


def test_the_audit_finds_altered_missing_and_added_files(state: Path) -> None:
    made = imported(state)
    assert audit(state).findings == []
    results, original = made.folder / "results.json", made.folder / "original"
    content = results.read_bytes()
    results.write_bytes(content.replace(b'"fail"', b'"pass"'))
    assert [each.file for each in audit(state).findings] == [f"foreign/{made.folder.name}/results.json"]
    results.write_bytes(content)
    original.unlink()
    assert [each.file for each in audit(state).findings] == [f"foreign/{made.folder.name}/original"]
    original.write_bytes(FILES["xccdf"])
    (state / "foreign" / "more").write_text("x")
    assert [each.file for each in audit(state).findings] == ["foreign/more"]
    (state / "foreign" / "more").unlink()
    original.unlink()
    original.symlink_to("/etc/passwd")
    assert audit(state).findings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"controls": {"r": {"nist-800-53-lw": ["cm-7"]}}}, "unknown framework: nist-800-53-lw"),
        ({"controls": {"r": {"nist-800-53-low": ["zz-99"]}}}, "unknown control of nist-800-53-low: zz-99"),
        ({"controls": {}}, "at least 1 item"),
        ({"reviewed": "2026-12-01"}, "expected a day until today"),
        ({"reviewed_by": ""}, "at least 3 characters"),
        ({"mapings": 1}, "unknown key `mapings`"),
    ],
)
def test_a_wrong_mapping_is_refused(changes: dict[str, object], message: str) -> None:
    _, problems = mapping_of(MAPPING | changes, packs(), TODAY)
    assert any(message in each.message for each in problems), [str(each) for each in problems]


def test_all_problems_of_a_mapping_file_come_together(tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(
        "mapping: m\ntool: openscap\nreviewed_by: security office\nreviewed: 2027-01-01\n"
        "controls:\n  a: {nist-800-53-low: [zz-1]}\n  b: {none: [cm-7]}\n"
    )
    with pytest.raises(SpecError) as caught:
        load_mapping(path, packs=packs(), today=TODAY)
    assert len(caught.value.problems) == 3
    with pytest.raises(InputError):
        load_mapping(tmp_path / "absent", packs=packs(), today=TODAY)
