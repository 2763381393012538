"""Script that runs a command and ends all of its processes: with the command, or with the process that started it.

    supervisor.py LIFELINE FOLDER COMMAND...

- LIFELINE is the read end of a pipe. Its end of file means that the parent ended, also if it was killed.
- The script is a child subreaper (prctl(2)), so that processes which leave the session, such as an ssh master, stay its
  descendants. It kills them until none is left, removes FOLDER, and then ends. Inherited locks are held until then.
- It uses the standard library only and imports no package, because it starts with `-I -S`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import sys

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_SURVIVED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(argv: list[str]) -> int:
    """Run the command of `argv`; return its exit code, 128 + n after signal n."""
    lifeline, folder, command = int(argv[0]), argv[1], argv[2:]
    os.set_inheritable(lifeline, False)
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        print("prctl(PR_SET_CHILD_SUBREAPER) failed", file=sys.stderr)
        return 71  # EX_OSERR
    wake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    # Handlers, because an ignored signal would stay ignored in the command. SIGINT goes to the whole group.
    for each in (signal.SIGCHLD, *_SURVIVED):
        signal.signal(each, lambda *_: None)
    child = os.posix_spawnp(command[0], command, os.environ)
    status = _wait(child, lifeline, wake)
    _end_descendants()
    shutil.rmtree(folder, ignore_errors=True)
    if status is None:
        return 128 + signal.SIGKILL
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _wait(child: int, lifeline: int, wake: int) -> int | None:
    """Return the status of the command; None if the parent ended first."""
    while True:
        ready, _, _ = select.select([lifeline, wake], [], [])
        if wake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake, 4096)
        for pid, status in _reap():
            if pid == child:
                return status
        if lifeline in ready:
            return None


def _reap() -> list[tuple[int, int]]:
    found = []
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found.append(ended)
    return found


def _end_descendants() -> None:
    """Kill descendants until none is left. A new fork of one is found in the next round."""
    while True:
        for pid in _descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)  # killed children end; their children become children of this process
        except ChildProcessError:
            return


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                # The name of the program is in brackets and may contain brackets.
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found, todo = [], [root]
    while todo:
        of_one = children.get(todo.pop(), [])
        found += of_one
        todo += of_one
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
