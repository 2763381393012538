"""Active checks and nodes for tests: commands run on this machine, with `systemctl` and `nvidia-smi` of each node."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sovctl.engine.checks.model.active_check import ActiveCheck, ActiveExpectation, NodeCommand
from sovctl.engine.checks.model.check import Judgement, Method, Severity, failed, passed
from sovctl.engine.checks.model.probe import ProbeOutput
from sovctl.engine.checks.model.probe_sections import parse_sections
from sovctl.engine.checks.model.target import CheckTarget
from sovctl.engine.checks.runner.active.idle import NodeServices
from sovctl.engine.checks.runner.active.measurement import Measurement
from sovctl.engine.checks.runner.active.node_process import LOCK, Machines


@dataclass(frozen=True, kw_only=True)
class Expected(ActiveExpectation):
    """The commands themselves, so that each test writes its own."""

    runs: tuple[NodeCommand, ...]


class Commands(ActiveCheck[Expected]):
    """Passes if every command prints `good`, and fails if one prints something else."""

    id, version, method = "active.commands", 1, Method.TEST
    title, controls = "commands print good", ("si-13",)
    severity, remedy, order = Severity.HIGH, "none", 1

    def commands(self, expected: Expected) -> tuple[NodeCommand, ...]:
        return expected.runs

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        texts = [parse_sections(output).text(each.name) for each in expected.runs]
        return passed("expected good, got good") if set(texts) == {"good"} else failed("good", " ".join(texts))


class Late(Commands):
    """The same, later in the order of a node."""

    id, order = "active.late", 2


def target(*runs: NodeCommand, check: Commands | None = None, subject: str = "") -> CheckTarget:
    """Return a target of the nodes of its commands."""
    nodes = tuple(dict.fromkeys(each.node for each in runs))
    return CheckTarget(check or Commands(), nodes[0], Expected(nodes=nodes, runs=runs, subject=subject))


@dataclass(frozen=True)
class LocalMachines(Machines):
    """Nodes n1, n2 and so on, whose commands run here; the programs of a node are in `config/NODE`."""

    def words(self, node: str, command: str, limit_s: int) -> list[str]:
        """Run the command with the node's programs first in the search path."""
        folder = self.config / node
        command = command.replace(LOCK, str(folder / "lock"))
        return ["env", f"PATH={folder}:/usr/bin:/bin", "timeout", "-k", "5", str(limit_s), "sh", "-c", command]

    def program(self, node: str, name: str, text: str) -> None:
        """Install a program on a node."""
        file = self.config / node / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)


def idle_nodes(folder: Path, *nodes: str, token: str = "run-a") -> LocalMachines:
    """Return nodes on which no unit and no process on a GPU is active."""
    machines = LocalMachines(folder, token)
    for node in nodes:
        machines.program(node, "systemctl", "exit 0")
        machines.program(node, "nvidia-smi", "exit 0")
    return machines


def measurement(machines: LocalMachines, *nodes: str, allowed: tuple[str, ...] = ()) -> Measurement:
    """Return the measurement of nodes that have the pool `chat`."""
    services = {node: NodeServices({"sovctl-pool-chat": "chat"}, has_gpus=True) for node in nodes}
    return Measurement(machines, services, allowed)
