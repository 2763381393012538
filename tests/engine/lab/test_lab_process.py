"""Daemons that outlive us, known again by number and start time."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sovctl.engine.lab.linux import process
from sovctl.engine.lab.linux.process import LabFailure, ProcessId
from sovctl.support.errors import MissingTool

WAITING = [sys.executable, "-c", "import time; time.sleep(60)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)",
]


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[ProcessId]:
    found = process.spawn(WAITING, log=tmp_path / "log", lab="sovunit")
    yield found
    process.end([found], grace_s=5)


def test_a_failed_command_says_what_it_was_for_and_how_it_ended() -> None:
    with pytest.raises(LabFailure, match=r"could not look: sh exited 3: first / second"):
        process.run(["sh", "-c", "echo first >&2; echo second >&2; exit 3"], purpose="look")


def test_a_missing_command_points_at_lab_check() -> None:
    with pytest.raises(MissingTool, match="no-such-command") as caught:
        process.run(["no-such-command"], purpose="look")
    assert caught.value.hint == "sovctl lab check --install"


def test_a_command_that_hangs_is_given_up() -> None:
    with pytest.raises(LabFailure, match="timed out after"):
        process.run(WAITING, purpose="wait", timeout_s=0.2)


def test_a_recorded_daemon_is_found_again(daemon: ProcessId, tmp_path: Path) -> None:
    process.record(tmp_path / "run" / "x.json", daemon)
    assert process.recorded(tmp_path / "run" / "x.json") == daemon
    assert process.is_alive(daemon)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"pid": "x", "started_ticks": 1}', "null"])
def test_a_damaged_record_names_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    assert process.recorded(tmp_path / "x.json") is None


def test_another_process_with_the_same_number_is_not_ended(daemon: ProcessId) -> None:
    stranger = dataclasses.replace(daemon, started_ticks=daemon.started_ticks - 1)
    process.end([stranger], grace_s=1)
    assert process.is_alive(daemon)


def test_a_daemon_that_ended_is_not_taken_for_alive(tmp_path: Path) -> None:
    found = process.spawn(WAITING, log=tmp_path / "log", lab="sovunit")
    os.kill(found.pid, 9)
    deadline = time.monotonic() + 10
    while process.is_alive(found):
        assert time.monotonic() < deadline


def test_a_daemon_that_ignores_the_request_is_made_to_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = process.spawn(STUBBORN, log=log, lab="sovunit")
    deadline = time.monotonic() + 10
    while "ready" not in log.read_text():
        assert time.monotonic() < deadline
    process.end([found], grace_s=0.1)
    assert not process.is_alive(found)


def test_only_daemons_of_the_same_lab_are_marked(daemon: ProcessId) -> None:
    pids = [daemon.pid, os.getpid(), 1]
    deadline = time.monotonic() + 10
    while not process.marked("sovunit", pids):  # the kernel shows the environment a moment after the start
        assert time.monotonic() < deadline
    assert process.marked("sovunit", pids) == [daemon]
    assert process.marked("sovuni", pids) == []


def test_no_booted_node_is_an_error_and_not_a_guess() -> None:
    with pytest.raises(LabFailure, match="the node is not running"):
        process.init_process([os.getpid()])
