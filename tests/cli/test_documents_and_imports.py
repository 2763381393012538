"""`sovctl report documents`, `sovctl report siem` and `sovctl evidence import` as an operator types them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import warm_processes
from evidence_specimens import everywhere, fill, made
from foreign_specimens import FILES

EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "site.yaml"


def sovctl(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm_processes.sovctl(*arguments, cwd=cwd, env=os.environ)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    shutil.copy(EXAMPLE, tmp_path / "site.yaml")
    fill(tmp_path / ".sovctl", [*everywhere("clock.drift"), made("gpu.count", verdict="FAIL", simulated=True)])
    return tmp_path


def snapshot(site: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in site.rglob("*") if path.is_file() and path.name != "lock"}


def test_documents_are_written_logged_and_audited(site: Path) -> None:
    result = sovctl("report", "documents", "site.yaml", cwd=site)
    assert result.returncode == 0, result.stderr
    (folder,) = (site / ".sovctl" / "documents").iterdir()
    names = {path.name for path in folder.iterdir()}
    assert {
        "gdpr-art-30.md",
        "residency.json",
        "sbom.cdx.json",
        "ml-bom.cdx.json",
        "vex.cdx.json",
        "manifest.json",
    } <= names
    assert "MISSING" in result.stdout
    assert "is of another site.yaml" in (folder / "gdpr-art-30.md").read_text()
    assert sovctl("audit", "verify", ".sovctl", cwd=site).returncode == 8, "no finding, and no kept checkpoint"
    (folder / "residency.md").write_text("everything stays here\n")
    audited = sovctl("audit", "verify", ".sovctl", cwd=site)
    assert audited.returncode == 1
    assert "residency.md" in audited.stdout + audited.stderr


def test_one_document_is_shown_without_writing(site: Path) -> None:
    before = snapshot(site)
    result = sovctl("report", "documents", "site.yaml", "--show", "gdpr-art-30", cwd=site)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("# Record of processing activities: ")
    as_json = sovctl("report", "documents", "site.yaml", "--show", "gdpr-art-30", "--json", cwd=site)
    assert json.loads(as_json.stdout)["counts"]["MISSING"] > 0
    assert snapshot(site) == before


def test_answers_of_site_yaml_fill_fields(site: Path) -> None:
    (site / "answers.yaml").write_text(
        "answers:\n- {document: gdpr-art-30, field: controller.contact, value: Example Bank AG, "
        "by: data protection officer, date: 2026-11-01}\n"
    )
    with (site / "site.yaml").open("a") as file:
        file.write("\ncompliance: {answers_file: answers.yaml}\n")
    result = sovctl("report", "documents", "site.yaml", "--show", "gdpr-art-30", cwd=site)
    assert result.returncode == 0, result.stderr
    assert "| Example Bank AG | human | data protection officer, 2026-11-01 |" in result.stdout
    (site / "answers.yaml").unlink()
    broken = sovctl("report", "documents", "site.yaml", cwd=site)
    assert broken.returncode == 3
    assert "answers.yaml" in broken.stderr
    assert not (site / ".sovctl" / "documents").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "documents", "--document", "gdpr-art-99"),
        ("report", "documents", "--show", "nis-3"),
        ("report", "documents", "--run", "20990101T000000Z-0000"),
        ("report", "documents", "absent.yaml"),
        ("report", "siem", "--format", "leef"),
        ("report", "siem", "--format", "cef", "--syslog", "nowhere"),
        ("evidence", "import", "absent.xml", "--format", "xccdf"),
        ("evidence", "import", "site.yaml", "--format", "xccdf"),
        ("evidence", "import", "site.yaml", "--format", "nessus"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(arguments: tuple[str, ...], site: Path) -> None:
    before = snapshot(site)
    result = sovctl(*arguments, cwd=site)
    assert result.returncode in (2, 3), result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert snapshot(site) == before


def test_an_import_is_stored_and_shown_as_foreign(site: Path) -> None:
    (site / "results.xml").write_bytes(FILES["xccdf"])
    result = sovctl("evidence", "import", "results.xml", "--format", "xccdf", cwd=site)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("FOREIGN: openscap 1.3.7: 1 fail, 1 pass; 0 mapped to controls\n")
    again = sovctl("evidence", "import", "results.xml", "--format", "xccdf", cwd=site)
    assert again.returncode == 3
    assert "imported before" in again.stderr
    assert sovctl("audit", "verify", ".sovctl", cwd=site).returncode == 8


def test_events_are_written_for_a_siem(site: Path) -> None:
    result = sovctl("report", "siem", "--format", "ocsf", "--out", "events.jsonl", cwd=site)
    assert result.returncode == 0, result.stderr
    events = [json.loads(line) for line in (site / "events.jsonl").read_text().splitlines()]
    assert [each["unmapped"]["ledger_index"] for each in events] == [0, 1, 2, 3]
    assert "next: --from-index 4" in result.stderr
    findings = sovctl("report", "siem", "--format", "cef", "--findings", cwd=site)
    assert [line.split("|")[5] for line in findings.stdout.splitlines()] == ["gpu.count FAIL"]
    none = sovctl("report", "siem", "--format", "cef", "--from-index", "4", cwd=site)
    assert none.stdout == ""
