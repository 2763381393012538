"""Ctrl-C, a closed pipe, and the door for our own mistakes: words and an exit code, and no process left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cli_sites import ADDRESSES, make_site, write_captures
from transcript import snapshot
from waiting import until

SOVCTL = str(Path(sys.executable).parent / "sovctl")
PATIENCE_S = 60


@pytest.fixture
def silent_nodes() -> Iterator[list[socket.socket]]:
    """Listeners on every node's address, one port, that accept and never say a word."""
    with ExitStack() as stack:
        first = stack.enter_context(socket.create_server((ADDRESSES[0], 0)))
        port = first.getsockname()[1]
        others = [stack.enter_context(socket.create_server((address, port))) for address in ADDRESSES[1:]]
        yield [first, *others]


def test_ctrl_c_ends_a_plan_at_once_and_leaves_nothing(silent_nodes: list[socket.socket], tmp_path: Path) -> None:
    make_site(tmp_path, ssh_port=silent_nodes[0].getsockname()[1])
    before = snapshot(tmp_path)
    silent_nodes[0].settimeout(PATIENCE_S)
    with subprocess.Popen(
        [SOVCTL, "plan"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        connection, _ = silent_nodes[0].accept()  # the worker is at it
        children = _descendants(process.pid)
        assert children, "nobody to leave behind: the test proves nothing"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    connection.close()
    assert (process.returncode, out) == (130, "")
    assert err.strip() == "sovctl: interrupted; no file was left incomplete, and the command can be repeated"
    until(lambda: not any(map(_is_alive, children)), "nobody is left behind")  # what is killed ends a moment later
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("words", [("--version",), ("init", "--list"), ("plan", "--facts", "facts", "--json")])
def test_a_reader_that_goes_away_is_no_error(words: tuple[str, ...], tmp_path: Path) -> None:
    make_site(tmp_path, ssh_port=22)
    write_captures(tmp_path / "facts")
    gone, ours = os.pipe()
    os.close(gone)
    done = subprocess.run(
        [SOVCTL, *words], cwd=tmp_path, stdout=ours, stderr=subprocess.PIPE, check=False, timeout=PATIENCE_S
    )
    os.close(ours)
    assert (done.returncode, done.stderr) == (0, b"")


def test_our_own_mistake_is_said_as_such_and_keeps_the_details_in_a_file(tmp_path: Path) -> None:
    program = (
        "from sovctl.cli.error_handler import handle_errors\n"
        "with handle_errors():\n"
        "    raise ZeroDivisionError('the words of the mistake stay in the file')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    (crash,) = tmp_path.iterdir()
    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr.splitlines()[0] == f"sovctl: internal error: ZeroDivisionError; the details are in {crash}"
    assert "the words of the mistake" not in done.stderr
    assert "the words of the mistake" in crash.read_text()
    assert crash.stat().st_mode & 0o077 == 0


def test_a_full_disk_is_said_as_such(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full to stand for a full disk")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [SOVCTL, "init", "--list"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
    assert done.returncode == 7
    assert done.stderr.splitlines()[0] == "sovctl: no space left on device"
    assert "Traceback" not in done.stderr


def _is_alive(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _descendants(process_id: int) -> list[int]:
    """Children, their children, and so on."""
    found = [int(each) for each in Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()]
    return [*found, *(below for each in found for below in _descendants(each))]
