"""A pytest process of `run`, and the pipe for its results. It imports its modules before its options are known.

    with Worker() as worker:             # at the start of a command, which then reads site.yaml
        worker.begin(options)            # options of pytest
        worker.read(queue)               # in a thread
        worker.end()

A process without options ends if this process ends. Imports take 1.3 s of processor time, next to those of the command.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from ..model.result import Result

STOP_GRACE_S = 5
_PROGRAM = (sys.executable, "-P", "-m", "sovctl.engine.checks.runner.suite_process")


class Worker:
    """One process.

    Args:
        command: program that reads the options of pytest, one JSON line, on standard input.
    """

    def __init__(self, command: Sequence[str] = _PROGRAM) -> None:
        reading, writing = os.pipe()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `finish`
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "SOVCTL_"))}
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            pass_fds=(writing,),
            env=environment,
            start_new_session=True,  # Ctrl-C reaches this process only, which then stores the results
        )
        self._results_file = f"/dev/fd/{writing}"
        os.close(writing)
        self._pipe: IO[str] = os.fdopen(reading)
        self._has_begun = False

    def begin(self, options: Sequence[str]) -> None:
        """Run the tests. A process that has ended already has no results."""
        self._has_begun = True
        line = json.dumps([*options, "--sovctl-results", self._results_file]) + "\n"
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as stdin:
            stdin.write(line.encode())

    def read(self, queue: SimpleQueue[Result | None]) -> None:
        """Put every result into the queue, then None."""
        from ..model.result import Result

        try:
            with self._pipe:
                for line in self._pipe:
                    # The last line is incomplete if the process was killed; its target stays unmeasured.
                    with contextlib.suppress(ValueError, KeyError, TypeError):
                        queue.put(Result.from_line(line))
        finally:
            queue.put(None)

    def end(self) -> str:
        """Wait for the process; return an error message if not every test ran, else an empty string.

        pytest exits with 0 or 1 if every test ran (pytest.ExitCode).
        """
        code = self._process.wait()
        if code in (0, 1):
            return ""
        self._log.seek(0)
        text = self._log.read().decode("utf-8", "replace")
        lines = [line for line in text.splitlines() if line.strip()]
        return f"the suite ended with {code}" + (f": {lines[-1].strip()[:120]}" if lines else "")

    def __enter__(self) -> Worker:
        """Return this object."""
        return self

    def __exit__(self, *_: object) -> None:
        """End a process that got no options."""
        if not self._has_begun:
            self._process.kill()
            self._process.communicate()
            self._pipe.close()
            self.finish()

    def stop(self, number: signal.Signals) -> None:
        """Send a signal to the process if it still runs."""
        if self._process.poll() is None:
            self._process.send_signal(number)

    def finish(self) -> None:
        """Kill the processes that remain in its session, such as a command that was started during the stop."""
        self._log.close()
        for entry in Path("/proc").glob("[1-9]*"):
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(int(entry.name)) == self._process.pid:
                    os.kill(int(entry.name), signal.SIGKILL)

    def has_ended(self, until: float) -> bool:
        """Return whether the process ends before `until` (monotonic seconds)."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, until - time.monotonic()))
        return self._process.poll() is not None


def stop(workers: Sequence[Worker]) -> None:
    """Stop the workers: SIGINT, so that pytest closes its connections, then SIGKILL; then their remaining processes."""
    for number in (signal.SIGINT, signal.SIGKILL):
        for worker in workers:
            worker.stop(number)
        until = time.monotonic() + STOP_GRACE_S
        if all(worker.has_ended(until) for worker in workers):
            break
    for worker in workers:
        worker.finish()
