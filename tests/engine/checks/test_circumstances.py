"""Circumstances of a run: clock, tool and the last apply, stated also if they are absent."""

from __future__ import annotations

import getpass
from importlib.metadata import distribution
from pathlib import Path

import pytest

from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.engine.checks.registry import CHECKS
from sovctl.engine.checks.runner.circumstances import (
    actor,
    controller_clock,
    last_apply,
    parse_chronyc,
    parse_timedatectl,
    tool,
)
from sovctl.engine.checks.runner.declaration import declaration_sha256
from sovctl.engine.facts.unreadable import Unreadable
from sovctl.engine.site.state_folder import SiteState
from sovctl.support.canonical_json import sha256_hex

TRACKING = "0A000001,10.0.0.1,3,1764300000.0,0.000012,-0.000001,0.00002,1.5,0.0,0.01,0.0005,0.0001,64.0,Normal\n"
TIMESYNC = """       Server: 10.0.0.1 (ntp.site)
Poll interval: 34min 8s (min: 32s; max 34min 8s)
         Leap: normal
      Version: 4
      Stratum: 2
       Offset: -1.250ms
        Delay: 9.183ms
"""


def test_the_offset_and_the_source_are_read_from_chrony_and_timesyncd() -> None:
    assert parse_chronyc(TRACKING) == (12, "10.0.0.1")
    assert parse_timedatectl(TIMESYNC) == (-1250, "10.0.0.1 (ntp.site)")
    assert parse_timedatectl(TIMESYNC.replace("-1.250ms", "+3us"))[0] == 3
    assert parse_timedatectl(TIMESYNC.replace("-1.250ms", "+2s"))[0] == 2_000_000


@pytest.mark.parametrize("text", ["", "506 Cannot talk to daemon\n", TRACKING.replace("Normal", "Not synchronised")])
def test_a_chrony_without_a_source_is_not_a_measurement(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_chronyc(text)


@pytest.mark.parametrize("text", ["", "Server: n/a\n", TIMESYNC.replace("Offset", "Jitter")])
def test_a_timesyncd_without_an_answer_is_not_a_measurement(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_timedatectl(text)


def test_a_clock_that_no_command_measures_is_stated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    clock = controller_clock()
    assert clock.offset_us == "not measured"
    assert clock.source == "chronyc tracking: not installed; timedatectl timesync-status: not installed"
    for name in ("chronyc", "timedatectl"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    assert controller_clock().source.count("failed") == 2


def test_a_measured_clock_names_source_and_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "chronyc").write_text(f"#!/bin/sh\nprintf '%s' '{TRACKING.strip()}'\n")
    (tmp_path / "chronyc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    clock = controller_clock()
    assert (clock.offset_us, clock.source) == (12, "10.0.0.1, by chronyc tracking")


def test_the_tool_is_the_installed_distribution() -> None:
    found, record = tool(), distribution("sovctl").read_text("RECORD")
    assert record
    assert found.record_sha256 == sha256_hex(record)
    assert found.is_editable


def test_the_actor_has_user_account_and_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    assert (actor().user, actor().account) == (getpass.getuser(), getpass.getuser())
    monkeypatch.setenv("SUDO_USER", "ops")
    assert (actor().user, actor().account) == ("ops", getpass.getuser())
    assert actor().host


def test_the_last_finished_apply_is_named(tmp_path: Path) -> None:
    state = SiteState(tmp_path)
    assert last_apply(state) == ("none", "none")
    key = load_or_create(tmp_path / "keys" / "ledger.key")
    with Ledger.open(state.ledger, origin="sovctl.x/site", key=key) as ledger:
        ledger.append([{"type": "apply-started", "plan_sha256": "a" * 64, "run": "r1"}])
        assert last_apply(state) == ("none", "none")
        ledger.append([{"type": "apply-finished", "plan_sha256": "a" * 64, "run": "r1"}])
        ledger.append([{"type": "apply-failed", "plan_sha256": "b" * 64, "run": "r2"}])
    assert last_apply(state) == ("a" * 64, "r1")


def test_each_check_has_a_declaration_of_its_own() -> None:
    assert len({declaration_sha256(type(check)) for check in CHECKS}) == len(CHECKS)
