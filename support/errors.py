"""Errors with a message, a location, a hint and an exit code.

Messages start in lower case, have no full stop, and contain no secrets or personal data.

    raise SpecError("expected 1 to 8, got 16", where="site.yaml: pools[0].tensor_parallel_size", hint="use 8")
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of all commands. Documented in docs/exit-codes.md."""

    OK = 0
    FAILURE = 1  # the command ran with a negative result: a check failed, an apply failed, a ledger is damaged
    CHANGES = 2  # `sovctl plan --detailed-exitcode`, `sovctl report diff`, `sovctl rag reconcile`: differences
    BAD_INPUT = 3  # site.yaml, an option or a file is invalid; nothing was changed
    UNREACHABLE = 4  # a node does not answer, or rejects the SSH key
    STALE = 5  # the site changed after the plan, or the plan file was altered
    BUSY = 6  # another sovctl process holds the lock
    MISSING = 7  # this machine lacks a tool, a permission or disk space
    UNPROVEN = 8  # `sovctl audit verify`: no finding, but no checkpoint kept outside the site
    INTERNAL = 70  # internal error; EX_SOFTWARE of sysexits.h
    INTERRUPTED = 130  # Ctrl-C: 128 + SIGINT


class SovctlError(Exception):
    """Base of all errors that are shown to the user.

    Args:
        message: the problem, in lower case, without full stop.
        hint: one action for the user.
        where: location of the problem, such as "site.yaml: pools[0].model".
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
    """A file or an option is invalid."""

    exit_code = ExitCode.BAD_INPUT


class NodeUnreachable(SovctlError):
    """A node does not answer, or rejects the login."""

    exit_code = ExitCode.UNREACHABLE


class PlanStale(SovctlError):
    """The site changed after the plan was made."""

    exit_code = ExitCode.STALE


class PlanTampered(PlanStale):
    """The plan file differs from the output of `sovctl plan`."""


class Busy(SovctlError):
    """Another process is changing the site."""

    exit_code = ExitCode.BUSY


class MissingTool(SovctlError):
    """This machine lacks a requirement of the command."""

    exit_code = ExitCode.MISSING


class Problem(SovctlError):
    """One problem of a `SpecError`. Not raised on its own."""


class SpecError(InputError):
    """All problems of a site.yaml, or of another file written by the user.

    Args:
        problems: all problems, in the order of the file.
        what: description of the file for the message.
        hint: one action for all problems together; each problem has its own.
    """

    def __init__(self, problems: list[Problem], *, what: str = "the site description", hint: str = "") -> None:
        count = len(problems)
        super().__init__(f"{count} problem{'s' if count != 1 else ''} in {what}", hint=hint)
        self.problems = problems
