"""Runs the probes of one node, or of this controller, in threads of their own.

    probes = NodeProbes(host, requests, connections)
    probes.run()                     # in a thread; never raises because of a node
    probes.wait(requests[0])         # its output, as soon as it is known

- `GREETING` is the first command. If it fails, no other command runs, and `lost` is the reason.
- Shared probes run at the same time over one connection. Probes with a secret or a long time limit run one by one, next
  to them. Exclusive probes run alone, after both.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from testinfra.host import Host

from ...facts.unreadable import excerpt
from ..model.probe import ProbeOutput, joined
from ..model.result import utc_now
from ..probes.commands import GREETING
from . import transport
from .together import AT_ONCE, Request, Together


@dataclass(frozen=True)
class Measured:
    """The output of one probe; times are UTC, as `utc_now`."""

    output: ProbeOutput
    started: str
    ended: str


class MachineProbes(ABC):
    """The probes of one machine. One thread calls `run`; others may call `wait`.

    Attributes:
        lost: reason why no further output of the machine counts; empty if it is connected.
        simulated: whether its hardware is simulated; None if that is unknown.
    """

    def __init__(self, host: Host, running: transport.Running) -> None:
        self.lost = ""
        self.simulated: bool | None = None
        self._host = host
        self._running = running

    @abstractmethod
    def run(self) -> None:
        """Run all probes."""

    @abstractmethod
    def wait(self, request: Request) -> Measured:
        """Return the output of a probe, after it ended."""

    def _run(self, command: str, *, timeout_s: int, stdin: bytes) -> ProbeOutput:
        try:
            result = self._host.run(command, timeout_s=timeout_s, stdin=stdin, running=self._running)
        except OSError as error:
            return ProbeOutput(None, "", f"{type(error).__name__}: {error.strerror}")
        out, err = (text.decode("utf-8", "replace") for text in (result.stdout_bytes, result.stderr_bytes))
        if result.rc == transport.SSH_LOST:
            # ssh prints its error after any banner of the server.
            lines = [line for line in err.splitlines() if line.strip()]
            self.lost = f"ssh to the node failed: {excerpt(lines[-1]) if lines else 'no message'}"
        code = None if result.rc in (transport.SSH_LOST, transport.ENDED_BY_US) else result.rc
        return ProbeOutput(code, out, err)


class NodeProbes(MachineProbes):
    """The probes of one node."""

    def __init__(self, host: Host, running: transport.Running, requests: Sequence[Request]) -> None:
        super().__init__(host, running)
        self._shared = _Batch([each for each in requests if each.probe.is_shared], AT_ONCE)
        others = [each for each in requests if not each.probe.is_shared and not each.probe.is_exclusive]
        self._one_by_one = _Batch(sorted(others, key=lambda each: each.probe.timeout_s), 1)
        self._exclusive = [_Batch([each], 1) for each in requests if each.probe.is_exclusive]

    def run(self) -> None:
        """Run all probes."""
        batches = [self._shared, self._one_by_one, *self._exclusive]
        try:
            self._greet()
            if not self.lost:
                second = threading.Thread(target=self._run_batch, args=(self._one_by_one,), daemon=True)
                second.start()
                self._run_batch(self._shared)
                second.join()
                for batch in self._exclusive:
                    self._run_batch(batch)
        except Exception as error:  # noqa: BLE001 - the thread has other nodes to measure
            self.lost = self.lost or f"internal error: {type(error).__name__}"
        finally:
            for batch in batches:
                batch.ended.set()

    def wait(self, request: Request) -> Measured:
        """Return the output of a probe, after its batch ended."""
        batch = next(each for each in (self._shared, self._one_by_one, *self._exclusive) if request in each.requests)
        batch.ended.wait()
        together = batch.together
        return Measured(joined(together.of(request)), together.started, together.ended)

    def _greet(self) -> None:
        greeting = self._run(GREETING, timeout_s=30, stdin=b"")
        words = greeting.stdout.split()
        if words in (["simulated"], ["real"]):
            self.simulated = words == ["simulated"]
        elif not self.lost:
            self.lost = f"unexpected output of the first command: {excerpt(greeting.stdout + greeting.stderr)}"

    def _run_batch(self, batch: _Batch) -> None:
        try:
            if batch.requests and not self.lost:
                batch.together = together = Together(batch.requests, at_once=batch.at_once)
                command = transport.as_root(together.command, together.limit_s)
                limit_s = together.limit_s + transport.GRACE_S
                together.take(self._run(command, timeout_s=limit_s, stdin=together.request), utc_now())
        finally:
            batch.ended.set()


class ControllerProbes(MachineProbes):
    """The probes of this controller, one by one, as the user who runs sovctl."""

    def __init__(self, host: Host, running: transport.Running, requests: Sequence[Request]) -> None:
        super().__init__(host, running)
        self._requests = requests
        self._outputs: dict[int, Measured] = {}
        self._changed = threading.Condition()
        self._has_ended = False

    def run(self) -> None:
        """Run all probes."""
        try:
            for number, request in enumerate(self._requests):
                started, probe = utc_now(), request.probe
                limit_s = probe.timeout_s + transport.GRACE_S
                output = self._run(probe.command, timeout_s=limit_s, stdin=request.stdin.encode())
                with self._changed:
                    self._outputs[number] = Measured(output, started, utc_now())
                    self._changed.notify_all()
        finally:
            with self._changed:
                self._has_ended = True
                self._changed.notify_all()

    def wait(self, request: Request) -> Measured:
        """Return the output of a probe, after it ended."""
        number = self._requests.index(request)
        with self._changed:
            self._changed.wait_for(lambda: number in self._outputs or self._has_ended)
        now = utc_now()
        return self._outputs.get(number, Measured(ProbeOutput(None, "", "not run"), now, now))


class _Batch:
    """Probes that run over one connection.

    Attributes:
        ended: set after the last one ended, or was not run.
    """

    def __init__(self, requests: Sequence[Request], at_once: int) -> None:
        self.requests = requests
        self.at_once = at_once
        self.together = Together(())
        self.ended = threading.Event()
