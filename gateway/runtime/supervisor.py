"""Several workers on one port: one process forks them, writes the ledger for all, and restarts them.

    supervisor ── forks ── worker 0, worker 1, ...     each with its own socket on the same port (SO_REUSEPORT)
        └── the only writer of the ledger              see `compliance.ledger.line`

The supervisor has one thread and no event loop, so it can fork at any time. Shared objects (detector, keys) are
loaded before, and their memory is shared. If a worker is restarted immediately, its socket stays open, so pending
connections are kept. If the restart is delayed, the socket is closed, so that connections go to other workers. After a
stop signal and the announcement of the workers, new connections are refused; the supervisor ends when all workers have
completed their answers. A worker
ends if its supervisor is gone.
"""

from __future__ import annotations

import contextlib
import gc
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

from sovctl.compliance.ledger.line import LineWriter, line
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.upkeep import Upkeep
from sovctl.support.errors import ExitCode, InputError, SovctlError

from ..http.listen import bind, check_port
from ..settings import GatewaySettings
from ..telemetry import log

_SIGN_AFTER_S = 1.0  # without requests, as in `ledger.group`
_RESTART_AFTER_S = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)  # increasing delays for a worker that keeps ending
_STABLE_AFTER_S = 60.0  # after this time a worker's earlier failures are forgotten
_KILL_AFTER_S = 5.0  # in addition to `limits.drain_s`, which a worker observes itself

_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_FINAL_EXIT_CODES = frozenset({ExitCode.BAD_INPUT, ExitCode.BUSY, ExitCode.MISSING})
"""Exit codes of a first start that would recur, so the worker is not restarted."""

Worker = Callable[[socket.socket, socket.socket], None]
"""Main function of a worker, with listening socket and ledger connection. Returns after a stop signal."""


@dataclass
class _Place:
    """State of one worker that outlives its process."""

    listening: socket.socket | None
    """None during a delayed restart: its pending connections would wait, although another worker can accept them."""
    worker_end: socket.socket
    writer_end: socket.socket
    pid: int = 0
    started: float = 0.0
    deaths: int = 0
    restart_at: float | None = None

    def close_listening(self) -> None:
        """Close the socket, because no process accepts from it."""
        if self.listening is not None:
            self.listening.close()
            self.listening = None


class Supervisor:
    """Runs the workers of one gateway.

    Args:
        ledger: open; this process writes it.
        run_worker: called in each worker.
        upkeep: of the ledger.
    """

    def __init__(self, settings: GatewaySettings, ledger: Ledger, run_worker: Worker, upkeep: Upkeep) -> None:
        self._settings = settings
        self._ledger = ledger
        self._upkeep = upkeep
        self._writer = LineWriter(ledger)
        self._run_worker = run_worker
        self._is_stopping = False
        self._kill_at = 0.0
        self._failed_code: int | None = None
        self._selector = selectors.DefaultSelector()
        check_port(settings.listen)
        self._places = [self._place() for _ in range(settings.workers)]

    def run(self) -> None:
        """Serve until a signal, and until the workers have ended.

        Raises:
            InputError: a worker failed to start.
        """
        gc.freeze()  # the collector would write to shared pages of all existing objects
        gc.enable()
        with self._signals():
            for place in self._places:
                self._start(place)
            while any(place.pid for place in self._places) or not self._is_stopping:
                self._turn()
        if self._failed_code is not None:
            raise InputError(
                f"a worker did not start: exit code {self._failed_code}",
                hint="see the log for the cause, or run `sovctl gateway check`",
            )

    def _place(self) -> _Place:
        listening = bind(self._settings.listen)
        worker_end, writer_end = line()
        self._selector.register(writer_end, selectors.EVENT_READ)
        return _Place(listening, worker_end, writer_end)

    def _turn(self) -> None:
        ready = self._selector.select(_SIGN_AFTER_S)
        lines = [key.fileobj for key, _ in ready if key.data is None]
        for key, _ in ready:
            if key.data is not None:
                with contextlib.suppress(BlockingIOError):
                    key.fileobj.recv(4096)  # type: ignore[union-attr]  # woken by a signal
        if lines:
            self._writer.answer([each for each in lines if isinstance(each, socket.socket)])
        elif not ready:
            with contextlib.suppress(SovctlError):  # the entries are durable; the checkpoint is retried
                self._ledger.checkpoint()
        if self._upkeep.is_due():
            with contextlib.suppress(SovctlError):  # workers report an unwritable ledger; the work is repeated
                self._upkeep.run(time.time(), queue_depth=self._writer.queue_depth if lines else 0)
        self._reap()
        now = time.monotonic()
        for place in self._places:
            if place.restart_at is not None and now >= place.restart_at and not self._is_stopping:
                self._start(place)
            if place.pid and self._is_stopping and now >= self._kill_at:
                os.kill(place.pid, signal.SIGKILL)

    def _start(self, place: _Place) -> None:
        if place.listening is None:
            place.listening = bind(self._settings.listen)
        if place.started:
            self._renew_line(place)
        place.restart_at, place.started = None, time.monotonic()
        place.pid = os.fork()
        if place.pid == 0:
            self._be_worker(place)

    def _renew_line(self, place: _Place) -> None:
        """Answer the last records of the previous worker, and give the new one its own connection."""
        self._writer.answer([place.writer_end])
        self._selector.unregister(place.writer_end)
        place.writer_end.close()
        place.worker_end.close()
        place.worker_end, place.writer_end = line()
        self._selector.register(place.writer_end, selectors.EVENT_READ)

    def _be_worker(self, place: _Place) -> None:
        """Run in the child. Does not return."""
        code = int(ExitCode.INTERNAL)
        try:
            signal.set_wakeup_fd(-1)
            for each in _HANDLED:
                signal.signal(each, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it can reload, so that an early signal does not end it
            self._selector.close()
            self._ledger.abandon()
            for other in self._places:
                other.writer_end.close()
                if other is not place:
                    other.worker_end.close()
                    if other.listening is not None:
                        other.listening.close()
            assert place.listening is not None
            self._run_worker(place.listening, place.worker_end)
            code = int(ExitCode.OK)
        except SovctlError as error:
            log.event("worker did not start", level=40, reason=str(error))
            code = int(error.exit_code)
        except BaseException as error:  # noqa: BLE001 - the child must not return into the parent's code
            log.event("internal error", level=40, error=error)
        finally:
            os._exit(code)

    def _reap(self) -> None:
        for place in self._places:
            if not place.pid:
                continue
            pid, status = os.waitpid(place.pid, os.WNOHANG)
            if not pid:
                continue
            place.pid = 0
            if self._is_stopping:
                continue
            lived_s, code = time.monotonic() - place.started, os.waitstatus_to_exitcode(status)
            if code in _FINAL_EXIT_CODES and not place.deaths and lived_s < _STABLE_AFTER_S:
                self._failed_code = code
                self._stop()
                continue
            place.deaths = 1 if lived_s >= _STABLE_AFTER_S else place.deaths + 1
            delay_s = _RESTART_AFTER_S[min(place.deaths, len(_RESTART_AFTER_S)) - 1]
            place.restart_at = time.monotonic() + delay_s
            if delay_s:
                place.close_listening()
            log.event("worker ended", level=40, status=code, restart_in_s=delay_s)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        woken, waker = socket.socketpair()
        woken.setblocking(False)
        waker.setblocking(False)
        self._selector.register(woken, selectors.EVENT_READ, "signal")
        before = {each: signal.signal(each, self._on_signal) for each in _HANDLED}
        fd = signal.set_wakeup_fd(waker.fileno())
        try:
            yield
        finally:
            signal.set_wakeup_fd(fd)
            for each, handler in before.items():
                signal.signal(each, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self._stop()
        elif number != signal.SIGCHLD:
            self._pass_on(number)

    def _stop(self) -> None:
        self._is_stopping = True
        limits = self._settings.limits
        self._kill_at = time.monotonic() + limits.announce_s + limits.drain_s + _KILL_AFTER_S
        self._pass_on(signal.SIGTERM)
        for place in self._places:  # the supervisor's sockets would accept connections until the last answer
            place.close_listening()

    def _pass_on(self, number: int) -> None:
        for place in self._places:
            if place.pid:
                os.kill(place.pid, number)
