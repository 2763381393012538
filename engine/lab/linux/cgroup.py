"""One control group per node: without it booted nodes collide, and with it nothing of a node can hide from `down`.

Three kinds of machine: the hybrid layout (a `systemd` tree of version 1 beside a version 2 tree), plain version 2
without systemd, and a systemd host, where systemd owns the tree and gives us a scope. The last one was written from
systemd-run(1) and not tried.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from .process import LabFailure, run

_TREE = Path("/sys/fs/cgroup")
_CLEAR_LIMIT_S = 20.0  # killing takes milliseconds; longer means a process stuck in the kernel
_ENTER = """
set -e
while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs"; shift; done
shift
set +e
while :; do "$@"; [ $? -eq 133 ] || break; done
"""
# With --keep-unit a reboot makes nspawn exit 133 and leaves the restart to us (systemd issue 2932), hence the loop.


def has_systemd() -> bool:
    """True when systemd is process 1 of this machine (sd_booted(3))."""
    return Path("/run/systemd/system").is_dir()


def folders(machine: str) -> list[Path]:
    """The control group folders of a machine, whether they exist or not."""
    if has_systemd():
        return [_TREE / "system.slice" / f"{machine}.scope"]
    if (_TREE / "cgroup.controllers").exists():
        return [_TREE / machine]
    return [_TREE / tree / machine for tree in ("systemd", "unified") if (_TREE / tree).is_dir()]


def wrap(machine: str, command: list[str]) -> list[str]:
    """The command that runs `command` in the control group of `machine`, again and again while it reboots."""
    if has_systemd():
        scope = ["systemd-run", "--quiet", "--scope", f"--unit={machine}", "--property=Delegate=yes", "--collect"]
        return [*scope, "/bin/sh", "-c", _ENTER, machine, "--", *command]
    for folder in folders(machine):
        folder.mkdir(exist_ok=True)
    return ["/bin/sh", "-c", _ENTER, machine, *(str(folder) for folder in folders(machine)), "--", *command]


def exists(machine: str) -> bool:
    """True while there is anything of it."""
    return any(folder.exists() for folder in folders(machine))


def members(machine: str) -> set[int]:
    """Numbers of all processes of a machine."""
    return {pid for folder in folders(machine) for pid in _members(folder)}


def clear(machine: str) -> None:
    """End every process of a machine at once and remove its control groups.

    Nothing is flushed, on purpose: the node's disk goes too.
    """
    deadline = time.monotonic() + _CLEAR_LIMIT_S
    while pids := members(machine):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)  # read a moment ago from a group that only the node's processes are in
        if time.monotonic() > deadline:
            raise LabFailure(f"could not end the processes of {machine}: {len(pids)} are left")
        time.sleep(0.02)
    if has_systemd():
        if exists(machine):
            run(["systemctl", "stop", f"{machine}.scope"], purpose="remove a node's scope")
        return
    for folder in folders(machine):
        for each in reversed(list(_groups(folder))):  # children first
            with contextlib.suppress(FileNotFoundError):
                each.rmdir()


def _groups(folder: Path) -> Iterator[Path]:
    """A group and all below it, parents first."""
    if folder.is_dir():
        yield folder
        for child in sorted(folder.iterdir()):
            if child.is_dir():
                yield from _groups(child)


def _members(folder: Path) -> Iterator[int]:
    """Processes of a group and of all below it."""
    for group in _groups(folder):
        with contextlib.suppress(FileNotFoundError):
            for word in (group / "cgroup.procs").read_text().split():
                yield int(word)
