"""Runs a command in a scope: none of its processes outlives the command, or this process.

    with running(["ansible-playbook", ...], folder=sockets, text=True, stdout=PIPE) as process:
        for line in process.stdout: ...

The scope ends if this process ends in any way, also by SIGKILL, because the kernel closes the pipe to `supervisor.py`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from ..package_files import package_folder

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
INTERRUPT_S = 20.0
"""Seconds that a command has to end after SIGINT, before it is killed."""


@contextlib.contextmanager
def running(
    command: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str] | None = None,
    pass_fds: Collection[int] = (),
) -> Iterator[subprocess.Popen[str]]:
    """Run a command; its output and errors are `stdout` of the yielded process.

    An exception in the block, such as KeyboardInterrupt, sends SIGINT to the command and ends its scope.

    Args:
        folder: temporary folder of the command, which the scope removes at its end.
        pass_fds: descriptors that stay open until the scope has ended, such as that of a lock.
    """
    lifeline, held = os.pipe()
    script = package_folder("support/processes") / "supervisor.py"
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(script), str(lifeline), str(folder), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=dict(env) if env is not None else None,
            start_new_session=True,
            pass_fds=(lifeline, *pass_fds),
        )
    except BaseException:
        os.close(held)
        raise
    finally:
        os.close(lifeline)
    try:
        yield process
        process.wait()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):  # it ended in the meantime
            os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=INTERRUPT_S)
        raise
    finally:
        os.close(held)
        if process.wait() == -signal.SIGKILL:  # the supervisor was killed, and left its group
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        if process.stdout is not None:
            process.stdout.close()


def end_with_parent() -> None:
    """Let the kernel kill this process when its parent ends. For a process that starts no other one."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the call
        os.kill(os.getpid(), signal.SIGKILL)
