"""Errors a person can act on, and the exit code each one ends with.

Every error names what was wrong, where the user wrote it, and one thing to try. Messages start in lower case, state
both sides ("expected ..., got ...") and never hold a secret or personal data. This module is the lowest in the house,
so that `cli`, `engine` and `gateway` share one family.

    raise SpecError("expected 1 to 8, got 16", where="site.yaml: pools[0].tensor_parallel_size", hint="use 8")
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a script may rely on. Documented in docs/exit-codes.md."""

    OK = 0
    FAILURE = 1  # the command ran and its answer is "no": a check failed, an apply failed, a ledger is damaged
    CHANGES = 2  # `sovctl plan --detailed-exitcode`: there is something to change
    BAD_INPUT = 3  # site.yaml, an option or a file is wrong; nothing was touched
    UNREACHABLE = 4  # a node does not answer, or refuses our key
    STALE = 5  # the plan no longer describes the site, or was altered
    BUSY = 6  # another sovctl holds the lock
    MISSING = 7  # this machine lacks something that the command needs: a tool, a right, room on the disk
    INTERNAL = 70  # our mistake; EX_SOFTWARE of sysexits.h
    INTERRUPTED = 130  # Ctrl-C: 128 + SIGINT


class SovctlError(Exception):
    """Base of every error shown to a person.

    Args:
        message: what is wrong, both sides of it, lower case, no full stop.
        hint: one thing to try.
        where: the place as the user wrote it, such as "site.yaml: pools[0].model".
    """

    exit_code = ExitCode.FAILURE

    def __init__(self, message: str, *, hint: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class InputError(SovctlError):
    """A file or an option cannot be used as it stands."""

    exit_code = ExitCode.BAD_INPUT


class NodeUnreachable(SovctlError):
    """A node does not answer, or refuses us."""

    exit_code = ExitCode.UNREACHABLE


class PlanStale(SovctlError):
    """The plan no longer describes what would happen."""

    exit_code = ExitCode.STALE


class PlanTampered(PlanStale):
    """The plan file is not what `sovctl plan` wrote."""


class Busy(SovctlError):
    """Somebody else is changing this site."""

    exit_code = ExitCode.BUSY


class MissingTool(SovctlError):
    """This machine lacks something that the command needs."""

    exit_code = ExitCode.MISSING


class Problem(SovctlError):
    """One line of a `SpecError`: a place, what is wrong there, a remedy. Never raised alone."""


class SpecError(InputError):
    """Everything wrong with a site.yaml, or another file that people write, at once.

    Args:
        problems: in the order of the file.
        what: the file, in words.
    """

    def __init__(self, problems: list[Problem], *, what: str = "the site description") -> None:
        count = len(problems)
        super().__init__(f"{count} problem{'s' if count != 1 else ''} in {what}")
        self.problems = problems
