"""Control groups of nodes. They separate booted nodes, and `down` finds all processes of a node in its group.

Supports three layouts of the machine: hybrid (a `systemd` tree of version 1 and a version 2 tree), version 2 without
systemd, and systemd, where each node has a scope. The last follows systemd-run(1) and was not tested.
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
_CLEAR_LIMIT_S = 20.0  # SIGKILL takes milliseconds, except for a process blocked in the kernel
_ENTER = """
set -e
while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs"; shift; done
shift
set +e
while :; do "$@"; [ $? -eq 133 ] || break; done
"""
# The loop restarts a rebooted node, because with --keep-unit nspawn exits with 133 instead (systemd issue 2932).


def has_systemd() -> bool:
    """Return whether systemd is process 1 of this machine (sd_booted(3))."""
    return Path("/run/systemd/system").is_dir()


def folders(machine: str) -> list[Path]:
    """Return the control group folders of a node, which may not exist."""
    if has_systemd():
        return [_TREE / "system.slice" / f"{machine}.scope"]
    if (_TREE / "cgroup.controllers").exists():
        return [_TREE / machine]
    return [_TREE / tree / machine for tree in ("systemd", "unified") if (_TREE / tree).is_dir()]


def wrap(machine: str, command: list[str]) -> list[str]:
    """Return the command that runs `command` in the control group of a node, and again after each reboot."""
    if has_systemd():
        scope = ["systemd-run", "--quiet", "--scope", f"--unit={machine}", "--property=Delegate=yes", "--collect"]
        return [*scope, "/bin/sh", "-c", _ENTER, machine, "--", *command]
    for folder in folders(machine):
        folder.mkdir(exist_ok=True)
    return ["/bin/sh", "-c", _ENTER, machine, *(str(folder) for folder in folders(machine)), "--", *command]


def exists(machine: str) -> bool:
    """Return whether a control group of the node exists."""
    return any(folder.exists() for folder in folders(machine))


def members(machine: str) -> set[int]:
    """Return the PIDs of all processes of a node."""
    return {pid for folder in folders(machine) for pid in _members(folder)}


def clear(machine: str) -> None:
    """Kill all processes of a node and remove its control groups.

    The node's disk is not flushed, because it is removed too.
    """
    deadline = time.monotonic() + _CLEAR_LIMIT_S
    while pids := members(machine):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)  # the group contains only processes of the node
        if time.monotonic() > deadline:
            raise LabFailure(f"could not end the processes of {machine}: {len(pids)} remain")
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
    """Yield a group and all groups below it, parents first."""
    if folder.is_dir():
        yield folder
        for child in sorted(folder.iterdir()):
            if child.is_dir():
                yield from _groups(child)


def _members(folder: Path) -> Iterator[int]:
    """Yield the PIDs of a group and of all groups below it."""
    for group in _groups(folder):
        with contextlib.suppress(FileNotFoundError):
            for word in (group / "cgroup.procs").read_text().split():
                yield int(word)
