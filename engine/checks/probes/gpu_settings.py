"""Expectation, probe and judgement of the checks that compare one setting or record on every GPU."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from ...catalog.gpus import load_gpus
from ...facts.hardware.gpu import Gpu, GpuReport
from ...spec import Node
from ..model.check import Check, Expectation, Judgement, unknown, worst
from ..model.check_context import CheckContext
from ..model.figures import integer_of, number_of
from ..model.probe import Probe, ProbeOutput
from .commands import GPU_REPORT
from .gpu_report import count_findings, gpu_report


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Settings of the platform's GPUs. None: not in the catalogue, so the verdict is UNKNOWN.

    Args:
        gpu_count: GPUs per operating system.
        power_limit_w: enforced power limit.
        sm_clock_mhz: maximum clock of the multiprocessors.
        memory_mib: memory that the driver reports; the catalogue's figure.
        divided_gpus: indices of the GPUs that site.yaml divides into MIG instances.
    """

    gpu_count: int | None
    power_limit_w: float | None = None
    sm_clock_mhz: int | None = None
    memory_mib: int | None = None
    divided_gpus: frozenset[int] = frozenset()


class SettingsCheck(Check[Expected]):
    """Expectation and probe; a subclass yields the findings of one GPU and states the result."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with GPUs."""
        platform = site.context.platform(node)
        if platform.has_gpus:
            checks = platform.checks
            yield Expected(
                gpu_count=integer_of(checks.gpu_count),
                power_limit_w=number_of(checks.power_limit_w),
                sm_clock_mhz=integer_of(checks.sm_clock_mhz),
                memory_mib=_memory_mib(platform.gpu),
                divided_gpus=frozenset(each.gpu for each in site.context.mig_devices(node) if each.profile),
            )

    def probe(self, expected: Expected) -> Probe:  # noqa: ARG002 - for overrides
        """Print the driver's report of all GPUs."""
        return Probe.of(gpus=GPU_REPORT)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the report has the expected number of GPUs, and no GPU has a finding."""
        report = gpu_report(output)
        return worst(
            [
                *count_findings(report, expected.gpu_count),
                *self.node_findings(report, expected),
                *(each for gpu in report.gpus for each in self.findings(gpu, f"GPU {gpu.index}", expected)),
            ],
            otherwise=f"expected {self.wanted(expected)}, got the same on {len(report.gpus)} GPUs",
        )

    def node_findings(
        self,
        report: GpuReport,  # noqa: ARG002 - for overrides
        expected: Expected,  # noqa: ARG002 - for overrides
    ) -> Iterator[Judgement]:
        """Yield findings about all GPUs together."""
        return iter(())

    @abstractmethod
    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """Yield findings about one GPU."""

    @abstractmethod
    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""


def _memory_mib(name: str | None) -> int | None:
    """Return the figure of the catalogue; from the label if no other is known, as labels are in GiB."""
    gpu = load_gpus().get(name) if name else None
    return (gpu.usable_mib or gpu.memory_label_gb * 1024) if gpu else None


def not_measured(what: str, gpu: Gpu) -> Judgement:
    """Return UNKNOWN for an element that a GPU does not report."""
    return unknown(what, "GPU is lost" if gpu.is_lost else "none")
