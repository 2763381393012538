"""Script that runs commands when the process that started it ends, also if that process is killed.

    python -I -S at_end.py < PIPE
    first line of the pipe: {"commands": [[...], ...], "input": "...", "timeout_s": 30, "killed_timeout_s": 8}
    second line: any text, if the parent ends by itself

- The end of file of the pipe means that the parent ended. The script then runs all commands concurrently, kills those
  that exceed the time limit, and ends. The limit is `killed_timeout_s` without the second line.
- It uses the standard library only and imports no package, because it starts with `-I -S`.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from typing import Any


def main() -> None:
    """Wait for the end of the parent, and run the commands of the first line."""
    job: dict[str, Any] = json.loads(sys.stdin.readline() or "{}")
    is_killed = not sys.stdin.read()
    until = time.monotonic() + job.get("killed_timeout_s" if is_killed else "timeout_s", 0)
    threads = [threading.Thread(target=_run, args=(each, job["input"], until)) for each in job.get("commands", [])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _run(command: list[str], text: str, until: float) -> None:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        limit_s = max(0.1, until - time.monotonic())
        subprocess.run(command, input=text, text=True, capture_output=True, timeout=limit_s, check=False)


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # it ends with its parent only
    main()
