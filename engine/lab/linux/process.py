"""Runs commands and daemons, and identifies their processes.

A process is recorded by PID and start time, because the kernel reuses PIDs. Every daemon has `SOVCTL_LAB=<name>` in its
environment, which identifies daemons without a record (after `kill -9` between start and record).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import MissingTool, SovctlError

MARK = "SOVCTL_LAB"
_KEPT_LINES = 6  # of a failed command's output in the message


class LabFailure(SovctlError):
    """A step of building or running a lab failed."""


@dataclass(frozen=True)
class ProcessId:
    """Identity of a process, unique until the next boot."""

    pid: int
    started_ticks: int
    """Field 22 of /proc/PID/stat: clock ticks since boot (proc(5))."""


def run(
    command: Sequence[str | Path],
    *,
    purpose: str,
    stdin: str | bytes | None = None,
    cwd: Path | None = None,
    environment: dict[str, str] | None = None,
    timeout_s: float = 1800,
) -> str:
    """Run a command and return its standard output.

    Args:
        purpose: purpose in the infinitive, for the message of an error: "create the image".
        environment: added to the environment of this process.

    Raises:
        MissingTool: the command was not found.
        LabFailure: the exit code is not 0, or the command timed out. The message has the end of its output.
    """
    words = [str(word) for word in command]
    data = stdin.encode() if isinstance(stdin, str) else stdin
    try:
        done = subprocess.run(
            words,
            input=data,
            stdin=subprocess.DEVNULL if data is None else None,
            capture_output=True,
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C.UTF-8", **(environment or {})},
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError:
        raise MissingTool(
            f"command {words[0]!r} not found; it is required to {purpose}", hint="sovctl lab check --install"
        ) from None
    except subprocess.TimeoutExpired:
        raise LabFailure(f"could not {purpose}: {words[0]} timed out after {timeout_s:.0f} s") from None
    if done.returncode != 0:
        lines = (
            done.stderr.decode(errors="replace").strip() or done.stdout.decode(errors="replace").strip()
        ).splitlines()
        raise LabFailure(
            f"could not {purpose}: {words[0]} exited {done.returncode}: {' / '.join(lines[-_KEPT_LINES:])}"
        )
    return done.stdout.decode(errors="replace")


def spawn(
    command: Sequence[str | Path], *, log: Path, lab: str, environment: dict[str, str] | None = None
) -> ProcessId:
    """Start a daemon in its own session, its output appended to `log`.

    `subprocess.Popen` would warn about the child, which outlives this process.
    """
    words = [str(word) for word in command]
    log.parent.mkdir(parents=True, exist_ok=True)
    pid = os.posix_spawnp(
        words[0],
        words,
        {**os.environ, **(environment or {}), MARK: lab},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    identity = identify(pid)
    if identity is None:
        raise LabFailure(f"{words[0]} ended immediately after its start", hint=f"see {log}")
    return identity


def identify(pid: int) -> ProcessId | None:
    """Return the running process with this PID; None without one, or for a zombie."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # reap an ended child of this process
    try:
        # The command name in field 2 may contain spaces and brackets, so fields count from the last bracket.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, started_ticks = fields[0], int(fields[19])
    return None if state in "ZX" else ProcessId(pid, started_ticks)


def is_alive(process: ProcessId) -> bool:
    """Return whether this process runs."""
    return identify(process.pid) == process


def end(processes: Iterable[ProcessId], *, grace_s: float) -> None:
    """Send SIGTERM to processes, and SIGKILL after `grace_s` seconds. Return after all have ended."""
    waiting = [process for process in processes if is_alive(process)]
    for number, limit_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 5.0)):
        watched = {}
        for process in waiting:
            with contextlib.suppress(ProcessLookupError):
                watched[os.pidfd_open(process.pid)] = process
        # An open pidfd always refers to the same process: check its identity, then signal.
        for descriptor, process in watched.items():
            if is_alive(process):
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(descriptor, number)
        waiting = _wait(watched, limit_s)
        if not waiting:
            return
    raise LabFailure(f"process {waiting[0].pid} did not end")


def _wait(watched: dict[int, ProcessId], limit_s: float) -> list[ProcessId]:
    """Wait for pidfds to become readable, close them, and return the processes that still run."""
    import time

    deadline = time.monotonic() + limit_s
    open_descriptors = set(watched)
    try:
        while open_descriptors and (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select(list(open_descriptors), [], [], left)
            open_descriptors -= set(ready)
        return [watched[descriptor] for descriptor in open_descriptors if is_alive(watched[descriptor])]
    finally:
        for descriptor in watched:
            os.close(descriptor)


def init_process(pids: Iterable[int]) -> int:
    """Return the PID of the process that is number 1 in its PID namespace: the init of a booted node.

    Raises:
        LabFailure: no process is.
    """
    for pid in sorted(pids):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("NSpid:") and len(line.split()) > 2 and line.split()[-1] == "1":  # proc(5)
                    return pid
    raise LabFailure("the node is not running", hint="sovctl lab up")


def marked(lab: str, pids: Iterable[int]) -> list[ProcessId]:
    """Return the processes of `pids` that a lab of this name started."""
    wanted = f"{MARK}={lab}".encode()
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                identity = identify(pid)
                if identity:
                    found.append(identity)
    return found


def record(path: Path, process: ProcessId) -> None:
    """Write the record of a daemon."""
    write_atomic(path, json.dumps(asdict(process)) + "\n")


def recorded(path: Path) -> ProcessId | None:
    """Return the daemon recorded in `path`; None without a valid record."""
    try:
        value = json.loads(path.read_text())
        return ProcessId(int(value["pid"]), int(value["started_ticks"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
