"""The one door every error leaves through: message, hint, exit code, never a traceback.

What is our own mistake is written to a crash file for the report, and says where that is.
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
    """Turn whatever escapes a command into words and an exit code."""
    try:
        yield
    except SpecError as error:
        for each in error.problems:
            output.problem(str(each), hint=each.hint)
        output.info(error.message)
        sys.exit(error.exit_code)
    except SovctlError as error:
        output.problem(str(error), hint=error.hint)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        output.info("")
        output.problem("interrupted; nothing is half written, the same command can be run again")
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our results has seen enough. What is still in the buffer goes nowhere, so that the interpreter's
        # own flush at the end does not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)
    except Exception as error:  # noqa: BLE001 - the door: nothing may pass as a traceback
        if (refused := os_error_message(error)) is not None:
            output.problem(str(refused), hint=refused.hint)
            sys.exit(refused.exit_code)
        output.problem(
            f"our mistake: {type(error).__name__}; {_kept_details()}",
            hint="please report it with that file; read it first, it may name your hosts",
        )
        sys.exit(ExitCode.INTERNAL)


def _kept_details() -> str:
    try:
        with tempfile.NamedTemporaryFile("w", prefix="sovctl-crash-", suffix=".txt", delete=False) as file:
            traceback.print_exc(file=file)
    except OSError as error:
        return f"the details could not be kept: {(error.strerror or '').lower()}"
    return f"the details are in {file.name}"
