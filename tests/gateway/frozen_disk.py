"""A disk that hangs: an ext4 file system of a test's own, frozen so that whoever writes to it waits until it is thawed.

with own_disk(tmp_path) as disk:       # skips where this machine lets nobody mount
    with disk.frozen():
        ...                            # writing below disk.path waits, reading mostly does not
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_SIZE_BYTES = 32 << 20
_TOOLS = ("mkfs.ext4", "mount", "umount", "fsfreeze")


@dataclass(frozen=True)
class Disk:
    """A mounted file system that nobody else uses."""

    path: Path

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Until the end of this, nothing is written to it."""
        _run("fsfreeze", "--freeze", self.path)
        try:
            yield
        finally:
            _run("fsfreeze", "--unfreeze", self.path)


@contextmanager
def own_disk(folder: Path) -> Iterator[Disk]:
    """Make a file system in a file of `folder`, and mount it there."""
    if os.geteuid() != 0 or not all(map(shutil.which, _TOOLS)):
        pytest.skip("a disk can be frozen by root alone, with e2fsprogs and util-linux")
    image, path = folder / "disk.ext4", folder / "disk"
    path.mkdir()
    with image.open("wb") as file:
        file.truncate(_SIZE_BYTES)
    _run("mkfs.ext4", "-q", image)
    if subprocess.run(["mount", "-o", "loop", image, path], capture_output=True, check=False).returncode:
        pytest.skip("no loop device can be mounted here")
    try:
        assert path.stat().st_dev != folder.stat().st_dev  # else a freeze would reach everybody's disk
        yield Disk(path)
    finally:
        _run("umount", path)


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=60)
