"""Processes under measurement: started on given cores, counted by /proc, ended with all their children.

with started(["nginx", ...], cores={0}, log=path) as gateway:
    wait_for_port(gateway, 8080)
    before = gateway.cpu_s()
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Running:
    """A process and what it started, told by their session."""

    process: subprocess.Popen[bytes]
    log: Path

    def pids(self) -> list[int]:
        """It and its children, the living ones."""
        return [pid for pid, fields in _stats() if int(fields[3]) == self.process.pid]

    def cpu_s(self) -> float:
        """User and system time of all of them so far."""
        own = [fields for _, fields in _stats() if int(fields[3]) == self.process.pid]
        return sum(int(fields[11]) + int(fields[12]) for fields in own) / _TICKS_PER_S

    def rss_bytes(self) -> int:
        """Resident memory of all of them now."""
        return sum(int(_status(pid, "VmRSS").split()[0]) * 1024 for pid in self.pids())


@contextlib.contextmanager
def started(
    command: list[str], *, cores: set[int], log: Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Iterator[Running]:
    """A process on `cores`; at the end SIGTERM, then SIGKILL, for it and its children."""
    with log.open("ab") as file:
        process = subprocess.Popen(
            ["taskset", "-c", ",".join(map(str, sorted(cores))), *command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            start_new_session=True,
        )
    running = Running(process, log)
    try:
        yield running
    finally:
        for sig, timeout_s in ((signal.SIGTERM, 15), (signal.SIGKILL, 5)):
            if process.poll() is not None and not running.pids():
                break  # another process may have this PID now
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, sig)
            deadline = time.monotonic() + timeout_s
            while (process.poll() is None or running.pids()) and time.monotonic() < deadline:
                time.sleep(0.02)


def wait_for_port(running: Running, port: int, *, timeout_s: float = 120) -> None:
    """Return when something listens there.

    Raises:
        RuntimeError: it ended, or takes too long; with the end of its log.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if running.process.poll() is not None or time.monotonic() > deadline:
                tail = running.log.read_text(errors="replace")[-2000:]
                raise RuntimeError(f"nothing listens at port {port}:\n{tail}") from None
            time.sleep(0.05)
        else:
            return


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _stats() -> Iterator[tuple[int, list[str]]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # proc(5): the name may hold spaces; what follows its last parenthesis begins with field 3.
                fields = (entry / "stat").read_text().rpartition(") ")[2].split()
                if fields[0] != "Z":
                    yield int(entry.name), fields


def _status(pid: int, name: str) -> str:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return "0"
