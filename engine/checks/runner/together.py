"""Runs the commands of several probes of a node over one connection (`probes/scripts/together.py`).

    together = Together([Request(probe) for probe in probes])
    together.take(run(together.command, stdin=together.request), utc_now())
    together.of(Request(probes[0]))       # the output of each of its commands by name

- Equal commands with equal standard input run once.
- A secret is part of the request, which is standard input, and of no command line.
- A command without a complete line in the output was not measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from ...facts.unreadable import excerpt
from ..model.probe import TIMED_OUT, CommandOutput, Probe, ProbeOutput
from ..model.result import utc_now
from ..probes.commands import python_command

AT_ONCE = 6
"""Commands at the same time (guess, 2026-11: most of them wait for the driver or for systemd)."""
LIMIT_S = 600
"""Time limit of all commands that run at the same time; each has its own in addition."""


@dataclass(frozen=True)
class Request:
    """A probe and its standard input.

    Args:
        stdin: the secret of the probe and a newline; empty without a secret.
    """

    probe: Probe
    stdin: str = ""


class Together:
    """The commands of probes, each once, and their outputs.

    Args:
        at_once: number of commands at the same time; 1: one by one, in the order of the requests.
    """

    def __init__(self, requests: Iterable[Request], *, at_once: int = AT_ONCE) -> None:
        limits: dict[tuple[str, str], int] = {}
        for request in requests:
            for command in request.probe.commands.values():
                key = command, request.stdin
                limits[key] = max(request.probe.timeout_s, limits.get(key, 0))
        # The longest first, so that it does not begin last.
        self._keys = sorted(limits, key=lambda key: -limits[key]) if at_once > 1 else list(limits)
        self._limits = limits
        self._at_once = at_once
        self._outputs: dict[tuple[str, str], CommandOutput] = {}
        self._missing = CommandOutput(None, "", "no output")
        self.started = self.ended = utc_now()

    @property
    def limit_s(self) -> int:
        """Time limit of all commands."""
        return LIMIT_S if self._at_once > 1 else sum(self._limits.values())

    @property
    def command(self) -> str:
        """Text for `sh`; the request is its standard input."""
        return python_command("together", str(self._at_once))

    @property
    def request(self) -> bytes:
        """Standard input of the command."""
        rows = [
            {"number": number, "command": key[0], "timeout_s": self._limits[key], "stdin": key[1]}
            for number, key in enumerate(self._keys)
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
                key = self._keys[int(row["number"])]
                found = CommandOutput(int(row["exit_code"]), str(row["stdout"]), str(row["stderr"]))
            except (ValueError, KeyError, IndexError, TypeError):
                self._missing = CommandOutput(None, "", f"unexpected output: {excerpt(line)}")
                continue
            self._outputs[key] = found

    def of(self, request: Request) -> dict[str, CommandOutput]:
        """Return the output of each command of a probe by name."""
        return {
            name: self._outputs.get((command, request.stdin), self._missing)
            for name, command in request.probe.commands.items()
        }
