"""One sovctl changes a site at a time, whatever becomes of the one before."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sovctl.engine.site.state_folder import SiteState
from sovctl.support.errors import Busy, ExitCode

HOLDER = """
import sys, time
from pathlib import Path
from sovctl.engine.site.state_folder import SiteState
with SiteState(Path(sys.argv[1])).exclusive("apply"):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(root: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(root)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_told_who_holds_the_site(tmp_path: Path) -> None:
    process = hold(tmp_path)
    with (
        pytest.raises(Busy, match=rf"sovctl apply \(process {process.pid}\) is changing this site") as caught,
        SiteState(tmp_path).exclusive("apply"),
    ):
        pass
    assert caught.value.exit_code is ExitCode.BUSY
    process.communicate()
    with SiteState(tmp_path).exclusive("apply"):
        assert (tmp_path / "lock").read_text().startswith("sovctl apply")
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
