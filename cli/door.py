"""The one door every error leaves through: message, hint, exit code, never a traceback.

What is our own mistake is written to a crash file for the report, and says where that is.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from sovctl.cli import show
from sovctl.compliance.errors import ExitCode, SovctlError, SpecError

# What the machine refuses is no mistake in the code: the place and the system's words are enough.
_MISNAMED = (errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EBUSY, errno.ENAMETOOLONG, errno.ELOOP)
_ROOM = "make room or give access, then run the same command again"
_NAME = "name another place for it"
REFUSALS = {
    errno.ENOSPC: ExitCode.MISSING,
    errno.EDQUOT: ExitCode.MISSING,
    errno.EROFS: ExitCode.MISSING,
    errno.EMFILE: ExitCode.MISSING,
    errno.ENOMEM: ExitCode.MISSING,
    errno.EACCES: ExitCode.BAD_INPUT,
    errno.EPERM: ExitCode.BAD_INPUT,
    **dict.fromkeys(_MISNAMED, ExitCode.BAD_INPUT),
}


@contextmanager
def door() -> Iterator[None]:
    """Turn whatever escapes a command into words and an exit code."""
    try:
        yield
    except SpecError as error:
        for each in error.problems:
            show.problem(str(each), hint=each.hint)
        show.note(error.message)
        sys.exit(error.exit_code)
    except SovctlError as error:
        show.problem(str(error), hint=error.hint)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        show.note("")
        show.problem("interrupted; nothing is half written, the same command can be run again")
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our results has seen enough. What is still in the buffer goes nowhere, so that the interpreter's
        # own flush at the end does not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)
    except Exception as error:  # noqa: BLE001 - the door: nothing may pass as a traceback
        if isinstance(error, OSError) and error.errno in REFUSALS:
            named = error.filename2 or error.filename  # of a rename, the place that was meant and not the draft
            place = f"{named}: " if named else ""
            hint = _NAME if error.errno in _MISNAMED else _ROOM
            show.problem(f"{place}this machine refuses: {os.strerror(error.errno).lower()}", hint=hint)
            sys.exit(REFUSALS[error.errno])
        with tempfile.NamedTemporaryFile("w", prefix="sovctl-crash-", suffix=".txt", delete=False) as file:
            traceback.print_exc(file=file)
        show.problem(
            f"our mistake: {type(error).__name__}; the details are in {file.name}",
            hint="please report it with that file; read it first, it may name your hosts",
        )
        sys.exit(ExitCode.INTERNAL)
