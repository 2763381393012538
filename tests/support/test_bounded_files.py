"""Files are read up to a size; devices and pipes are refused without blocking."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(b"x" * (1 << 20))
    assert len(read_bounded(file, 1 << 20)) == 1 << 20
    file.write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(InputError, match="expected at most 1 MiB") as caught:
        read_bounded(file, 1 << 20)
    assert caught.value.where == str(file)


def test_devices_pipes_and_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "zero").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    for name in ("zero", "pipe", "."):
        with pytest.raises(InputError, match="not a regular file") as caught:
            read_bounded(tmp_path / name, 1 << 20)
        assert caught.value.where == str(tmp_path / name)
