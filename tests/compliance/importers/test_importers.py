"""Importers of other tools: typed results from whole files, a clear error for all others."""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import json
import lzma
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from foreign_specimens import FILES, GRYPE, HDF, SARIF, XCCDF

from sovctl.compliance.importers.foreign import ForeignFile, ForeignResult, Outcome
from sovctl.compliance.importers.formats import FORMATS, parse
from sovctl.compliance.importers.input_file import MAX_BYTES, read_input
from sovctl.compliance.importers.xml_events import MAX_DEPTH, stream
from sovctl.support.errors import InputError


def parsed(data: bytes | str | dict[str, Any], format_name: str) -> ForeignFile:
    content = json.dumps(data) if isinstance(data, dict) else data
    raw = content.encode() if isinstance(content, str) else content
    return parse(raw, format_name=format_name, where=Path("specimen"))


def outcomes(found: ForeignFile) -> dict[str, Outcome]:
    return {each.rule: each.outcome for each in found.results}


@pytest.mark.parametrize("format_name", ["xccdf", "arf"])
def test_xccdf_and_arf_have_rules_titles_targets_and_tool(format_name: str) -> None:
    found = parsed(FILES[format_name], format_name)
    assert (found.tool, found.version, found.content) == ("openscap", "1.3.7", "xccdf_test_benchmark_one")
    assert found.results == (
        ForeignResult("xccdf_test_rule_a", Outcome.FAIL, "Remove telnet", "high", "n1"),
        ForeignResult("xccdf_test_rule_b", Outcome.PASS, "Use & keep", "low", "n1"),
    )
    assert found.started == "2026-11-28T10:00:00+00:00"


def test_sarif_has_rules_and_files_and_no_messages() -> None:
    found = parsed(SARIF, "sarif")
    assert (found.tool, found.version) == ("scanner", "2.3.4")
    assert found.results[0] == ForeignResult("R1", Outcome.FAIL, "No passwords", "error", "etc/app.conf")
    assert outcomes(found)["R2"] is Outcome.PASS
    assert "hunter2" not in repr(found)


def test_a_sarif_run_without_results_was_not_performed() -> None:
    value = copy.deepcopy(SARIF)
    value["runs"][0]["results"] = []
    assert parsed(value, "sarif").results == ()
    del value["runs"][0]["results"]
    with pytest.raises(InputError, match="not performed"):
        parsed(value, "sarif")


def test_hdf_takes_the_worst_status_and_counts_nothing_as_passed_without_results() -> None:
    found = parsed(HDF, "hdf")
    assert outcomes(found) == {
        "V-1": Outcome.FAIL,
        "V-2": Outcome.NOT_APPLICABLE,
        "V-3": Outcome.NOT_CHECKED,
    }
    assert found.results[0].severity == "high"
    assert found.content == "baseline 1.0"
    assert found.ended == "2026-11-28T10:00:01Z"


def test_grype_states_the_date_of_its_database() -> None:
    found = parsed(GRYPE, "grype")
    assert found.content == "vulnerability database of 2026-11-27T01:00:00Z"
    assert found.results[0].target == "pkg:deb/debian/zlib1g@1.2.13"
    old = copy.deepcopy(GRYPE)
    old["descriptor"]["db"] = {"built": "2025-01-01T00:00:00Z"}
    assert parsed(old, "grype").content.endswith("2025-01-01T00:00:00Z")
    del old["descriptor"]["db"]
    assert parsed(old, "grype").content.endswith("unknown date")


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_file_cut_anywhere_is_refused(format_name: str) -> None:
    data = FILES[format_name].rstrip()
    for end in range(1, len(data), 7):
        with pytest.raises(InputError):
            parsed(data[:end], format_name)


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("other", FORMATS)
def test_a_file_of_another_format_is_refused(format_name: str, other: str) -> None:
    if {format_name, other} in ({"xccdf"}, {"arf"}, {"xccdf", "arf"}) or format_name == other:
        assert parsed(FILES[other], format_name).results
        return
    with pytest.raises(InputError) as caught:
        parsed(FILES[other], format_name)
    assert caught.value.where == "specimen"


def _without(value: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(value)
    place = changed
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return changed


@pytest.mark.parametrize(
    ("format_name", "value", "path"),
    [
        ("sarif", SARIF, ("version",)),
        ("sarif", SARIF, ("runs",)),
        ("sarif", SARIF, ("runs", 0, "tool")),
        ("sarif", SARIF, ("runs", 0, "results", 0, "ruleId")),
        ("hdf", HDF, ("platform",)),
        ("hdf", HDF, ("profiles",)),
        ("hdf", HDF, ("profiles", 0, "controls")),
        ("hdf", HDF, ("profiles", 0, "controls", 0, "id")),
        ("hdf", HDF, ("profiles", 0, "controls", 0, "impact")),
        ("hdf", HDF, ("profiles", 0, "controls", 0, "results", 0, "status")),
        ("grype", GRYPE, ("matches",)),
        ("grype", GRYPE, ("descriptor",)),
        ("grype", GRYPE, ("descriptor", "version")),
        ("grype", GRYPE, ("matches", 0, "vulnerability")),
        ("grype", GRYPE, ("matches", 0, "artifact", "name")),
    ],
)
def test_a_missing_field_is_named_and_refused(format_name: str, value: Any, path: tuple[Any, ...]) -> None:
    with pytest.raises(InputError) as caught:
        parsed(_without(value, path), format_name)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<result>fail</result>", "<result>maybe</result>"),
        ("<result>fail</result>", ""),
        ('idref="xccdf_test_rule_a"', ""),
        ("TestResult", "Something"),
        ("http://checklists.nist.gov/xccdf/1.2", "http://example.test/other"),
    ],
)
def test_xccdf_without_a_known_result_for_each_rule_is_refused(old: str, new: str) -> None:
    with pytest.raises(InputError):
        parsed(XCCDF.replace(old, new), "xccdf")


def test_several_tools_in_one_sarif_file_are_refused() -> None:
    value = copy.deepcopy(SARIF)
    value["runs"].append(copy.deepcopy(value["runs"][0]))
    value["runs"][1]["tool"]["driver"]["name"] = "other"
    with pytest.raises(InputError, match="one tool"):
        parsed(value, "sarif")


LAUGHS = '<!DOCTYPE b [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><Benchmark>&b;</Benchmark>'
EXTERNAL = '<!DOCTYPE b [<!ENTITY a SYSTEM "file:///etc/passwd">]><Benchmark>&a;</Benchmark>'
PARAMETER = '<!DOCTYPE b [<!ENTITY % a SYSTEM "http://192.0.2.1/x">%a;]><Benchmark/>'


@pytest.mark.parametrize("text", [LAUGHS, EXTERNAL, PARAMETER, '<!DOCTYPE b SYSTEM "x.dtd"><Benchmark/>'])
def test_entities_are_never_expanded(text: str) -> None:
    with pytest.raises(InputError, match="document type declaration"):
        parsed(text, "xccdf")


def test_an_undefined_entity_is_refused() -> None:
    with pytest.raises(InputError, match="undefined entity"):
        parsed(XCCDF.replace("n1", "&secret;"), "xccdf")


def test_depth_is_bounded() -> None:
    deep = "<a>" * (MAX_DEPTH + 1) + "</a>" * (MAX_DEPTH + 1)
    with pytest.raises(InputError, match="levels"):
        stream(deep.encode(), start=lambda *_: None, end=lambda *_: None)
    for data in (b"[" * 100_000, b'{"a":' * 100_000, b"[]", b"null", b"1" * 5000, b"\xff\xfe", b'{"a": NaN}'):
        for format_name in ("sarif", "hdf", "grype"):
            with pytest.raises(InputError):
                parsed(data, format_name)


def test_a_long_text_is_kept_short() -> None:
    found = parsed(XCCDF.replace("n1", "n" * 1_000_000), "xccdf")
    assert len(found.results[0].target) == 500


def _zip(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("results.xml", data)
    return file.getvalue()


@pytest.mark.parametrize(
    "compress", [gzip.compress, bz2.compress, lzma.compress, _zip], ids=["gzip", "bzip2", "xz", "zip"]
)
def test_a_compressed_bomb_is_refused_without_decompression(compress: Any, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(compress(b"0" * 10_000_000))
    with pytest.raises(InputError, match="compressed"):
        read_input(path)


def test_only_regular_bounded_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(FILES["xccdf"])
    assert read_input(tmp_path / "file") == FILES["xccdf"]
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").write_bytes(b" \n")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    for name, message in {
        "link": "symbolic link", "pipe": "regular file", "empty": "empty", "large": "larger", "absent": "unreadable",
    }.items():  # fmt: skip
        with pytest.raises(InputError, match=message):
            read_input(tmp_path / name)
    with pytest.raises(InputError):
        read_input(tmp_path)


def test_an_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(InputError) as caught:
        parsed(XCCDF, "nessus")
    assert caught.value.hint == "use one of xccdf, arf, sarif, hdf, grype"


OVAL = """<oval_definitions xmlns="http://oval.mitre.org/XMLSchema/oval-definitions-5"
  xmlns:oval="http://oval.mitre.org/XMLSchema/oval-common-5"
  xmlns:unix="http://oval.mitre.org/XMLSchema/oval-definitions-5#unix">
  <generator><oval:schema_version>5.11</oval:schema_version><oval:timestamp>2026-11-28T00:00:00</oval:timestamp></generator>
  <definitions>
    <definition class="compliance" id="oval:test:def:1" version="1"><metadata><title>here</title>
      <description>d</description></metadata><criteria><criterion test_ref="oval:test:tst:1"/></criteria></definition>
    <definition class="compliance" id="oval:test:def:2" version="1"><metadata><title>absent</title>
      <description>d</description></metadata><criteria><criterion test_ref="oval:test:tst:2"/></criteria></definition>
  </definitions>
  <tests>
    <unix:file_test check="all" check_existence="at_least_one_exists" comment="c" id="oval:test:tst:1" version="1">
      <unix:object object_ref="oval:test:obj:1"/></unix:file_test>
    <unix:file_test check="all" check_existence="at_least_one_exists" comment="c" id="oval:test:tst:2" version="1">
      <unix:object object_ref="oval:test:obj:2"/></unix:file_test>
  </tests>
  <objects>
    <unix:file_object id="oval:test:obj:1" version="1"><unix:filepath>/etc/passwd</unix:filepath></unix:file_object>
    <unix:file_object id="oval:test:obj:2" version="1"><unix:filepath>/etc/absent</unix:filepath></unix:file_object>
  </objects>
</oval_definitions>
"""
BENCHMARK = """<Benchmark xmlns="http://checklists.nist.gov/xccdf/1.2" id="xccdf_test_benchmark_small">
  <status date="2026-11-28">draft</status><version>1</version>
  <Profile id="xccdf_test_profile_small"><title>Small</title><select idref="xccdf_test_rule_here" selected="true"/>
    <select idref="xccdf_test_rule_absent" selected="true"/></Profile>
  <Rule id="xccdf_test_rule_here" selected="true" severity="low"><title>Accounts exist</title>
    <check system="http://oval.mitre.org/XMLSchema/oval-definitions-5">
      <check-content-ref href="oval.xml" name="oval:test:def:1"/></check></Rule>
  <Rule id="xccdf_test_rule_absent" selected="true" severity="high"><title>Another file exists</title>
    <check system="http://oval.mitre.org/XMLSchema/oval-definitions-5">
      <check-content-ref href="oval.xml" name="oval:test:def:2"/></check></Rule>
</Benchmark>
"""


@pytest.mark.skipif(shutil.which("oscap") is None, reason="needs the package openscap-scanner")
@pytest.mark.parametrize(("option", "format_name"), [("--results", "xccdf"), ("--results-arf", "arf")])
def test_results_of_the_installed_openscap_are_imported(option: str, format_name: str, tmp_path: Path) -> None:
    (tmp_path / "oval.xml").write_text(OVAL)
    (tmp_path / "benchmark.xml").write_text(BENCHMARK)
    command = ["oscap", "xccdf", "eval", "--profile", "xccdf_test_profile_small", option, "out.xml", "benchmark.xml"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode in (0, 2), run.stderr  # 2: a rule failed
    found = parsed(read_input(tmp_path / "out.xml"), format_name)
    assert found.tool == "openscap"
    assert found.version in subprocess.run(["oscap", "--version"], capture_output=True, text=True, check=True).stdout
    assert outcomes(found) == {"xccdf_test_rule_here": Outcome.PASS, "xccdf_test_rule_absent": Outcome.FAIL}
    assert {each.title for each in found.results} == {"Accounts exist", "Another file exists"}
