"""Measures one job: the nodes must be idle, then the rounds run, and each target is judged.

- A measured failure is final. A target that is UNKNOWN because a command failed is measured once more.
- After a command that reached its time limit, no later round starts, and nothing is measured again: each costs minutes.
- If a command of a round fails, the others end after `FAILED_ROUND_S`, because ranks wait for each other.
- After `stop` the commands on the nodes end, and the targets are UNKNOWN.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from sovctl.compliance.verdict import Verdict

from ....facts.unreadable import Unreadable
from ...model.active_check import READY_LIMIT_S, NodeCommand
from ...model.check import judge
from ...model.probe import TIMED_OUT, CommandOutput, ProbeOutput, joined
from ...model.result import Result, not_measured, result_of, utc_now
from . import idle
from .idle import NodeServices
from .jobs import Job
from .node_process import STOP_S, Machines, NodeProcess

FAILED_ROUND_S = 20.0
SERVER_END_S = 5.0
"""Seconds for a server to end by itself after its clients."""
_NOT_FOUND = 127
INTERRUPTED = "interrupted"


@dataclass
class Measurement:
    """Runs jobs on nodes; one object for all jobs of a run, used by several threads.

    Args:
        services: planned services by node.
        allowed: names of pools, and `gateway`, whose downtime the operator permits.
    """

    machines: Machines
    services: Mapping[str, NodeServices]
    allowed: Collection[str] = ()
    _stopped: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """End all running tests, and start no more."""
        self._stopped.set()

    def measure(self, job: Job) -> list[Result]:
        """Return one result per target, in their order."""
        has_run, results = self._once(job)
        if not (has_run and job.may_repeat and any(_is_repeatable(each) for each in results)):
            return results
        again = self._once(job)[1]
        return [
            replace(second, reason=f"{second.reason}; measured twice, first: {first.reason}")
            if _is_repeatable(first)
            else first
            for first, second in zip(results, again, strict=True)
        ]

    def _once(self, job: Job) -> tuple[bool, list[Result]]:
        """Return whether the test ran to its end, and the results."""
        simulated: bool | None = None
        for node in job.nodes:
            if self._stopped.is_set():
                return False, refused(job, INTERRUPTED)
            output = self.machines.run(node, self.services[node].probe)
            simulated = idle.is_simulated(output) or simulated
            if reason := self._obstacle(node, output):
                return False, refused(job, reason)
        started = utc_now()
        outputs: dict[str, CommandOutput] = {}
        hangs = False
        for _, group in groupby(sorted(job.commands, key=lambda each: each.round), key=lambda each: each.round):
            commands = list(group)
            outputs |= _not_started(commands) if hangs else self._round(commands)
            hangs = hangs or any(outputs[each.name].exit_code == TIMED_OUT for each in commands)
            if self._stopped.is_set():
                return False, refused(job, INTERRUPTED)
        return True, _judged(job, joined(outputs), started, simulated=simulated)

    def _obstacle(self, node: str, output: ProbeOutput) -> str:
        """Return the reason against a test on a node, also if its services were not measured."""
        if output.exit_code is None:
            lines = [line for line in output.stderr.splitlines() if line.strip() and not line.startswith("===")]
            return f"ssh to {node} failed: {lines[-1].strip()[:120] if lines else 'no message'}"
        try:
            return idle.refusal(node, self.services[node], output, self.allowed)
        except Unreadable as error:
            return f"the services of {node} are unknown: {error}"

    def _round(self, commands: Sequence[NodeCommand]) -> dict[str, CommandOutput]:
        """Run the commands of one round together, and return their outputs by name."""
        running: dict[NodeCommand, NodeProcess] = {}
        errors: dict[str, str] = {}
        try:
            for command in commands:
                running[command] = NodeProcess(self.machines.test(command))
                if command.ready and not self._await_ready(command, running[command]):
                    errors[command.name] = f"not ready within {READY_LIMIT_S} s"
                    break
            else:
                self._await(running)
        finally:
            for process in running.values():
                process.close_input()
            outputs = {command.name: _output(command, process) for command, process in running.items()}
        absent = _not_started(each for each in commands if each.name not in outputs)
        failed = {name: CommandOutput(None, outputs[name].stdout, error) for name, error in errors.items()}
        return {**outputs, **absent, **failed}

    def _await_ready(self, command: NodeCommand, process: NodeProcess) -> bool:
        until = time.monotonic() + READY_LIMIT_S
        while time.monotonic() < until and process.exit_code is None and not self._stopped.is_set():
            if self.machines.is_ready(command):
                return True
            self._stopped.wait(1)
        return False

    def _await(self, running: Mapping[NodeCommand, NodeProcess]) -> None:
        """Wait for the clients, then for at most `SERVER_END_S` for the servers."""
        until = time.monotonic() + max(each.timeout_s for each in running) + STOP_S
        clients = [process for command, process in running.items() if not command.ends_with_others]
        while not self._stopped.is_set() and time.monotonic() < until and _runs(clients):
            if any(process.exit_code for process in clients):
                until = min(until, time.monotonic() + FAILED_ROUND_S)
            self._stopped.wait(0.1)
        until = time.monotonic() + SERVER_END_S
        while not self._stopped.is_set() and time.monotonic() < until and _runs(running.values()):
            self._stopped.wait(0.1)


def _not_started(commands: Iterable[NodeCommand]) -> dict[str, CommandOutput]:
    return {each.name: CommandOutput(None, "", "not started") for each in commands}


def _runs(processes: Iterable[NodeProcess]) -> bool:
    return any(process.exit_code is None for process in processes)


def _output(command: NodeCommand, process: NodeProcess) -> CommandOutput:
    output = process.end()
    if process.was_ended and command.ends_with_others and output.exit_code is not None:
        return replace(output, exit_code=0)
    return output


def refused(job: Job, reason: str) -> list[Result]:
    """Return UNKNOWN for the targets of a job that did not run."""
    return [
        not_measured(target, target.check.probe(target.expectation).command, reason, utc_now())
        for target in job.targets
    ]


def _judged(job: Job, output: ProbeOutput, started: str, *, simulated: bool | None) -> list[Result]:
    return [
        result_of(
            target,
            target.check.probe(target.expectation).command,
            output,
            judge(target.check, output, target.expectation),
            started=started,
            ended=utc_now(),
            simulated=simulated,
        )
        for target in job.targets
    ]


def _is_repeatable(result: Result) -> bool:
    """Return whether a command failed, so that a second measurement can succeed; not if it is absent, or hangs."""
    codes = _exit_codes(result)
    is_final = _NOT_FOUND in codes or result.exit_code == TIMED_OUT
    return result.verdict is Verdict.UNKNOWN and not is_final and (result.exit_code != 0 or any(codes))


def _exit_codes(result: Result) -> list[int]:
    """Return the exit codes in the stored output."""
    lines = result.raw.decode("utf-8", "replace").splitlines()
    marks = [line.split() for line in lines if line.startswith("=== sovctl end ")]
    return [int(words[-1]) for words in marks if words[-1].isdigit()]
