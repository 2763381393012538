"""One command of an active test on a node: a process of ssh, whose standard input ends the test.

    process = NodeProcess(machines.words("n1", command))
    process.wait(until)
    output = process.end()

Each command has its own connection. If this process ends for any reason, the connection's standard input ends, and
`probes/scripts/active_test.py` ends all processes of the test on the node.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ...model.active_check import NodeCommand
from ...model.probe import CommandOutput, Probe, ProbeOutput
from ...probes.commands import python_command
from .. import transport

GRACE_S = 30
"""Seconds between SIGTERM and SIGKILL of a test: dcgmi waits 25 s for its host engine (NVIDIA/DCGM 4.6.0,
dcgmi/Diag.cpp, stopDiagTimeout)."""
STOP_S = GRACE_S + 15
"""Seconds for a connection to end after the end of its standard input."""
LOCK = "/run/sovctl-active-test.lock"
"""File on the node that tests of one run hold together, and no two runs."""
_SHORT_S = 60


@dataclass(frozen=True)
class Machines:
    """How commands reach nodes.

    Args:
        config: file written by `transport.ssh_config`.
        token: of this run; tests of another run do not start on the same node.
    """

    config: Path
    token: str

    def words(self, node: str, command: str, limit_s: int) -> list[str]:
        """Return the command line that runs a command for `sh` as root on a node, over a connection of its own."""
        alone = ("-o", "ControlPath=none", "-o", "ControlMaster=no")
        return ["ssh", "-F", str(self.config), *alone, node, transport.as_root(command, limit_s)]

    def test(self, command: NodeCommand) -> list[str]:
        """Return the command line of a command of a test."""
        limits = (str(command.timeout_s), str(GRACE_S))
        text = python_command("active_test", LOCK, self.token, *limits, command.command)
        return self.words(command.node, text, command.timeout_s + 2 * STOP_S)

    def run(self, node: str, probe: Probe) -> ProbeOutput:
        """Run a short read-only probe on a node."""
        words = self.words(node, probe.command, _SHORT_S)
        code, out, err = transport.run_bounded(words, timeout_s=_SHORT_S + transport.GRACE_S, stdin=b"")
        if code == transport.SSH_LOST:
            code = None
        return ProbeOutput(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    def is_ready(self, command: NodeCommand) -> bool:
        """Return whether the later commands of the round may start."""
        return self.run(command.node, Probe.of(ready=command.ready)).stdout.rstrip().endswith("end ready 0")


class NodeProcess:
    """A running command of a test."""

    def __init__(self, words: Sequence[str]) -> None:
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=self._out, stderr=self._err, start_new_session=True
        )
        self.was_ended = False

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while it runs."""
        return self._process.poll()

    def close_input(self) -> None:
        """End the test on the node; does not wait for it."""
        if self._process.poll() is None:
            self.was_ended = True
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def end(self, *, within_s: float = STOP_S) -> CommandOutput:
        """End the test if it runs, and return its output.

        The exit code is None if the connection failed, or did not end within the time.
        """
        self.close_input()
        try:
            code: int | None = self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            code = None
        if code is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        out, err = _content(self._out), _content(self._err)
        if out is None or err is None:
            return CommandOutput(None, "", f"output of more than {transport.LIMIT_BYTES} bytes")
        if code is None:
            err += f"\nthe node did not end the test within {within_s:g} s"
        return CommandOutput(None if code == transport.SSH_LOST else code, out, err)


def _content(file: IO[bytes]) -> str | None:
    """Return the text of an output, and close it; None if it is too large."""
    with file:
        file.seek(0)
        data = file.read(transport.LIMIT_BYTES + 1)
    return None if len(data) > transport.LIMIT_BYTES else data.decode("utf-8", "replace")
