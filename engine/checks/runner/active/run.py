"""Runs the active targets of a run, each node one test at a time, and stops all of them on Ctrl-C.

run_active(targets, measurement, power, take=print)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from ...model.result import Result
from ...model.target import CheckTarget
from .jobs import Job, PowerBudget, jobs_of, startable
from .measurement import Measurement, refused
from .node_process import STOP_S

TICK_S = 1.0
"""Seconds between two reports of progress."""


@dataclass(frozen=True)
class Running:
    """A test that runs now.

    Args:
        since_s: monotonic seconds.
    """

    job: Job
    since_s: float

    def text(self, now_s: float) -> str:
        """Return the test, its elapsed time and its limit, for people."""
        return f"{self.job.name}, {_minutes(now_s - self.since_s)} of at most {_minutes(self.job.duration_s)}"


def run_active(
    targets: Iterable[CheckTarget],
    measurement: Measurement,
    power: PowerBudget,
    *,
    take: Callable[[Result], None],
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Measure active targets; `take` gets each result.

    Args:
        progress: called once per second with the running tests as text.

    Raises:
        KeyboardInterrupt: after all tests on the nodes were ended. Targets without result were not measured.
    """
    waiting = jobs_of(targets)
    for job in [job for job in waiting if power.refusal(job)]:
        waiting.remove(job)
        for result in refused(job, power.refusal(job)):
            take(result)
    running: list[Running] = []
    threads: list[threading.Thread] = []
    done: SimpleQueue[tuple[Job, list[Result] | BaseException]] = SimpleQueue()
    try:
        while waiting or running:
            for job in startable(waiting, [each.job for each in running], power):
                waiting.remove(job)
                running.append(Running(job, time.monotonic()))
                threads.append(threading.Thread(target=_measure, args=(measurement, job, done), daemon=True))
                threads[-1].start()
            progress(_summary(running))
            try:
                finished, results = done.get(timeout=TICK_S)
            except Empty:
                continue
            running = [each for each in running if each.job is not finished]
            if isinstance(results, BaseException):
                raise results
            for result in results:
                take(result)
    finally:
        measurement.stop()
        until = time.monotonic() + 2 * STOP_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))


def _measure(measurement: Measurement, job: Job, done: SimpleQueue[tuple[Job, list[Result] | BaseException]]) -> None:
    try:
        done.put((job, measurement.measure(job)))
    except BaseException as error:  # noqa: BLE001 - raised again by the thread that reads `done`
        done.put((job, error))


def _summary(running: Sequence[Running]) -> str:
    now_s = time.monotonic()
    first = running[0].text(now_s) if running else ""
    return first + (f"; {len(running) - 1} more tests run" if len(running) > 1 else "")


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
