"""Runs the commands of several probes of a node at the same time (`probes/scripts/together.py`).

    together = Together(probes)
    together.take(run(together.command, stdin=together.request), utc_now())
    together.of(probes[0])                # the output of each of its commands by name

A command without a complete line in the output was not measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from ...facts.unreadable import excerpt
from ..model.probe import TIMED_OUT, CommandOutput, Probe, ProbeOutput
from ..model.result import utc_now
from ..probes.commands import python_command

AT_ONCE = 6
"""Commands at the same time (guess, 2026-11: most of them wait for the driver or for systemd)."""
LIMIT_S = 600
"""Time limit of all commands together; each has its own in addition."""


class Together:
    """The commands of probes, each once, and their outputs."""

    def __init__(self, probes: Iterable[Probe]) -> None:
        limits: dict[str, int] = {}
        for probe in probes:
            for command in probe.commands.values():
                limits[command] = max(probe.timeout_s, limits.get(command, 0))
        # The longest first, so that it does not begin last.
        self._commands = sorted(limits, key=lambda command: -limits[command])
        self._limits = limits
        self._outputs: dict[str, CommandOutput] = {}
        self._missing = CommandOutput(None, "", "no output")
        self.started = self.ended = utc_now()

    @property
    def command(self) -> str:
        """Text for `sh`; the request is its standard input."""
        return python_command("together", str(AT_ONCE))

    @property
    def request(self) -> bytes:
        """Standard input of the command."""
        rows = [
            {"number": number, "command": command, "timeout_s": self._limits[command]}
            for number, command in enumerate(self._commands)
        ]
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    def take(self, output: ProbeOutput, ended: str) -> None:
        """Keep the outputs of all commands that ended.

        Args:
            ended: UTC, as `utc_now`.
        """
        self.ended = ended
        code = TIMED_OUT if output.exit_code == TIMED_OUT else None
        self._missing = CommandOutput(code, "", output.stderr or "no output")
        for line in output.stdout.splitlines():
            try:
                row = json.loads(line)
                command = self._commands[int(row["number"])]
                found = CommandOutput(int(row["exit_code"]), str(row["stdout"]), str(row["stderr"]))
            except (ValueError, KeyError, IndexError, TypeError):
                self._missing = CommandOutput(None, "", f"unexpected output: {excerpt(line)}")
                continue
            self._outputs[command] = found

    def of(self, probe: Probe) -> dict[str, CommandOutput]:
        """Return the output of each command of a probe by name."""
        return {name: self._outputs.get(command, self._missing) for name, command in probe.commands.items()}
