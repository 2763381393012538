"""Looking at cases: run the probe where it belongs, judge, and never raise for what a node does.

A node that cannot be reached makes every one of its cases UNKNOWN, at once: it is tried only until it is known to be
lost. Equal probes of one node are run once, so that checks which read the same answer speak of the same moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from testinfra.host import Host

from sovctl.support.errors import SovctlError

from ...facts.gpu import SIMULATION_COMMENT
from ...facts.node import SIMULATION_MARK
from ...facts.unreadable import excerpt
from ...spec.types import Secret
from ..model.check import Probe, ProbeOutput, judge
from ..model.result import Result, not_looked_at, result_of, utc_now
from . import transport
from .targets import Case

GREETING = f"[ -e {SIMULATION_MARK} ] && echo simulated || echo real"
"""Says whether the hardware is a stand-in, and that ssh works."""


@dataclass(frozen=True)
class _Answer:
    output: ProbeOutput
    started: str
    ended: str


@dataclass
class Observer:
    """One run's view of all machines.

    Args:
        config: an ssh_config of `transport.ssh_config`.
        read_secret: value of a reference of site.yaml, for a probe's standard input.
    """

    config: Path
    read_secret: Callable[[Secret], str]
    _hosts: dict[str, Host] = field(default_factory=dict)
    _simulated: dict[str, bool | None] = field(default_factory=dict)
    _lost: dict[str, str] = field(default_factory=dict)
    _answers: dict[tuple[str, str], _Answer] = field(default_factory=dict)

    def look(self, case: Case) -> Result:
        """The result of one case; UNKNOWN for whatever could not be measured."""
        probe = case.check.probe(case.expectation)
        host = self._host(case)
        if reason := self._lost.get(case.node):
            return not_looked_at(case, probe.command, reason, utc_now())
        try:
            answer = self._ask(case, probe, host)
        except SovctlError as error:  # a secret that cannot be read; its message never holds the value
            return not_looked_at(case, probe.command, str(error), utc_now())
        if reason := self._lost.get(case.node):
            return not_looked_at(case, probe.command, reason, utc_now())
        judgement = judge(case.check, answer.output, case.expectation)
        says_so = SIMULATION_COMMENT in answer.output.stdout
        return result_of(
            case,
            probe.command,
            answer.output,
            judgement,
            started=answer.started,
            ended=answer.ended,
            simulated=True if says_so else self._simulated[case.node],
        )

    def close(self) -> None:
        """End the shared connections of nodes that answered."""
        up = [name for name, simulated in self._simulated.items() if simulated is not None and name not in self._lost]
        transport.close_connections(self.config, up)

    def _host(self, case: Case) -> Host:
        """The machine of a case, greeted before anything else is asked of it."""
        if case.node in self._hosts:
            return self._hosts[case.node]
        host = transport.controller_host() if case.is_here else transport.node_host(case.node, self.config)
        self._hosts[case.node] = host
        if case.is_here:
            self._simulated[case.node] = None  # as simulated as the nodes are; the caller knows them all
            return host
        self._simulated[case.node] = None
        greeting = self._run(case.node, host, GREETING, timeout_s=30, stdin=b"")
        words = greeting.stdout.split()
        if words in (["simulated"], ["real"]):
            self._simulated[case.node] = words == ["simulated"]
        elif case.node not in self._lost:
            self._lost[case.node] = f"the node did not understand us: {excerpt(greeting.stdout + greeting.stderr)}"
        return host

    def _ask(self, case: Case, probe: Probe, host: Host) -> _Answer:
        """The answer to a probe; one that takes a secret is never shared between checks."""
        key = (case.node, probe.command)
        if probe.secret is None and key in self._answers:
            return self._answers[key]
        stdin = b"" if probe.secret is None else f"{self.read_secret(probe.secret)}\n".encode()
        command = probe.command if case.is_here else transport.as_root(probe.command, probe.timeout_s)
        started = utc_now()
        output = self._run(case.node, host, command, timeout_s=probe.timeout_s + transport.GRACE_S, stdin=stdin)
        answer = _Answer(output, started, utc_now())
        self._answers[key] = answer
        return answer

    def _run(self, node: str, host: Host, command: str, *, timeout_s: int, stdin: bytes) -> ProbeOutput:
        try:
            result = host.run(command, timeout_s=timeout_s, stdin=stdin)
        except OSError as error:
            return ProbeOutput(None, "", f"{type(error).__name__}: {error.strerror}")
        out, err = (text.decode("utf-8", "replace") for text in (result.stdout_bytes, result.stderr_bytes))
        if result.rc == transport.SSH_LOST:
            # ssh says why in its last line, under whatever banners.
            said = [line for line in err.splitlines() if line.strip()]
            self._lost[node] = f"ssh to the node failed: {excerpt(said[-1]) if said else 'it said nothing'}"
        code = None if result.rc in (transport.SSH_LOST, transport.ENDED_BY_US) else result.rc
        return ProbeOutput(code, out, err)
