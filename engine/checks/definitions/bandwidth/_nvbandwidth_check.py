"""Expectation, commands and judge of the checks that read nvbandwidth. They share one measurement.

The median over `verify.repetitions` runs decides, for each GPU or pair. nvbandwidth itself reports the median of three
samples for each run, and compares the copied data (README of v0.8).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ....catalog.figure import Figure
from ....catalog.platforms import CheckProfile
from ....facts.benchmarks.nvbandwidth import Matrix, median_matrix, parse_nvbandwidth
from ....spec import Node
from ...model.active_check import ActiveCheck, ActiveExpectation, NodeCommand, repeated
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.figures import integer_of, number_of
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections

HOST_TO_DEVICE = "host_to_device_memcpy_ce"
DEVICE_TO_HOST = "device_to_host_memcpy_ce"
PEER_READ, PEER_WRITE = "device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce"
_LIMIT_S = 900
_NOT_FOUND = 127
_PLUGINS = "/usr/libexec/datacenter-gpu-manager-4/plugins/cuda*/nvbandwidth"
"""The program that DCGM 4 installs for its own plugin (NVIDIA/DCGM 4.6.0, nvvs/plugin_src/nvbandwidth; the folder is
that of the Debian package, from memory)."""
COMMAND = (
    f"program=$(command -v nvbandwidth || ls {_PLUGINS} 2>/dev/null | tail -n 1)\n"
    f'[ -n "$program" ] || exit {_NOT_FOUND}\n'
    f'exec "$program" -j -t {HOST_TO_DEVICE} {DEVICE_TO_HOST} {PEER_READ} {PEER_WRITE}'
)


@dataclass(frozen=True, kw_only=True)
class Expected(ActiveExpectation):
    """GPUs of the platform, and the lowest rate.

    Args:
        gpu_count: GPUs per operating system; None: not in the catalogue, so the verdict is UNKNOWN.
        minimum_gb_s: lowest rate of each GPU or pair; None if it is unknown.
        repetitions: runs.
    """

    gpu_count: int | None
    minimum_gb_s: float | None
    repetitions: int


class NvbandwidthCheck(ActiveCheck[Expected]):
    """Expectation, commands and judge; a subclass names the tests and the figure."""

    version, method, controls, order = 1, Method.TEST, ("si-13",), 50
    severity = Severity.HIGH
    tests: ClassVar[tuple[str, ...]]
    """Names of nvbandwidth's tests."""

    @abstractmethod
    def figure(self, profile: CheckProfile) -> Figure | None:
        """Return the lowest rate in GB/s."""

    @abstractmethod
    def place(self, test: str, row: int, column: int) -> str:
        """Return the two ends of a copy."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with GPUs."""
        platform = site.context.platform(node)
        if platform.has_gpus:
            yield Expected(
                nodes=(node.name,),
                gpu_count=integer_of(platform.checks.gpu_count),
                minimum_gb_s=number_of(self.figure(platform.checks)),
                repetitions=site.context.spec.verify.repetitions,
            )

    def commands(self, expected: Expected) -> tuple[NodeCommand, ...]:
        """Run nvbandwidth several times."""
        return repeated(expected.nodes[0], COMMAND, times=expected.repetitions, timeout_s=_LIMIT_S)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail if the median of a copy is below the lowest rate; UNKNOWN if a rate is absent."""
        sections = parse_sections(output)
        rounds = [sections.section(f"run{number}") for number in range(1, expected.repetitions + 1)]
        if any(each.exit_code == _NOT_FOUND for each in rounds):
            got = "none: install nvbandwidth, or DCGM 4.2 or newer, which contains it"
            return unknown("the program nvbandwidth", got)
        found = [parse_nvbandwidth(sections.text(f"run{number}")) for number in range(1, expected.repetitions + 1)]
        if expected.gpu_count is None or expected.minimum_gb_s is None:
            absent = "number of GPUs" if expected.gpu_count is None else "lowest rate"
            return unknown(f"the {absent} of the platform", "none in the catalogue")
        if counts := sorted({len(each.devices) for each in found} - {expected.gpu_count}):
            return failed(f"{expected.gpu_count} GPUs in nvbandwidth", str(counts[0]))
        medians = {test: median_matrix([each.matrix(test) for each in found]) for test in self.tests}
        findings = [each for test, matrix in medians.items() for each in self._findings(test, matrix, expected)]
        lowest = min((rate for matrix in medians.values() for row in matrix for rate in row if rate), default=0.0)
        got = f"at least {lowest:.1f} GB/s on {expected.gpu_count} GPUs, median of {expected.repetitions}"
        return worst(findings, otherwise=f"expected at least {expected.minimum_gb_s:g} GB/s, got {got}")

    def _findings(self, test: str, matrix: Matrix, expected: Expected) -> Iterator[Judgement]:
        assert expected.gpu_count is not None
        assert expected.minimum_gb_s is not None
        rows = self.rows(expected.gpu_count)
        if (len(matrix), len(matrix[0])) != (rows, expected.gpu_count):
            yield unknown(f"{rows} x {expected.gpu_count} rates of {test}", f"{len(matrix)} x {len(matrix[0])}")
            return
        for row, rates in enumerate(matrix):
            for column, rate in enumerate(rates):
                if rows > 1 and row == column:
                    continue
                if rate is None:
                    yield unknown(f"a rate {self.place(test, row, column)}", "N/A")
                elif rate < expected.minimum_gb_s:
                    wanted = f"at least {expected.minimum_gb_s:g} GB/s {self.place(test, row, column)}"
                    yield failed(wanted, f"{rate:.1f} GB/s")

    def rows(self, gpu_count: int) -> int:
        """Return the number of rows of a matrix: one, the host."""
        return 1
