"""`sovctl report` and `sovctl audit` as an operator and an auditor type them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import warm_processes
from evidence_specimens import everywhere, fill, made

from sovctl.engine.site.state_folder import SiteState

EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "site.yaml"
CLOCKS = [
    record for check in ("clock.synchronized", "clock.drift", "bmc.clock-correct") for record in everywhere(check)
]


def sovctl(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm_processes.sovctl(*arguments, cwd=cwd, env=os.environ)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    shutil.copy(EXAMPLE, site / "site.yaml")
    fill(
        site / ".sovctl",
        [*CLOCKS, made("gpu.count", simulated=True)],
    )
    assert sovctl("report", cwd=site).returncode == 0
    return site


@pytest.fixture
def site(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "site"))


def only_report(site: Path) -> Path:
    return next((site / ".sovctl" / "reports").iterdir())


def test_report_puts_coverage_first_and_says_simulated(site: Path) -> None:
    result = sovctl("report", "site.yaml", cwd=site)
    assert result.returncode == 0, result.stderr
    first, *others = result.stdout.splitlines()
    assert first == "NIST SP 800-53 Rev. 5, MODERATE baseline: 5 of 287 decided: 1 pass, 0 fail, 4 error; 282 not run"
    assert any(line.startswith("SIMULATED") for line in others)
    assert len(list((site / ".sovctl" / "reports").iterdir())) == 2


def test_report_as_json_is_one_document(site: Path) -> None:
    found = json.loads(sovctl("report", "--json", cwd=site).stdout)
    assert found[0]["summary"]["total"] == 287
    assert Path(found[0]["folder"], "report.html").is_file()


def test_report_with_pdf_names_the_file_and_the_ledger_has_its_digest(site: Path) -> None:
    pytest.importorskip("weasyprint", reason="an environment older than the lock")
    result = sovctl("report", "--pdf", "--pack", "residency-ae", cwd=site)
    assert result.returncode == 0, result.stderr
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("pdf ")]
    assert (site / line.split()[1]).read_bytes().startswith(b"%PDF-")
    found = json.loads(sovctl("audit", "search", "--type", "report", "--json", cwd=site).stdout)["entries"]
    assert "report.pdf" in found[-1]["record"]["files"]


def test_report_with_pdf_and_without_its_extra_writes_nothing(site: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent" / "weasyprint.py"
    absent.parent.mkdir()
    absent.write_text("raise ImportError\n")
    before = sorted(path for path in site.rglob("*"))
    words = [sys.executable, "-m", "sovctl.cli", "report", "--pdf"]
    environment = os.environ | {"PYTHONPATH": str(absent.parent)}
    done = subprocess.run(words, cwd=site, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "pip install 'sovctl[pdf]'" in done.stderr) == (7, True), done.stderr
    assert sorted(path for path in site.rglob("*")) == before


def test_the_command_that_report_prints_verifies_it(site: Path) -> None:
    line = sovctl("report", cwd=site).stdout.splitlines()[-1]
    words = line.removeprefix("verify").split()
    result = subprocess.run([sys.executable, *words[1:]], cwd=site, capture_output=True, text=True, check=False)
    assert (words[0], result.returncode) == ("python3", 8), result.stdout


def test_report_without_a_site_description_takes_the_name_of_the_ledger(site: Path) -> None:
    result = sovctl("report", "--state", ".sovctl", "--json", cwd=site)
    assert json.loads(result.stdout)[0]["subject"]["site"] == "sovctl.site/test"


def test_packs_are_listed_with_their_counts(site: Path) -> None:
    listed = json.loads(sovctl("report", "packs", "--json", cwd=site).stdout)
    assert len(listed) > 20
    moderate = next(each for each in listed if each["name"] == "nist-800-53-moderate")
    assert moderate["controls"] == 287
    assert moderate["checked"] >= 60
    assert all(each["licence"] and each["source"] and each["date"] for each in listed)
    table = sovctl("report", "packs", cwd=site).stdout
    assert [line.split()[0] for line in table.splitlines()[1:]] == [each["name"] for each in listed]


def test_a_pack_of_the_site_is_listed_shown_and_reported(site: Path) -> None:
    (site / "house.yaml").write_text(
        "pack: house\ntitle: House rules\nversion: '1'\nkind: framework\njurisdiction: DE\nsource: intranet\n"
        "date: 2026-01-01\nread: 2026-11-01\nlicence: internal\ngroups: {H: House}\n"
        "controls:\n  H-1: {title: Time, objectives: [clocks-synchronized], because: logs need it.}\n  H-2: Doors\n"
    )
    text = (site / "site.yaml").read_text()
    (site / "site.yaml").write_text(text + "\ncompliance:\n  packs: [house, gdpr]\n  pack_files: [house.yaml]\n")
    shown = sovctl("report", "packs", "house", "--site", "site.yaml", cwd=site)
    assert shown.returncode == 0, shown.stderr
    assert "evidence: clocks-synchronized" in shown.stdout
    assert "house *" in sovctl("report", "packs", "--site", "site.yaml", cwd=site).stdout
    result = sovctl("report", cwd=site)
    assert result.returncode == 0, result.stderr
    assert "House rules: 1 of 2 decided: 1 pass, 0 fail, 0 error; 1 not run" in result.stdout
    assert "GDPR" in result.stdout
    (site / "house.yaml").write_text((site / "house.yaml").read_text().replace("clocks-synch", "clock-synch"))
    refused = sovctl("report", cwd=site)
    assert refused.returncode == 3
    assert "unknown objective: clock-synchronized" in refused.stderr
    assert "did you mean clocks-synchronized?" in refused.stderr


def test_an_unknown_pack_is_refused_with_the_nearest(site: Path) -> None:
    result = sovctl("report", "packs", "gdrp", cwd=site)
    assert (result.returncode, result.stdout) == (3, "")
    assert "did you mean gdpr?" in result.stderr


def test_report_says_what_to_do_first(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE, tmp_path / "site.yaml")
    result = sovctl("report", cwd=tmp_path)
    assert result.returncode == 3
    assert "run `sovctl verify` first" in result.stderr
    assert result.stdout == ""


def test_report_waits_for_who_will_need_the_ledger(site: Path) -> None:
    with SiteState(site / ".sovctl").exclusive("verify"):
        result = sovctl("report", cwd=site)
    assert result.returncode == 6
    assert "sovctl verify (process" in result.stderr
    assert len(list((site / ".sovctl" / "reports").iterdir())) == 1


def test_audit_of_a_whole_site_is_ok_and_names_its_limits(site: Path) -> None:
    result = sovctl("audit", "verify", cwd=site)
    assert result.returncode == 8, result.stdout
    assert result.stdout.splitlines()[-1].startswith("UNPROVEN: no findings, but no checkpoint kept outside the site")
    assert "without a checkpoint kept outside the site" in result.stdout


def test_audit_ends_with_1_and_names_the_entry(site: Path) -> None:
    entries = site / ".sovctl" / "ledger" / "entries"
    data = bytearray(entries.read_bytes())
    data[20] ^= 1
    entries.write_bytes(data)
    result = sovctl("audit", "verify", ".sovctl", cwd=site)
    assert result.returncode == 1
    assert "expected entry 0 as it was signed" in result.stdout
    assert json.loads(sovctl("audit", "verify", "--json", cwd=site).stdout)["ledger"]["findings"][0]["first_index"] == 0


def test_audit_of_a_deleted_ledger_against_a_report_somebody_kept(site: Path, tmp_path: Path) -> None:
    kept = Path(shutil.copytree(only_report(site), tmp_path / "kept"))
    arguments = ("audit", "verify", "--ledger", ".sovctl/ledger", "--checkpoint", kept, "--key", kept / "log.vkey")
    whole = sovctl(*arguments, cwd=site)
    assert whole.returncode == 0, whole.stdout
    shutil.rmtree(site / ".sovctl" / "ledger")
    result = sovctl(*arguments, cwd=site)
    assert result.returncode == 1
    assert "missing-log" in result.stdout


def test_audit_of_nothing_is_bad_input(tmp_path: Path) -> None:
    result = sovctl("audit", "verify", cwd=tmp_path)
    assert result.returncode == 3
    assert "no report, ledger or site state found" in result.stderr


def test_a_witness_signs_and_then_finds_the_cut(site: Path, tmp_path: Path) -> None:
    key = Path(shutil.copy(only_report(site) / "log.vkey", tmp_path))
    assert sovctl("audit", "checkpoint", "-o", tmp_path / "ask", cwd=site).returncode == 0
    signed = sovctl("audit", "witness", tmp_path / "ask", "--folder", "w", "--log-key", key, cwd=tmp_path)
    assert signed.returncode == 0, signed.stderr
    kept = tmp_path / signed.stdout.strip()
    again = sovctl("audit", "witness", tmp_path / "ask", "--folder", "w", cwd=tmp_path)
    assert again.returncode == 1
    assert "--old-size 12" in again.stderr
    assert sovctl("audit", "verify", "--checkpoint", kept, cwd=site).returncode == 0
    for name in ("ledger", "evidence", "reports"):  # by somebody who holds the site's keys
        shutil.rmtree(site / ".sovctl" / name)
    fill(site / ".sovctl", everywhere("clock.synchronized"))
    assert sovctl("audit", "verify", "--key", key, cwd=site).returncode == 8
    result = sovctl("audit", "verify", "--checkpoint", kept, "--key", key, cwd=site)
    assert result.returncode == 1
    assert "rolled-back: expected at least the 12 entries" in result.stdout


@pytest.mark.parametrize("words", [("report",), ("audit", "verify"), ("audit", "checkpoint")])
def test_help_shows_an_example(words: tuple[str, ...], tmp_path: Path) -> None:
    assert "Example: sovctl" in sovctl(*words, "--help", cwd=tmp_path).stdout


def test_two_persons_sign_and_the_verifier_requires_both(site: Path) -> None:
    report, keys = only_report(site), ["--signer-key", "officer.vkey", "--signer-key", "auditor.vkey"]
    for name in ("officer", "auditor"):
        done = sovctl("report", "sign", report, "--key", f"{name}.key", "--name", f"{name}.example", cwd=site)
        assert done.returncode == 0, done.stderr
    assert sovctl("audit", "verify", report, *keys, cwd=site).returncode == 8  # no kept checkpoint
    next((report / "signatures").iterdir()).unlink()
    assert sovctl("audit", "verify", report, *keys, cwd=site).returncode == 1
    assert sovctl("audit", "verify", report, *keys, "--signers", "1", cwd=site).returncode == 8


def test_a_signature_at_the_site_is_recorded_and_its_deletion_is_found(site: Path) -> None:
    report = only_report(site)
    signed = sovctl("report", "sign", report, "--key", "officer.key", "--name", "officer.example", cwd=site)
    assert signed.returncode == 0, signed.stderr
    assert sovctl("audit", "verify", cwd=site).returncode == 8
    found = json.loads(sovctl("audit", "search", "--type", "report-signed", "--json", cwd=site).stdout)["entries"]
    assert [entry["record"]["folder"] for entry in found] == [report.name]
    assert "officer" not in json.dumps(found)
    next((report / "signatures").iterdir()).unlink()
    verified = sovctl("audit", "verify", cwd=site)
    assert verified.returncode == 1
    assert "is missing, but it is in ledger entry" in verified.stdout
    with_plain_python = [sys.executable, report / "sovctl-verify.pyz", site / ".sovctl"]
    assert subprocess.run(with_plain_python, capture_output=True, check=False).returncode == 1


def test_a_signature_that_cannot_be_recorded_is_not_written(site: Path) -> None:
    report = only_report(site)
    (site / ".sovctl" / "keys" / "ledger.key").unlink()
    (site / ".sovctl" / "ledger" / "pending").write_text("a file, so that no record can be left")
    words = ("report", "sign", report, "--key", "officer.key", "--name", "officer.example")
    refused = sovctl(*words, cwd=site)
    assert refused.returncode == 3
    assert "--copy" in refused.stderr
    assert not (report / "signatures").exists()
    assert sovctl(*words, "--copy", cwd=site).returncode == 0


def test_sign_of_an_absent_report_creates_no_key(site: Path) -> None:
    done = sovctl("report", "sign", "absent", "--key", "officer.key", "--name", "officer.example", cwd=site)
    assert done.returncode == 3
    assert not (site / "officer.key").exists()


def test_diff_of_equal_reports_is_0_and_of_a_report_and_no_report_3(site: Path) -> None:
    report = only_report(site)
    assert sovctl("report", "diff", report, report, cwd=site).stdout.endswith("no differences\n")
    assert sovctl("report", "diff", report, "absent", cwd=site).returncode == 3
