"""Turns every exception of a command into a message, a hint and an exit code.

The traceback of an unexpected exception is written to a crash file, whose path is in the message.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from sovctl.support.errors import ExitCode, SovctlError, SpecError
from sovctl.support.os_errors import os_error_message

from . import output


@contextmanager
def handle_errors() -> Iterator[None]:
    """Print exceptions of the block as messages, and exit with their exit code."""
    try:
        yield
    except SpecError as error:
        for each in error.problems:
            output.problem(str(each), hint=each.hint)
        output.info(error.message)
        if error.hint:
            output.hint(error.hint)
        sys.exit(error.exit_code)
    except SovctlError as error:
        output.problem(str(error), hint=error.hint)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        output.info("")
        output.problem("interrupted; no file was left incomplete, and the command can be repeated")
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of standard output has closed it. Discard the buffer, because the interpreter's flush at exit would
        # fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)
    except Exception as error:  # noqa: BLE001 - no exception may reach the user as a traceback
        if (system_error := os_error_message(error)) is not None:
            output.problem(str(system_error), hint=system_error.hint)
            sys.exit(system_error.exit_code)
        output.problem(
            f"internal error: {type(error).__name__}; {_write_crash_file()}",
            hint="report it with that file; check the file first, because it may contain host names",
        )
        sys.exit(ExitCode.INTERNAL)


def _write_crash_file() -> str:
    try:
        with tempfile.NamedTemporaryFile("w", prefix="sovctl-crash-", suffix=".txt", delete=False) as file:
            traceback.print_exc(file=file)
    except OSError as error:
        return f"the details could not be written: {(error.strerror or '').lower()}"
    return f"the details are in {file.name}"
