"""`sovctl evidence list`, `show` and `rerun` on a site whose nodes do not answer."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import warm_processes
from check_sites import TODAY

from sovctl.compliance.evidence.store import StoredEvidence
from sovctl.engine.checks.runner.circumstances import Circumstances
from sovctl.engine.checks.runner.evidence import keep
from sovctl.engine.checks.runner.run import run
from sovctl.engine.site.site import Site

Verified = tuple[Path, list[StoredEvidence]]


def sovctl(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return warm_processes.sovctl("evidence", *arguments, cwd=Path.cwd(), env=os.environ)


def document(*arguments: str | Path) -> Any:
    return json.loads(sovctl(*arguments, "--json").stdout)


@pytest.fixture
def verified(quiet_site: Path) -> Verified:
    site = Site.open(quiet_site, touches_nodes=True)
    found = run(site, today=TODAY, checks=["clock.sync*", "site.keys-private"])
    return quiet_site, keep(site, found, Circumstances.of(site))


def id_of(records: list[StoredEvidence], check: str) -> str:
    return next(each.sha256 for each in records if each.evidence.check_id == check)[:12]


def test_records_are_listed_shown_and_run_again(verified: Verified) -> None:
    site, records = verified
    listed = document("list", site)["records"]
    assert [each["sha256"] for each in listed] == [each.sha256 for each in records]
    assert {each["state"] for each in document("list", site, "--result", "UNKNOWN")["records"]} == {"UNKNOWN"}
    text = sovctl("list", site, "--node", "site").stdout
    assert "PASS" in text
    assert "site.keys-private" in text
    name = id_of(records, "site.keys-private")
    shown = document("show", name, site)
    record = next(each for each in records if each.sha256.startswith(name))
    assert shown["verdict"] == "PASS"
    assert Path(shown["raw_file"]).name == record.evidence.raw_sha256
    assert Path(shown["raw_file"]).is_file()
    assert (shown["leaf_index"], shown["population"]["declared"]) == (record.leaf_index, ["site"])
    assert shown["previous"] == "none"
    assert shown["links"]["waivers"] == "none"
    lines = sovctl("show", name, site).stdout
    for label in ("rule", "clock", "tool", "sample", "not discovered", "apply run", "ledger entry", "raw SHA-256"):
        assert f"\n{label} " in lines
    again = sovctl("rerun", name, site)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "difference  none" in again.stdout
    assert document("rerun", name, site, "--recorded")["is_changed"] is False


def test_a_second_run_names_the_first_as_the_result_before(verified: Verified) -> None:
    path, records = verified
    site = Site.open(path, touches_nodes=True)
    (second,) = keep(site, run(site, today=TODAY, checks=["site.keys-private"]), Circumstances.of(site))
    first = next(each for each in records if each.evidence.check_id == "site.keys-private")
    before = second.evidence.previous
    assert not isinstance(before, str)
    assert (before.leaf_index, before.run_id, before.sha256) == (first.leaf_index, first.run_id, first.sha256)


def test_a_rerun_states_the_difference_of_verdict_and_population(verified: Verified) -> None:
    site, records = verified
    before = sorted((site.parent / ".sovctl" / "evidence" / "runs").iterdir())
    (site.parent / ".sovctl" / "keys" / "ledger.key").chmod(0o644)
    name = id_of(records, "site.keys-private")
    changed = document("rerun", name, site)
    assert (changed["old"]["verdict"], changed["new"]["verdict"], changed["is_changed"]) == ("PASS", "FAIL", True)
    assert sovctl("rerun", name, site).returncode == 1
    assert document("rerun", name, site, "--recorded")["new"]["verdict"] == "PASS"
    site.write_text(site.read_text().replace("name: a2", "name: a3"))
    renamed = document("rerun", id_of(records, "clock.synchronized"), site, "--recorded")
    assert (renamed["population"]["added"], renamed["population"]["removed"]) == (["a3"], ["a2"])
    assert not renamed["is_same_spec"]
    assert sorted((site.parent / ".sovctl" / "evidence" / "runs").iterdir()) == before, "a rerun stores no evidence"


def test_an_altered_record_is_refused_by_every_command(verified: Verified) -> None:
    site, records = verified
    name = id_of(records, "site.keys-private")
    (file,) = (site.parent / ".sovctl" / "evidence" / "runs").glob(f"*/*{name}.json")
    file.write_bytes(file.read_bytes().replace(b'"PASS"', b'"WARN"'))
    for command in (("show", name, site), ("rerun", name, site), ("rerun", name, site, "--recorded")):
        done = sovctl(*command)
        assert (done.returncode, done.stdout) == (1, "")
        assert "deleted, altered or renamed" in done.stderr
        assert "sovctl audit verify" in done.stderr
        assert "Traceback" not in done.stderr
    listed = sovctl("list", site)
    assert listed.returncode == 1
    assert "altered" in listed.stdout


def test_wrong_ids_results_and_sites_are_errors(verified: Verified, tmp_path: Path) -> None:
    site, _ = verified
    cases: tuple[tuple[tuple[str | Path, ...], str], ...] = (
        (("show", "zz", site), "hexadecimal"),
        (("show", "0" * 12, site), "unknown record"),
        (("rerun", "0" * 12, site), "unknown record"),
        (("list", site, "--result", "GOOD"), "--result"),
        (("list", tmp_path / "absent" / "site.yaml"), "sovctl verify"),
        (("show", "0" * 12, tmp_path / "absent" / "site.yaml"), "sovctl verify"),
    )
    for arguments, word in cases:
        done = sovctl(*arguments)
        assert (done.returncode, done.stdout) == (3, ""), arguments
        assert word in done.stderr
        assert "Traceback" not in done.stderr
    assert "no record matches" in sovctl("list", site, "--check", "nvlink.*").stderr
