"""A read-only probe: named commands for `sh`, and their output.

    probe = Probe.of(tracking="chronyc -c tracking", sources="chronyc -c sources")
    probe.command                     # one text for `sh` that runs all, with marks around the output of each

The observer runs a command that several checks of a node need only once. `Probe.command` alone reproduces the output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from ...spec.types import Secret

MARK = "=== sovctl"
"""Prefix of the lines before and after the output of each command."""
TIMED_OUT = 124  # timeout(1), EXIT STATUS
DEFAULT_TIMEOUT_S = 60
SHARED_TIMEOUT_S = 180
"""A probe with a longer limit runs alone, because the others would wait for it."""


@dataclass(frozen=True)
class Probe:
    """Read-only commands, which run as root on a node, or as the operator on the controller.

    Args:
        commands: text for `sh` by name of its section.
        timeout_s: time limit; the result is UNKNOWN after it.
        secret: passed to the commands on standard input; never part of their text.
        is_exclusive: whether it measures a speed, so that no other probe may run on the node at the same time.
    """

    commands: Mapping[str, str]
    timeout_s: int = DEFAULT_TIMEOUT_S
    secret: Secret | None = None
    is_exclusive: bool = False

    @classmethod
    def of(cls, **commands: str) -> Probe:
        """Return a probe with the default time limit."""
        return cls(commands)

    @property
    def command(self) -> str:
        """Text for `sh` that runs each command in a subshell, in order, regardless of earlier exit codes."""
        return "".join(
            f"echo '{MARK} begin {name}'; echo '{MARK} begin {name}' >&2\n(\n{command}\n)\n"
            f"printf '\\n{MARK} end {name} %d\\n' $?\n"
            for name, command in self.commands.items()
        )

    @property
    def is_shared(self) -> bool:
        """Whether its commands may run at the same time as those of other probes, and serve several checks."""
        return self.secret is None and not self.is_exclusive and self.timeout_s <= SHARED_TIMEOUT_S


@dataclass(frozen=True)
class CommandOutput:
    """The output of one command of a probe; `exit_code` is None if it could not be run."""

    exit_code: int | None
    stdout: str
    stderr: str

    @property
    def is_complete(self) -> bool:
        """Whether the command ran to its end."""
        return self.exit_code not in (None, TIMED_OUT)

    @cached_property
    def text(self) -> str:
        """Standard output without the last newline; one object for all checks, whose parsers cache by text."""
        return self.stdout.removesuffix("\n")

    @cached_property
    def has_mark(self) -> bool:
        """Whether standard output contains `MARK`."""
        return MARK in self.stdout


@dataclass(frozen=True)
class ProbeOutput:
    """The output of a probe. `exit_code` is None if the probe could not be run or exceeded its time limit.

    Attributes:
        parts: outputs by name from which `joined` made the text, so that `parse_sections` does not search it; None for
            other text.
    """

    exit_code: int | None
    stdout: str
    stderr: str
    # Not an argument: `dataclasses.replace` with another text resets it.
    parts: Mapping[str, CommandOutput] | None = field(default=None, init=False, compare=False, repr=False)


def joined(outputs: Mapping[str, CommandOutput]) -> ProbeOutput:
    """Return the output of commands that ran one by one, as `Probe.command` prints it.

    A command that exceeded its time limit, or could not be run, is the exit code of the whole.
    """
    return _joined(tuple(outputs.items()))


@lru_cache(maxsize=8)  # 17 checks of a node read the report of its GPUs alone, under the same name
def _joined(outputs: tuple[tuple[str, CommandOutput], ...]) -> ProbeOutput:
    bad = [each.exit_code for _, each in outputs if not each.is_complete]
    out = "".join(
        f"{MARK} begin {name}\n{each.stdout}\n{MARK} end {name} {each.exit_code}\n"
        for name, each in outputs
        if each.is_complete
    )
    err = "".join(f"{MARK} begin {name}\n{each.stderr}\n" for name, each in outputs)
    output = ProbeOutput(bad[0] if bad else 0, out, err)
    if not any(each.has_mark for _, each in outputs):
        object.__setattr__(output, "parts", dict(outputs))
    return output
