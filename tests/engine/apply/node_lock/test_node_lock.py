"""A node has one controller at a time: the script of the node is run here with a folder of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from sovctl.engine.apply.node_lock import at_end, node_script
from sovctl.engine.apply.node_lock.holder import NodeHolder, broken, problem

OURS = NodeHolder("aa" * 8, "controller-1", "bank", "run-1", 100, "2026-11-27T10:00:00Z")
OTHER = replace(OURS, controller="bb" * 8, host="controller-2", run="run-7")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def quiet(tmp_path: Path) -> Path:
    """A /proc without processes."""
    path = tmp_path / "proc"
    path.mkdir()
    return path


def call(folder: Path, action: str, holder: NodeHolder, proc: Path, **options: Any) -> str:
    job = {"action": action, "holder": asdict(holder), "expires_s": 60, "wait_s": 0, "break": False}
    job |= {"folder": str(folder), "proc": str(proc), **options}
    command = [sys.executable, "-I", "-", json.dumps(job)]
    script = Path(node_script.__file__).read_text()
    return subprocess.run(command, input=script, capture_output=True, text=True, check=True).stdout


def test_another_controller_is_refused_with_the_holders_name(folder: Path, quiet: Path) -> None:
    assert problem(call(folder, "take", OURS, quiet)) is None
    refused = problem(call(folder, "take", OTHER, quiet))
    assert refused == f"locked by {OURS}"
    assert "on controller-1" in str(OURS)


def test_a_released_lock_is_free(folder: Path, quiet: Path) -> None:
    call(folder, "take", OURS, quiet)
    call(folder, "release", OURS, quiet)
    assert problem(call(folder, "take", OTHER, quiet)) is None


def test_the_next_run_of_the_same_controller_takes_the_lock_over(folder: Path, quiet: Path) -> None:
    call(folder, "take", OURS, quiet)
    output = call(folder, "take", replace(OURS, run="run-2"), quiet)
    assert (problem(output), broken(output)) == (None, None)


def test_a_run_releases_no_lock_of_another_run(folder: Path, quiet: Path) -> None:
    call(folder, "take", OURS, quiet)
    call(folder, "release", OTHER, quiet)
    call(folder, "release", replace(OURS, run="run-0"), quiet)
    assert problem(call(folder, "take", OTHER, quiet)) == f"locked by {OURS}"


def test_an_expired_lock_is_free(folder: Path, quiet: Path) -> None:
    call(folder, "take", OURS, quiet, expires_s=-1)
    assert problem(call(folder, "take", OTHER, quiet)) is None


def test_a_broken_lock_names_its_former_holder(folder: Path, quiet: Path) -> None:
    call(folder, "take", OURS, quiet)
    assert broken(call(folder, "take", OTHER, quiet, **{"break": True})) == OURS
    assert problem(call(folder, "take", OURS, quiet)) == f"locked by {OTHER}"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"holder": 1, "expires": 1e99}', '{"holder": {}, "expires": "x"}'])
def test_an_unreadable_record_is_replaced(folder: Path, quiet: Path, content: str) -> None:
    folder.mkdir()
    (folder / "apply.json").write_text(content)
    assert problem(call(folder, "take", OURS, quiet)) is None


@pytest.fixture
def step() -> Iterator[subprocess.Popen[bytes]]:
    """A step as Ansible starts it with sudo; its program outlives the connection."""
    command = ["sh", "-c", "echo BECOME-SUCCESS-abcdefgh; sleep 300; true"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while "sleep" not in names_below(process.pid):
            time.sleep(0.02)
        yield process
        subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)


def names_below(pid: int) -> str:
    return subprocess.run(["ps", "-o", "comm=", "--ppid", str(pid)], capture_output=True, text=True, check=False).stdout


def test_a_running_step_of_an_earlier_run_is_reported(folder: Path, step: subprocess.Popen[bytes]) -> None:
    refused = problem(call(folder, "take", OURS, Path("/proc")))
    assert refused is not None
    assert refused.startswith("a step of an earlier apply still runs: ")
    assert "sleep" in refused
    assert step.poll() is None


@pytest.mark.parametrize("output", ["", "no json", "[]", "{}", '{"state": "other"}'])
def test_an_answer_without_a_lock_is_a_problem(output: str) -> None:
    assert problem(output) is not None


@pytest.mark.parametrize("ending", ["return", "kill"])
def test_locks_are_released_when_the_apply_ends_or_is_killed(tmp_path: Path, ending: str) -> None:
    released = tmp_path / "released"
    job = {"commands": [["sh", "-c", f"cat > {released}"], ["sleep", "60"]], "input": "release"}
    job |= {"timeout_s": 0.5, "killed_timeout_s": 0.5}
    parent = """
import subprocess, sys
script = subprocess.Popen([sys.executable, "-I", "-S", sys.argv[1]], stdin=subprocess.PIPE, text=True)
print(sys.argv[2], file=script.stdin, flush=True)
print(script.pid, flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", parent, at_end.__file__, json.dumps(job)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        script = int(process.stdout.readline())
        assert not released.exists()
        if ending == "kill":
            process.kill()
        else:
            process.stdin.close()
        process.wait()
    until = time.monotonic() + 10
    while Path(f"/proc/{script}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert released.read_text() == "release"
    assert not Path(f"/proc/{script}").exists()
