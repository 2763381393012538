"""An apply that is ended half way: killed, or with Ctrl-C. What it began is finished by `--resume`, and by nobody else.

What is changed is the list of client networks and of clocks: real changes on all three nodes that stop no pool.
"""

from __future__ import annotations

import signal
import subprocess
from typing import Any

import pytest
from lab_site import LabSite, ended, wait_for

from sovctl.support.errors import ExitCode

pytestmark = pytest.mark.lab

LIMIT_S = 120.0


def _more_clocks(values: dict[str, Any]) -> None:
    values["clock"]["servers"] = ["10.77.0.1", "10.77.0.2"]


CHANGED = {f"{node}/{kind}" for node in ("n1", "n2", "s1") for kind in ("clock/chrony", "perimeter/firewall")}


def test_a_killed_apply_is_finished_by_resume_and_not_by_another_apply(site: LabSite) -> None:
    with site.edited(_more_clocks):
        assert set(site.changes()) == CHANGED
        running = _apply_up_to_the_second_wave(site)
        other = site.run("apply", str(site.file), "--yes")
        assert other.returncode == ExitCode.BUSY
        assert f"process {running.pid}" in other.stderr

        running.kill()
        assert ended(running)[0] == -signal.SIGKILL
        assert site.journal()[-1]["event"] not in ("finished", "failed", "interrupted")
        # What it started on the nodes may still be at work; as long as it is, nobody else gets in.
        wait_for("what it started to end", lambda: _apply_again(site) != ExitCode.BUSY, limit_s=LIMIT_S)
        assert _apply_again(site) == ExitCode.BAD_INPUT, "what did not finish must be resumed by name"

        site.apply("--resume")
        assert site.journal()[-1]["event"] == "finished"
        assert site.changes() == {}


def test_ctrl_c_ends_an_apply_with_130_and_resume_finishes_it(site: LabSite) -> None:
    assert set(site.changes()) == CHANGED
    running = _apply_up_to_the_second_wave(site)
    running.send_signal(signal.SIGINT)
    code, said = ended(running)
    assert code == ExitCode.INTERRUPTED, said
    assert "interrupted" in said
    assert site.journal()[-1]["event"] == "interrupted"
    site.apply("--resume")
    assert site.journal()[-1]["event"] == "finished"
    assert site.changes() == {}


def _apply_up_to_the_second_wave(site: LabSite) -> subprocess.Popen[str]:
    """An apply that has proven its canary and begins to change the nodes after it."""
    earlier = site.newest_journal()
    running = site.start("apply", str(site.file), "--yes")

    def is_there() -> bool:
        assert running.poll() is None, f"expected an apply under way, it ended with {running.returncode}"
        if site.newest_journal() == earlier:
            return False
        events = [event["event"] for event in site.journal()]
        return "wave-proven" in events and "role-started" in events[events.index("wave-proven") :]

    wait_for("the wave after the canary", is_there, limit_s=LIMIT_S)
    return running


def _apply_again(site: LabSite) -> int:
    return site.run("apply", str(site.file), "--yes").returncode
