"""Base of the checks of NCCL over several nodes: one program per node, started by the runner, and rank 0 reports.

The program uses PyTorch and NCCL of the engine, which the replicas of pools use. Nodes need TCP connections to each
other (`fabric.node_connections` in site.yaml) to start a run; the data uses InfiniBand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

from ....catalog.benchmarks import GIB, is_near, load_benchmarks
from ....catalog.engines.vllm import VLLM
from ....facts.benchmarks.nccl_ranks import RankTest, parse_ended_ranks, parse_rank_test
from ....resources.software.environment import ROOT
from ....spec import Node, NodeGroup
from ...model.active_check import ActiveCheck, ActiveExpectation, NodeCommand
from ...model.check import Judgement, Level, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.figures import integer_of, number_of
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import python_command

LIMIT_S = 900
PORT = 29600
"""Port of rank 0 for the other ranks (arbitrary; vLLM uses 29501)."""
INTERPRETER = f"{ROOT}/{VLLM.environment}/bin/python"


@dataclass(frozen=True, kw_only=True)
class Expected(ActiveExpectation):
    """Nodes of one board.

    Args:
        addresses: of `nodes`, in their order.
        gpus: of each node; None if it is not in the catalogue.
        minimum_gb_s: bus bandwidth; None if it is not in the catalogue.
        without_nvls_gb_s: bus bandwidth without multi-node NVLink; None if it is unknown.
        runs: number of runs; the median decides.
    """

    addresses: tuple[str, ...]
    gpus: int | None
    payload_bytes: int = GIB
    minimum_gb_s: float | None = None
    without_nvls_gb_s: float | None = None
    runs: int = 3


class GroupCheck(ActiveCheck[Expected]):
    """A subclass chooses the nodes."""

    version, method, severity = 1, Method.TEST, Severity.HIGH
    level: ClassVar[Level] = Level.BURN_IN
    controls: ClassVar[tuple[str, ...]] = ("cp-2.2", "si-13")

    def expectation(self, site: CheckContext, group: NodeGroup, nodes: list[Node], subject: str) -> Iterator[Expected]:
        """Yield the expectation of at least two nodes of a group with a compute fabric."""
        platform = site.context.platform(group.nodes[0])
        nics = platform.checks.compute_nics
        # Engines of labs have no NCCL; the programs run in vLLM's environment.
        has_nccl = platform.has_gpus and site.context.engine is VLLM
        if len(nodes) < 2 or not has_nccl or (nics is not None and not nics.applies):
            return
        gpus = integer_of(platform.checks.gpu_count)
        limit = load_benchmarks().nccl_limit(platform.profile, nodes=len(nodes), gpus=gpus)
        yield Expected(
            subject=subject,
            nodes=tuple(node.name for node in nodes),
            addresses=tuple(str(node.address) for node in nodes),
            gpus=gpus,
            payload_bytes=limit.payload_bytes if limit else GIB,
            minimum_gb_s=number_of(limit.minimum) if limit else None,
            without_nvls_gb_s=number_of(limit.without_nvls) if limit else None,
            runs=site.context.spec.verify.repetitions,
        )

    def commands(self, expected: Expected) -> tuple[NodeCommand, ...]:
        """Start the ranks of all nodes together."""
        head, sizes = expected.addresses[0], (str(expected.payload_bytes), str(expected.runs))
        count, gpus = str(len(expected.nodes)), str(expected.gpus or 1)
        return tuple(
            NodeCommand(
                name=f"ranks-of-{node}",
                node=node,
                command=python_command(
                    "nccl_ranks", str(index), count, gpus, head, str(PORT), address, *sizes, interpreter=INTERPRETER
                ),
                timeout_s=LIMIT_S,
            )
            for index, (node, address) in enumerate(zip(expected.nodes, expected.addresses, strict=True))
        )

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail for wrong values, and if the median is below the limit. All nodes must have ended without an error."""
        sections = parse_sections(output)
        for node in expected.nodes[1:]:
            section = sections.section(f"ranks-of-{node}")
            if section.exit_code != 0:
                return unknown(f"exit code 0 of the ranks of {node}", str(section.exit_code))
            if (ended := parse_ended_ranks(section.text)) != expected.gpus:
                return unknown(f"{expected.gpus} of the ranks of {node} without an error", str(ended))
        test = parse_rank_test(sections.text(f"ranks-of-{expected.nodes[0]}"))
        rates = [run.bus_gb_s(test.ranks) for run in test.runs]
        minimum = expected.minimum_gb_s
        wanted = f"at least {minimum:g} GB/s" if minimum is not None else "a known bandwidth"
        return worst(
            _findings(test, rates, expected),
            otherwise=f"expected {wanted} and 0 wrong values on {test.ranks} GPUs of {len(expected.nodes)} nodes, "
            f"got {_measured(rates)} and 0",
        )


def _findings(test: RankTest, rates: list[float], expected: Expected) -> Iterator[Judgement]:
    ends = ", ".join(expected.nodes)
    if expected.gpus is None or test.ranks != expected.gpus * len(expected.nodes):
        wanted = "the platform's number of GPUs" if expected.gpus is None else f"{expected.gpus} GPUs of each of {ends}"
        yield unknown(wanted, f"{test.ranks} ranks")
    if len(test.devices) != 1:
        yield failed(f"one model of GPU in {ends}", ", ".join(test.devices) or "none")
    if test.nccl is None:
        yield unknown("a version of NCCL", "none")
    if len(test.runs) != expected.runs or any(run.size_bytes != expected.payload_bytes for run in test.runs):
        yield unknown(f"{expected.runs} runs of {expected.payload_bytes} bytes", f"{len(test.runs)} runs")
        return
    if wrong := sum(run.wrong for run in test.runs):
        yield failed(f"0 wrong values between {ends}", str(wrong))
    if expected.minimum_gb_s is None:
        yield unknown("the board's bus bandwidth between nodes", "none in the catalogue")
    elif median(rates) < expected.minimum_gb_s:
        is_off = is_near(median(rates), expected.without_nvls_gb_s)
        cause = "; multi-node NVLink is off: check nvidia-imex on all nodes" if is_off else ""
        yield failed(f"at least {expected.minimum_gb_s:g} GB/s between {ends}", f"{_measured(rates)}{cause}")


def _measured(rates: list[float]) -> str:
    return f"{median(rates):.1f} (median of {', '.join(f'{rate:.1f}' for rate in sorted(rates))})"
