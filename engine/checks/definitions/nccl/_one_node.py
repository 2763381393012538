"""Expectation, commands and readers of the checks of `all_reduce_perf` on one node; all of them judge the same runs.

nccl-tests exits with 1 for wrong results, and prints its table before. A missing GPU is a measured failure: it prints
the number of GPUs that it found.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ....catalog.benchmarks import GIB, load_benchmarks
from ....facts.benchmarks.nccl_log import NcclLog, parse_nccl_log
from ....facts.benchmarks.nccl_tests import NcclTest, parse_nccl_test
from ....spec import Node
from ...model.active_check import ActiveCheck, ActiveExpectation, NodeCommand, repeated
from ...model.check import Judgement, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.figures import integer_of, number_of
from ...model.probe import ProbeOutput
from ...model.probe_sections import ProbeSections, parse_sections

LIMIT_S = 600
PROGRAM = "all_reduce_perf"
_SEARCH_PATH = "/opt/nccl-tests/build:/usr/local/nccl-tests/build"
"""Folders in addition to PATH (Azure/azhpc-images installs nccl-tests in the first)."""
_TOO_FEW = re.compile(r"Invalid number of GPUs: (\d+) requested but only (\d+) were found")


@dataclass(frozen=True, kw_only=True)
class Expected(ActiveExpectation):
    """Limits of one node. None: not in the catalogue.

    Args:
        gpus: of the node.
        payload_bytes: largest payload; its bandwidth is judged.
        minimum_gb_s: bus bandwidth.
        without_nvls_gb_s: bus bandwidth of a healthy node without NVLink SHARP.
        needs_nvls: whether NCCL must use NVLink SHARP.
        runs: number of runs; the median decides.
    """

    gpus: int | None
    payload_bytes: int = 8 * GIB
    minimum_gb_s: float | None = None
    without_nvls_gb_s: float | None = None
    needs_nvls: bool | None = None
    runs: int = 3


@dataclass(frozen=True)
class Run:
    """One run and the lines of NCCL in its output."""

    test: NcclTest
    log: NcclLog | None


class OneNodeCheck(ActiveCheck[Expected]):
    """A subclass judges the runs, of which there is at least one."""

    order: ClassVar[int] = 300

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of nodes with at least two GPUs."""
        platform = site.context.platform(node)
        gpus, runs = integer_of(platform.checks.gpu_count), site.context.spec.verify.repetitions
        if platform.gpus < 2:
            return
        limit = load_benchmarks().nccl_limit(platform.profile, nodes=1, gpus=gpus)
        if limit is None:
            yield Expected(nodes=(node.name,), gpus=gpus, runs=runs)
            return
        yield Expected(
            nodes=(node.name,),
            gpus=gpus,
            payload_bytes=limit.payload_bytes,
            minimum_gb_s=number_of(limit.minimum),
            without_nvls_gb_s=number_of(limit.without_nvls),
            needs_nvls=limit.nvls,
            runs=runs,
        )

    def commands(self, expected: Expected) -> tuple[NodeCommand, ...]:
        """Measure 1 GiB up to the payload on all GPUs, and print NCCL's lines about version and NVLink SHARP."""
        return repeated(expected.nodes[0], nccl_command(expected), times=expected.runs, timeout_s=LIMIT_S)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail if nccl-tests found fewer GPUs; otherwise judge the runs."""
        if expected.gpus is None:
            return unknown("the platform's number of GPUs", "none in the catalogue")
        sections = parse_sections(output)
        names = [f"run{number}" for number in range(1, expected.runs + 1)]
        if found := next((match for name in names if (match := _too_few(sections, name))), None):
            return failed(f"{expected.gpus} GPUs for NCCL", f"{found} found by {PROGRAM}")
        runs = [_run_of(sections, name) for name in names]
        return worst(self.findings(runs, expected), otherwise=self.passes(runs, expected))

    @abstractmethod
    def findings(self, runs: list[Run], expected: Expected) -> Iterator[Judgement]:
        """Yield the judgements that do not pass."""

    @abstractmethod
    def passes(self, runs: list[Run], expected: Expected) -> str:
        """Return the reason of the PASS."""


def nccl_command(expected: Expected) -> str:
    """Return the command of one run; lines of NCCL follow the table, because they would break its rows."""
    size = f"-b {GIB} -e {expected.payload_bytes} -f 2 -g {expected.gpus or 1} -c 1"
    return (
        f"PATH=$PATH:{_SEARCH_PATH}; log=$(mktemp) || exit 3; trap 'rm -f \"$log\"' EXIT; "
        f'NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV NCCL_DEBUG_FILE="$log" {PROGRAM} {size}; code=$?; '
        "grep -E 'NCCL version|NVLS|nvls channels' \"$log\"; exit $code"
    )


def gpu_findings(runs: list[Run], gpus: int) -> Iterator[Judgement]:
    """Yield findings if ranks or the factor of the bus bandwidth do not belong to this number of different GPUs."""
    factor = 2 * (gpus - 1) / gpus
    for run in runs:
        devices = {(rank.host, rank.index) for rank in run.test.ranks}
        if not run.test.ranks:
            yield unknown(f"{gpus} ranks", "none in the output")
        elif len(devices) != gpus:
            yield failed(f"{gpus} GPUs for NCCL", f"{len(devices)} in {len(run.test.ranks)} ranks")
        largest = run.test.rows[-1]
        if largest.bus_factor is not None and abs(largest.bus_factor - factor) > 0.02 * factor:
            yield unknown(f"a bus bandwidth of {factor:g} times algbw for {gpus} GPUs", f"{largest.bus_factor:.3g}")


def _too_few(sections: ProbeSections, name: str) -> str | None:
    section = sections.section(name)
    match = _TOO_FEW.search(f"{section.text}\n{section.errors}")
    return match[2] if match and section.exit_code != 0 else None


def _run_of(sections: ProbeSections, name: str) -> Run:
    """Return a run; the exit code 1 of a run with wrong results is accepted.

    Raises:
        Unreadable: the run failed for another reason, or its output is incomplete.
    """
    section = sections.section(name)
    if section.exit_code == 1:
        test = parse_nccl_test(section.text)
        if not test.out_of_bounds:
            sections.text(name)
    else:
        test = parse_nccl_test(sections.text(name))
    has_log = any(" NCCL " in line for line in section.text.splitlines())
    return Run(test, parse_nccl_log(section.text) if has_log else None)
