"""One sovctl changes a site at a time, whatever becomes of the one before."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sovctl.engine.site import state_folder
from sovctl.engine.site.state_folder import SiteState
from sovctl.support.errors import Busy, ExitCode

HOLDER = """
import subprocess, sys
from pathlib import Path
from sovctl.engine.site.state_folder import SiteState
with SiteState(Path(sys.argv[1])).exclusive("apply") as lock:
    if sys.argv[2]:
        subprocess.Popen(["sleep", sys.argv[2]], pass_fds=(lock,), stdout=subprocess.DEVNULL)
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(root: Path, *, child: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(root), child]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_told_who_holds_the_site(tmp_path: Path) -> None:
    process = hold(tmp_path)
    with (
        pytest.raises(
            Busy, match=rf"sovctl apply \(process {process.pid} on \S+ since \S+Z\) is changing this site"
        ) as caught,
        SiteState(tmp_path).exclusive("apply"),
    ):
        pass
    assert caught.value.exit_code is ExitCode.BUSY
    process.communicate()
    with SiteState(tmp_path).exclusive("apply"):
        assert "sovctl apply" in (tmp_path / "lock").read_text()
    assert (tmp_path / "lock").read_text() == ""


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    process = hold(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with SiteState(tmp_path).exclusive("plan"):
        assert "plan" in (tmp_path / "lock").read_text()


def test_the_state_folder_is_closed_to_others(tmp_path: Path) -> None:
    root = SiteState(tmp_path / "state").prepare().root
    assert root.stat().st_mode & 0o777 == 0o700


def test_the_state_lies_beside_the_site_unless_told_otherwise(tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    assert SiteState.of_site(site).root == tmp_path / ".sovctl"
    assert SiteState.of_site(site, tmp_path / "x").plan_file == tmp_path / "x" / "plans" / "plan.json"


def test_the_lock_of_a_killed_process_is_taken_over_when_its_children_have_ended(tmp_path: Path) -> None:
    process = hold(tmp_path, child="2")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    begun = time.monotonic()
    with SiteState(tmp_path).exclusive("apply"):
        assert time.monotonic() - begun > 0.2, "expected to wait for the child that inherited the lock"


def test_a_child_that_keeps_the_lock_of_a_killed_process_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_folder, "TAKEOVER_S", 0.2)
    process = hold(tmp_path, child="5")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with (
        pytest.raises(Busy, match=rf"process {process.pid} on \S+ since \S+Z\) ended, but a process") as caught,
        SiteState(tmp_path).exclusive("apply"),
    ):
        pass
    assert "fuser" in caught.value.hint
