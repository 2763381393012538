"""None of a command's processes outlives the command, or the process that started it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import until

from sovctl.support.processes.scope import running

# Starts a daemon in a session of its own, as an ssh master does, writes both PIDs, and sleeps.
COMMAND = [
    "sh",
    "-c",
    "setsid -f sh -c 'echo $$ > daemon; exec sleep 300'; echo $$ > main; echo started; exec sleep 300",
]
STARTER = f"""
import os, signal, sys
from pathlib import Path
from sovctl.support.processes.scope import running
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run below nohup, which ignores it
with running({COMMAND!r}, folder=Path("temporary")) as process:
    print(process.stdout.readline(), process.pid, flush=True)
    process.stdout.read()
"""


def is_alive(pid_file: Path) -> bool:
    stat = Path(f"/proc/{pid_file.read_text().strip()}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def start(folder: Path) -> subprocess.Popen[str]:
    (folder / "temporary").mkdir()
    process = subprocess.Popen([sys.executable, "-c", STARTER], cwd=folder, stdout=subprocess.PIPE, text=True)
    until(lambda: (folder / "daemon").exists() and (folder / "daemon").read_text().strip(), "the daemon")
    until(lambda: (folder / "main").exists() and (folder / "main").read_text().strip(), "the command")
    return process


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_all_processes_end_with_the_killed_parent(tmp_path: Path, how: signal.Signals) -> None:
    process = start(tmp_path)
    assert is_alive(tmp_path / "daemon")
    process.send_signal(how)
    process.communicate()
    until(lambda: not is_alive(tmp_path / "main"), "the command to end", timeout_s=10)
    until(lambda: not is_alive(tmp_path / "daemon"), "the daemon to end", timeout_s=10)
    until(lambda: not (tmp_path / "temporary").exists(), "the temporary folder to be removed", timeout_s=10)


def test_ctrl_c_ends_all_processes(tmp_path: Path) -> None:
    process = start(tmp_path)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert not is_alive(tmp_path / "main")
    assert not is_alive(tmp_path / "daemon")


def test_daemons_end_with_the_command_and_its_exit_code_is_returned(tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    command = ["sh", "-c", f"cd {tmp_path}; setsid -f sh -c 'echo $$ > daemon; exec sleep 300'; sleep 0.5; exit 7"]
    with running(command, folder=tmp_path / "temporary") as process:
        pass
    assert process.returncode == 7
    assert not is_alive(tmp_path / "daemon")
    assert not (tmp_path / "temporary").exists()
