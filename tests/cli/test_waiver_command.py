"""`sovctl waiver`: lists, shows and checks the waivers of site.yaml; the report counts them until their last day."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import warm_processes
import yaml
from evidence_specimens import NODES, everywhere, fill, made

from sovctl.support.errors import ExitCode

EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "site.yaml"
TODAY = datetime.now(UTC).date()


def sovctl(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm_processes.sovctl(*arguments, cwd=cwd, env=os.environ)


def waiver(**changes: Any) -> dict[str, Any]:
    values = {
        "id": "W-1",
        "checks": ["clock.synchronized"],
        "targets": ["gpu-1"],
        "reason": "clock server under repair",
        "compensating": "times are compared by hand each day",
        "requested_by": "platform team, A. Example",
        "approved_by": "security office, B. Example",
        "approved": (TODAY - timedelta(days=10)).isoformat(),
        "expires": (TODAY + timedelta(days=10)).isoformat(),
    }
    return values | changes


@pytest.fixture
def site(tmp_path: Path) -> Path:
    shutil.copy(EXAMPLE, tmp_path / "site.yaml")
    return tmp_path


def write(site: Path, *waivers: dict[str, Any], **compliance: Any) -> None:
    values = yaml.safe_load((site / "site.yaml").read_text())
    values["compliance"] = {"waivers": list(waivers), **compliance}
    (site / "site.yaml").write_text(yaml.safe_dump(values))


def test_lists_and_shows_waivers_with_state_and_persons(site: Path) -> None:
    write(site, waiver())
    found = json.loads(sovctl("waiver", "list", "--json", cwd=site).stdout)["waivers"]
    assert [(each["id"], each["state"], each["days_left"]) for each in found] == [("W-1", "in effect", 10)]
    shown = sovctl("waiver", "show", "W-1", cwd=site)
    assert shown.returncode == 0
    assert "times are compared by hand each day" in shown.stdout
    absent = sovctl("waiver", "show", "W-2", cwd=site)
    assert (absent.returncode, "did you mean W-1?" in absent.stderr) == (3, True)


def test_check_fails_for_expired_future_and_soon_ending_waivers(site: Path) -> None:
    write(site, waiver())
    assert sovctl("waiver", "check", cwd=site).returncode == 0
    assert sovctl("waiver", "check", "--days", "30", cwd=site).returncode == 1
    write(site, waiver(expires=(TODAY - timedelta(days=1)).isoformat()))
    found = sovctl("waiver", "check", cwd=site)
    assert (found.returncode, "W-1: expired" in found.stdout) == (1, True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"approved_by": "Platform Team,  A. Example"}, "expected another person than"),
        ({"expires": (TODAY + timedelta(days=400)).isoformat()}, "expected a day 0 to 365 days after"),
        ({"checks": ["clock.synchronised"]}, "unknown check of a control"),
        ({"controls": ["au-999"]}, "unknown control: au-999"),
        ({"compensating": None}, "compliance.waivers[0].compensating"),
        ({"expires": "2027-02-30"}, "expected a day that exists"),
    ],
)
def test_an_invalid_waiver_is_rejected_with_its_place(site: Path, changes: dict[str, Any], message: str) -> None:
    write(site, waiver(**changes))
    result = sovctl("waiver", "check", cwd=site)
    assert result.returncode == 3
    assert message in " ".join(result.stderr.split())  # a long path wraps the message
    assert "Traceback" not in result.stderr


def test_the_report_has_waived_controls_and_a_plan_of_action(site: Path) -> None:
    write(site, waiver(), owners={"clock.*": "platform team"}, deadline_days={"critical": 5})
    failed = [made("clock.synchronized", node, "FAIL" if node == "gpu-1" else "PASS", others=NODES) for node in NODES]
    fill(site / ".sovctl", [*failed, *everywhere("clock.drift"), *everywhere("bmc.clock-correct")])
    (report,) = json.loads(sovctl("report", "--json", cwd=site).stdout)
    assert report["summary"]["states"]["waived"] >= 1
    waived = [row for row in report["poam"] if row["kind"] == "waived"]
    assert [(row["waiver"], row["owner"], row["targets"]) for row in waived] == [("W-1", "platform team", ["gpu-1"])]
    write(site, waiver(expires=(TODAY - timedelta(days=1)).isoformat()))
    (report,) = json.loads(sovctl("report", "--json", cwd=site).stdout)
    assert (report["summary"]["states"]["waived"], report["summary"]["states"]["fail"] >= 1) == (0, True)
    folder = Path(report["folder"])
    page = (site / folder / "report.html").read_text()
    assert "Plan of action and milestones" in page


def test_a_site_cannot_lengthen_a_deadline(site: Path) -> None:
    write(site, deadline_days={"critical": 60})
    result = sovctl("validate", "site.yaml", cwd=site)
    said = " ".join(result.stderr.split())  # a long path wraps the message
    assert (result.returncode, said.count("expected at most 15 days, got 60")) == (3, 1), result.stderr


def test_with_listed_keys_a_waiver_counts_after_two_persons_signed_it(site: Path) -> None:
    def sign(role: str, person: str) -> str:
        words = ("sign", "W-1", "--role", role, "--key", f"{person}.key", "--name", f"{person}.example")
        done = sovctl("waiver", *words, cwd=site)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def reported() -> tuple[dict[str, int], Path, str]:
        done = sovctl("report", "--json", cwd=site)
        (found,) = json.loads(done.stdout)
        return found["summary"]["states"], site / found["folder"], " ".join(done.stderr.split())

    write(site, waiver())
    failed = [made("clock.synchronized", node, "FAIL" if node == "gpu-1" else "PASS", others=NODES) for node in NODES]
    fill(site / ".sovctl", [*failed, *everywhere("clock.drift"), *everywhere("bmc.clock-correct")])
    lines = [sign("request", "operator"), sign("approval", "officer")]
    keys = [(site / "officer.vkey").read_text().strip()]
    write(site, waiver(), waiver_approvers=keys)
    states, _, messages = reported()
    assert (states["waived"], "waiver W-1 does not count: no signatures" in messages) == (0, True)
    assert "W-1: unsigned" in sovctl("waiver", "check", cwd=site).stdout
    write(site, waiver(signatures=[lines[0], sign("approval", "operator")]), waiver_approvers=keys)
    assert "no approval by a listed key" in sovctl("waiver", "show", "W-1", cwd=site).stdout
    write(site, waiver(signatures=lines), waiver_approvers=keys)
    assert sovctl("waiver", "check", cwd=site).returncode == 0
    states, folder, _ = reported()
    assert states["waived"] >= 1
    verifier = [sys.executable, "-I", "-S", folder / "sovctl-verify.pyz", folder]
    whole = subprocess.run(verifier, capture_output=True, text=True, check=False)
    assert whole.returncode == ExitCode.UNPROVEN, whole.stdout  # no kept checkpoint
    assert "the keys that approve waivers were read from the report" in whole.stdout
    content = (folder / "report.json").read_text()
    (folder / "report.json").write_text(content.replace(lines[1], lines[1].replace("approval ", "request ")))
    altered = subprocess.run(verifier, capture_output=True, text=True, check=False)
    assert "expected fail from the evidence, got waived" in altered.stdout


def test_a_signature_and_a_key_of_another_form_are_rejected_with_their_place(site: Path) -> None:
    write(site, waiver(signatures=["approval x"]), waiver_approvers=["officer"])
    result = sovctl("validate", "site.yaml", cwd=site)
    said = " ".join(result.stderr.split())
    assert result.returncode == 3
    assert "compliance.waivers[0].signatures[0]" in said
    assert "compliance.waiver_approvers[0]" in said
    other = sovctl("waiver", "sign", "W-1", "--role", "witness", "--key", "k", "--name", "n", cwd=site)
    assert (other.returncode, (site / "k").exists()) == (3, False)
