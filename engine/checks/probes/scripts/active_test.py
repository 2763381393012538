"""Runs one command of an active test, and ends all processes that it started.

Arguments: lock file, token of the run, time limit in seconds, seconds between SIGTERM and SIGKILL, command for `sh`.
Standard input stays open during the test. Its end, also by a lost connection or a killed controller, ends the test.
Exit code: that of the command; 124 after the time limit, as of timeout(1); 143 if standard input ended first; 75 if a
test of another run uses the node (EX_TEMPFAIL of sysexits.h).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

LOCK, TOKEN, LIMIT_S, GRACE_S, COMMAND = (
    Path(sys.argv[1]),
    sys.argv[2],
    float(sys.argv[3]),
    float(sys.argv[4]),
    sys.argv[5],
)
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
TIMED_OUT, ENDED, BUSY = 124, 143, 75


def lock() -> IO[str] | None:
    """Return the open lock file; None if a test of another run holds it. Tests of one run share it."""
    file = LOCK.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pass
    else:
        file.truncate(0)
        file.write(TOKEN)
        file.flush()
    until = time.monotonic() + 1
    while time.monotonic() < until:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.05)  # another test of the run writes the token
            continue
        file.seek(0)
        return file if file.read() == TOKEN else None
    return None


def descendants() -> list[int]:
    """Return the processes below this one, also those that left its process group."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[1-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found, left = [], [os.getpid()]
    while left:
        children = parents.get(left.pop(), [])
        found += children
        left += children
    return found


def send(number: signal.Signals) -> bool:
    """Send a signal to all descendants; return whether there are any."""
    found = descendants()
    for pid in found:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
    return bool(found)


def end() -> None:
    """End all descendants."""
    send(signal.SIGTERM)
    until = time.monotonic() + GRACE_S
    while descendants() and time.monotonic() < until:
        time.sleep(0.05)
    while send(signal.SIGKILL):
        time.sleep(0.05)


def wait(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of the test."""
    until = time.monotonic() + LIMIT_S
    watched = [sys.stdin.fileno()]
    while process.poll() is None:
        if time.monotonic() > until:
            return TIMED_OUT
        if select.select(watched, [], [], 0.1)[0] and not os.read(watched[0], 4096):
            return ENDED
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def main() -> int:
    """Run the command. Return the exit code."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans of the test become children of this process
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(ENDED))
    held = lock()
    if held is None:
        sys.stderr.write("an active test of another run uses this node\n")
        return BUSY
    words = ["timeout", "-k", str(GRACE_S), str(LIMIT_S), "sh", "-c", COMMAND]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return wait(process)
    finally:
        end()


sys.exit(main())
