"""The probe of attributes reports type, mode, owner and flags of real files."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sovctl.engine.resources.attributes import PROGRAM

GET_FLAGS, SET_FLAGS = 0x80086601, 0x40086602
IMMUTABLE, APPEND_ONLY = 0x10, 0x20


def seen(*paths: Path) -> dict[str, Any]:
    command = [sys.executable, str(PROGRAM), *map(str, paths)]
    document: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return document


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "chrony.conf"
    made.write_text("server 192.0.2.1\n")
    made.chmod(0o644)
    return made


def _special(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o644)


def _link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/etc/hostname")


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir(0o755)


CHANGES: dict[str, tuple[Callable[[Path], object], dict[str, str]]] = {
    "mode": (lambda file: file.chmod(0o4666), {"mode": "4666"}),
    "a link instead of the file": (_link, {"type": "link", "mode": "0777"}),
    "a folder instead of the file": (_folder, {"type": "folder", "mode": "0755"}),
    "a pipe instead of the file": (_special, {"type": "special"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_is_seen_and_nothing_else_of_the_file(name: str, file: Path) -> None:
    before = seen(file)[str(file)]
    assert before == {"type": "file", "mode": "0644", "uid": os.getuid(), "gid": os.getgid(), "is_locked": False}
    change, expected = CHANGES[name]
    change(file)
    assert seen(file)[str(file)] == before | expected


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_owner_and_group_are_seen(file: Path) -> None:
    os.chown(file, 1000, 1001)
    found = seen(file)[str(file)]
    assert (found["uid"], found["gid"]) == (1000, 1001)


def test_an_absent_path_is_omitted_because_its_resource_reports_it(file: Path) -> None:
    assert list(seen(file, file.with_name("none"))) == [str(file)]


def set_flags(path: Path, flags: int) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        now = struct.unpack("l", fcntl.ioctl(descriptor, GET_FLAGS, struct.pack("l", 0)))[0]
        kept = now & ~(IMMUTABLE | APPEND_ONLY)
        fcntl.ioctl(descriptor, SET_FLAGS, struct.pack("l", kept | flags))
    finally:
        os.close(descriptor)


@pytest.fixture
def locked(file: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    try:
        set_flags(file, request.param)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTTY, errno.EOPNOTSUPP):
            raise
        pytest.skip("this user or file system cannot set flags")
    yield file
    set_flags(file, 0)


@pytest.mark.parametrize("locked", [IMMUTABLE, APPEND_ONLY], indirect=True)
def test_the_immutable_and_the_append_only_flag_are_seen(locked: Path) -> None:
    assert seen(locked)[str(locked)]["is_locked"] is True
