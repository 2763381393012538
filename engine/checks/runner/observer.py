"""Measures targets: runs the probes of all nodes side by side, and judges each output.

- No behaviour of a node raises an exception. All targets of an unreachable node are UNKNOWN, after one attempt.
- The first `measure` starts the probes of all targets (`node_probes.py`), of at most `NODES_AT_ONCE` nodes at the same
  time, in the order of the targets.
- An active test runs alone (`active/`), as in `sovctl verify`: after all probes ended.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sovctl.support.errors import SovctlError

from ...facts.hardware.nvidia_smi import SIMULATION_COMMENT
from ...spec.types import Secret
from ..model.check import judge
from ..model.check_context import CONTROLLER
from ..model.result import Result, not_measured, result_of, utc_now
from ..model.target import CheckTarget
from . import transport
from .active.jobs import jobs_of
from .active.measurement import Measurement
from .node_probes import ControllerProbes, MachineProbes, NodeProbes
from .together import Request

NODES_AT_ONCE = 16
"""Nodes of one process whose probes run at the same time (guess, 2026-11: each has at most three processes of ssh)."""
STOP_S = 3
"""Seconds for threads to end after their commands were killed. The process does not wait longer."""


def collect_rarely() -> None:
    """Reduce the garbage collections of a process that judges outputs.

    Modules, site.yaml and catalogue are never scanned again, and new objects after 200,000 allocations instead of 700,
    because parsers create many objects and no cycles. 20 % less processor time (recorded nodes, 2026-11-28).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000)


@dataclass
class Observer:
    """The connections and the probe outputs of one run.

    Args:
        targets: all targets that will be measured; fixed after the first `measure`.
        config: file written by `transport.ssh_config`.
        read_secret: returns the value of a secret reference of site.yaml, for a probe's standard input.
        active: runs active tests.
    """

    targets: Sequence[CheckTarget]
    config: Path
    read_secret: Callable[[Secret], str]
    active: Measurement
    _machines: dict[str, MachineProbes] = field(default_factory=dict)
    _requests: dict[str, Request] = field(default_factory=dict)
    _unreadable: dict[str, str] = field(default_factory=dict)
    _active_results: dict[str, Result] = field(default_factory=dict)
    _threads: list[threading.Thread] = field(default_factory=list)
    _running: transport.Running = field(default_factory=transport.Running)

    def measure(self, target: CheckTarget) -> Result:
        """Return the result of one target; UNKNOWN if it could not be measured."""
        self._start()
        if target.check.is_active:
            return self._measure_active(target)
        request = self._requests[target.id]
        command = request.probe.command
        if reason := self._unreadable.get(target.id):
            return not_measured(target, command, reason, utc_now())
        machine = self._machines[target.node]
        measured = machine.wait(request)
        if machine.lost:
            return not_measured(target, command, machine.lost, utc_now())
        judgement = judge(target.check, measured.output, target.expectation)
        is_marked = SIMULATION_COMMENT in measured.output.stdout
        return result_of(
            target,
            command,
            measured.output,
            judgement,
            started=measured.started,
            ended=measured.ended,
            simulated=True if is_marked else machine.simulated,
        )

    def close(self) -> None:
        """End all commands, and close the shared connections of reachable nodes."""
        self._running.stop()
        for thread in self._threads:
            thread.join(STOP_S)

    def _measure_active(self, target: CheckTarget) -> Result:
        """Return the result of an active target; the first target of a job runs it."""
        for thread in self._threads:
            thread.join()
        if target.id not in self._active_results:
            jobs = jobs_of(each for each in self.targets if each.check.is_active)
            job = next(job for job in jobs if target in job.targets)
            self._active_results |= {result.target_id: result for result in self.active.measure(job)}
        return self._active_results[target.id]

    def _start(self) -> None:
        """Start the threads, at the first call."""
        if self._machines:
            return
        by_node: dict[str, list[Request]] = {}
        for target in self.targets:
            requests = by_node.setdefault(target.node, [])
            if not target.check.is_active:
                requests += self._request(target)
        self._machines.update({name: self._machine(name, requests) for name, requests in by_node.items()})
        waiting = iter(list(self._machines.items()))
        lock = threading.Lock()

        def work() -> None:
            while True:
                with lock:
                    name, machine = next(waiting, ("", None))
                if machine is None:
                    return
                machine.run()
                if machine.simulated is not None and not machine.lost:
                    transport.close_connections(self.config, [name])

        count = min(NODES_AT_ONCE, len(self._machines))
        self._threads += [threading.Thread(target=work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _request(self, target: CheckTarget) -> list[Request]:
        """Return the request of a target; none if its secret cannot be read."""
        probe = target.check.probe(target.expectation)
        self._requests[target.id] = Request(probe)
        if probe.secret is not None:
            try:
                self._requests[target.id] = Request(probe, f"{self.read_secret(probe.secret)}\n")
            except SovctlError as error:  # its message never contains the value
                self._unreadable[target.id] = str(error)
                return []
        return [self._requests[target.id]]

    def _machine(self, name: str, requests: Sequence[Request]) -> MachineProbes:
        if name == CONTROLLER:
            return ControllerProbes(transport.controller_host(), self._running, requests)
        return NodeProbes(transport.node_host(name, self.config), self._running, requests)
