"""A site on a lab: starts commands that are to fail, and finds the processes and locks that they leave."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sovctl.engine.apply import journal
from sovctl.engine.lab.layout import Lab, node_named
from sovctl.engine.lab.linux import cgroup
from sovctl.engine.lab.linux.process import LabFailure, init_process
from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import ExitCode

from ..drifts.lab import LabSite

MARK = "SOVCTL_TRIAL"
"""Environment variable by which the processes of one command are found."""
LIMIT_S = 10.0
"""Seconds after the end of a command in which all of its processes must end and its locks must be free."""
STEP_LIMIT_S = 600.0
_POLL_S = 0.05

Events = Sequence[Mapping[str, Any]]


@dataclass
class Command:
    """A started `sovctl` command."""

    process: subprocess.Popen[bytes]
    mark: str
    log: Path
    journal_before: str
    """Newest journal before the start."""
    ended_at: float = field(default=0.0)

    @property
    def output(self) -> str:
        """Standard output and errors until now."""
        return self.log.read_text(errors="replace")

    def end(self, limit_s: float = STEP_LIMIT_S) -> int:
        """Wait for the end, and return the exit code; negative after a signal."""
        code = self.process.wait(timeout=limit_s)
        self.ended_at = time.monotonic()
        return code

    def signal(self, number: signal.Signals) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.end()


@dataclass(frozen=True)
class FailingSite(LabSite):
    """A planned and applied site."""

    @property
    def lab(self) -> Lab:
        """The lab."""
        return Lab(self.name)

    @property
    def state(self) -> Path:
        """State folder."""
        return self.file.resolve().parent / ".sovctl"

    def start(self, *arguments: str) -> Command:
        """Start a command in its own session."""
        mark = uuid.uuid4().hex
        descriptor, name = tempfile.mkstemp(prefix="sovctl-trial-")
        before = self.newest_journal()
        with os.fdopen(descriptor, "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "sovctl.cli", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {MARK: mark},
                preexec_fn=_default_signals,
                start_new_session=True,
            )
        return Command(process, mark, Path(name), before)

    def apply_until(self, reached: Callable[[Events], bool], *options: str) -> Command:
        """Start an apply, and return when its journal has reached a point.

        Raises:
            RuntimeError: it ended before.
        """
        command = self.start("apply", str(self.file), "--yes", *options)
        until = time.monotonic() + STEP_LIMIT_S
        while not reached(self.events_since(command.journal_before)):
            if command.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the apply ended with {command.process.poll()}: {command.output[-400:]}")
            time.sleep(_POLL_S)
        return command

    def newest_journal(self) -> str:
        """Return the name of the newest journal; empty without one."""
        return max((path.name for path in (self.state / "journal").glob("*.jsonl")), default="")

    def events_since(self, before: str) -> Events:
        """Return the events of the newest journal; empty if it is the one before."""
        newest = self.newest_journal()
        return list(journal.read(self.state / "journal" / newest)) if newest != before else []

    @property
    def is_unfinished(self) -> bool:
        """Whether the newest journal has no end."""
        return journal.unfinished(self.state / "journal") is not None

    def edit(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change values of site.yaml."""
        values = yaml.safe_load(self.file.read_text())
        change(values)
        write_atomic(self.file, yaml.safe_dump(values, sort_keys=False))

    def toggle_clock(self) -> None:
        """Add a second time server, or remove it: two changes on every node, which stop no server."""

        def change(values: dict[str, Any]) -> None:
            servers = values["clock"]["servers"]
            values["clock"]["servers"] = servers[:1] if len(servers) > 1 else [*servers, "10.77.0.2"]

        self.edit(change)

    def changes(self) -> list[str]:
        """Plan, and return the ids of the changes."""
        return [f"{each['node']}/{each['kind']}/{each['name']}" for each in self.plan()["changes"]]

    def left_behind(self, command: Command, *, cut_off: Collection[str] = ()) -> list[str]:
        """Return processes and locks that exist `LIMIT_S` after the end of a command.

        Args:
            cut_off: nodes whose locks do not count.
        """
        until = command.ended_at + LIMIT_S
        while (left := [*processes(command.mark), *self.locks(cut_off)]) and time.monotonic() < until:
            time.sleep(_POLL_S)
        return left

    def locks(self, cut_off: Collection[str] = ()) -> list[str]:
        """Return the held locks of the controller, and of running nodes with a connection."""
        names = [node.name for node in self.lab.nodes if node.name not in cut_off]
        held = [f"lock on {name}" for name in names if self.is_node_locked(name)]
        with (self.state / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append("lock of the site")
        return held

    def is_node_locked(self, name: str) -> bool:
        """Return whether a running node has a lock of a controller. Reads its files without ssh."""
        with contextlib.suppress(LabFailure):
            init = init_process(cgroup.members(self.lab.machine(node_named(name))))
            return Path(f"/proc/{init}/root/run/sovctl/apply.json").exists()
        return False

    def problems_at_rest(self) -> list[str]:
        """Plan, verify the ledger, and return the problems."""
        left = self.changes()
        found = [f"{len(left)} changes in the plan: {', '.join(left[:3])}"] if left else []
        return found + self.problems_of_ledger()

    def problems_of_ledger(self) -> list[str]:
        """Verify ledger, journals and evidence, and return the findings."""
        answers = (ExitCode.OK, ExitCode.FAILURE, ExitCode.UNPROVEN)
        document = json.loads(self.sovctl("audit", "verify", str(self.state), "--json", accept=answers))
        return [f"audit verify: {each}" for each in document["findings"][:3]]


def _default_signals() -> None:
    """Let Ctrl-C and SIGHUP end the command, also if this bench runs in the background, where a shell ignores them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def processes(mark: str) -> list[str]:
    """Return PID and command of the processes whose environment has the mark."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(f"process {folder.name} {command[:100]}")
        except OSError:
            continue  # it ended
    return found
