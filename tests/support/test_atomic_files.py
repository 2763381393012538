"""Files appear whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sovctl.support.atomic_files import write_atomic, write_many


def test_an_atomic_write_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    write_atomic(path, "old")
    write_atomic(path, b"new", mode=0o600)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_many_files_are_written_and_nothing_else(tmp_path: Path) -> None:
    files = {tmp_path / folder / f"{number}": b"%d" % number for folder in ("a", "b/c") for number in range(50)}
    write_many(files)
    write_many(files)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files


def test_nothing_to_write_is_nothing_done(tmp_path: Path) -> None:
    write_many({})
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_no_drafts(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(IsADirectoryError):
        write_many({tmp_path / "a": b"1", tmp_path / "taken": b"2"})
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".new")]


def test_kill_9_leaves_only_whole_files(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\n"
        "from sovctl.support.atomic_files import write_many\n"
        "d = pathlib.Path(sys.argv[1])\n"
        "for n in range(10_000):\n"
        "    write_many({d / f'{n % 7 * 10 + i}': b'x' * 100_000 for i in range(10)})\n"
        "    print(n, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(9):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    sizes = {path.stat().st_size for path in tmp_path.iterdir() if path.name.isdigit()}
    assert sizes == {100_000}
