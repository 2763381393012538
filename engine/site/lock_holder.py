"""Record of the process that holds a site's lock, as the content of the lock file."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

_STARTED = 19  # index of `starttime` (field 22 of proc_pid_stat(5)) after the name of the program


@dataclass(frozen=True)
class Holder:
    """A process that holds the lock.

    Args:
        started_ticks: start of the process in clock ticks since boot, because PIDs are reused.
        since: time of the lock.
    """

    command: str
    pid: int
    started_ticks: int
    host: str
    since: str

    def __str__(self) -> str:
        return f"{self.command} (process {self.pid} on {self.host} since {self.since})"

    @property
    def is_dead(self) -> bool:
        """Whether the process ended; False if it runs on another host, where this host cannot know."""
        return self.host == socket.gethostname() and _started_ticks(self.pid) != self.started_ticks

    def text(self) -> str:
        """Return the content of the lock file."""
        return json.dumps(asdict(self))


def this_process(command: str) -> Holder:
    """Return the record of this process."""
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Holder(command, os.getpid(), _started_ticks(os.getpid()), socket.gethostname(), since)


def parse(text: str) -> Holder | None:
    """Return the holder in the content of a lock file; None if the content is empty or invalid."""
    try:
        return Holder(**json.loads(text))
    except (ValueError, TypeError):
        return None


def _started_ticks(pid: int) -> int:
    """Return the start time of a process; 0 without such a process, or if it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] == "Z" else int(fields[_STARTED])
