"""Measures targets: runs the probe on its node or on the controller, and judges the output.

- No behaviour of a node raises an exception. All targets of an unreachable node are UNKNOWN, after one attempt.
- An active test runs alone (`active/`), as in `sovctl verify`.
- The commands of all shared probes of a node run at its first target, each once and at the same time, over one
  connection. Other probes run one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from testinfra.host import Host

from sovctl.support.errors import SovctlError

from ...facts.hardware.gpu import SIMULATION_COMMENT
from ...facts.unreadable import excerpt
from ...spec.types import Secret
from ..model.check import judge
from ..model.probe import Probe, ProbeOutput, joined
from ..model.result import Result, not_measured, result_of, utc_now
from ..model.target import CheckTarget
from ..probes.commands import GREETING
from . import transport
from .active.jobs import jobs_of
from .active.measurement import Measurement
from .together import LIMIT_S, Together


@dataclass(frozen=True)
class _Measurement:
    output: ProbeOutput
    started: str
    ended: str


@dataclass
class Observer:
    """The connections and the probe outputs of one run.

    Args:
        targets: all targets that will be measured.
        config: file written by `transport.ssh_config`.
        read_secret: returns the value of a secret reference of site.yaml, for a probe's standard input.
        active: runs active tests.
    """

    targets: Sequence[CheckTarget]
    config: Path
    read_secret: Callable[[Secret], str]
    active: Measurement
    _hosts: dict[str, Host] = field(default_factory=dict)
    _simulated: dict[str, bool | None] = field(default_factory=dict)
    _lost: dict[str, str] = field(default_factory=dict)
    _together: dict[str, Together] = field(default_factory=dict)
    _active_results: dict[str, Result] = field(default_factory=dict)

    def measure(self, target: CheckTarget) -> Result:
        """Return the result of one target; UNKNOWN if it could not be measured."""
        if target.check.is_active:
            return self._measure_active(target)
        probe = target.check.probe(target.expectation)
        host = self._host(target)
        if reason := self._lost.get(target.node):
            return not_measured(target, probe.command, reason, utc_now())
        try:
            measurement = self._run_probe(target, probe, host)
        except SovctlError as error:  # an unreadable secret; the message never contains its value
            return not_measured(target, probe.command, str(error), utc_now())
        if reason := self._lost.get(target.node):
            return not_measured(target, probe.command, reason, utc_now())
        judgement = judge(target.check, measurement.output, target.expectation)
        is_marked = SIMULATION_COMMENT in measurement.output.stdout
        return result_of(
            target,
            probe.command,
            measurement.output,
            judgement,
            started=measurement.started,
            ended=measurement.ended,
            simulated=True if is_marked else self._simulated[target.node],
        )

    def _measure_active(self, target: CheckTarget) -> Result:
        """Return the result of an active target; the first target of a job runs it."""
        if target.id not in self._active_results:
            jobs = jobs_of(each for each in self.targets if each.check.is_active)
            job = next(job for job in jobs if target in job.targets)
            self._active_results |= {result.target_id: result for result in self.active.measure(job)}
        return self._active_results[target.id]

    def close(self) -> None:
        """Close the shared connections of reachable nodes."""
        up = [name for name, simulated in self._simulated.items() if simulated is not None and name not in self._lost]
        transport.close_connections(self.config, up)

    def _host(self, target: CheckTarget) -> Host:
        """Return the machine of a target; runs `GREETING` on a node's first use."""
        if target.node in self._hosts:
            return self._hosts[target.node]
        host = transport.controller_host() if target.is_controller else transport.node_host(target.node, self.config)
        self._hosts[target.node] = host
        self._simulated[target.node] = None
        if target.is_controller:
            return host  # `run` marks the controller's results as simulated if any node's are
        greeting = self._run(target.node, host, GREETING, timeout_s=30, stdin=b"")
        words = greeting.stdout.split()
        if words in (["simulated"], ["real"]):
            self._simulated[target.node] = words == ["simulated"]
        elif target.node not in self._lost:
            self._lost[target.node] = (
                f"unexpected output of the first command: {excerpt(greeting.stdout + greeting.stderr)}"
            )
        return host

    def _run_probe(self, target: CheckTarget, probe: Probe, host: Host) -> _Measurement:
        if probe.is_shared and not target.is_controller:
            outputs = self._shared_outputs(target.node, host)
            return _Measurement(joined(outputs.of(probe)), outputs.started, outputs.ended)
        stdin = b"" if probe.secret is None else f"{self.read_secret(probe.secret)}\n".encode()
        command = probe.command if target.is_controller else transport.as_root(probe.command, probe.timeout_s)
        started = utc_now()
        output = self._run(target.node, host, command, timeout_s=probe.timeout_s + transport.GRACE_S, stdin=stdin)
        return _Measurement(output, started, utc_now())

    def _shared_outputs(self, node: str, host: Host) -> Together:
        """Return the outputs of the commands of all shared probes of a node; run them at the first call."""
        if node not in self._together:
            probes = [
                each.check.probe(each.expectation)
                for each in self.targets
                if each.node == node and not each.check.is_active
            ]
            together = self._together[node] = Together([probe for probe in probes if probe.is_shared])
            command = transport.as_root(together.command, LIMIT_S)
            output = self._run(node, host, command, timeout_s=LIMIT_S + transport.GRACE_S, stdin=together.request)
            together.take(output, utc_now())
        return self._together[node]

    def _run(self, node: str, host: Host, command: str, *, timeout_s: int, stdin: bytes) -> ProbeOutput:
        try:
            result = host.run(command, timeout_s=timeout_s, stdin=stdin)
        except OSError as error:
            return ProbeOutput(None, "", f"{type(error).__name__}: {error.strerror}")
        out, err = (text.decode("utf-8", "replace") for text in (result.stdout_bytes, result.stderr_bytes))
        if result.rc == transport.SSH_LOST:
            # ssh prints its error after any banner of the server.
            lines = [line for line in err.splitlines() if line.strip()]
            self._lost[node] = f"ssh to the node failed: {excerpt(lines[-1]) if lines else 'no message'}"
        code = None if result.rc in (transport.SSH_LOST, transport.ENDED_BY_US) else result.rc
        return ProbeOutput(code, out, err)
