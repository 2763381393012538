"""Expectation and probe of the checks of NVLink links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....spec import Node
from ...model.check import Check
from ...model.check_context import CheckContext
from ...model.counter_check import CounterExpectation
from ...model.figures import integer_of, number_of, text_of
from ...model.probe import Probe


@dataclass(frozen=True, kw_only=True)
class Expected(CounterExpectation):
    """NVLinks of the platform. None: not in the catalogue, so the verdict is UNKNOWN.

    Args:
        gpu_count: GPUs per operating system.
        links_per_gpu: links of each GPU.
        link_gb_s: speed of one link in one direction, as nvidia-smi prints it.
        topology: connection between every two GPUs, such as "NV18".
    """

    gpu_count: int | None
    links_per_gpu: int | None
    link_gb_s: float | None
    topology: str | None


class NvlinkCheck(Check[Expected]):
    """Expectation and probe; a subclass judges one aspect."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with NVLink, and nodes whose catalogue entry has no information about it."""
        platform = site.context.platform(node)
        checks = platform.checks
        if platform.has_gpus and (checks.nvlinks_per_gpu is None or checks.nvlinks_per_gpu.applies):
            yield Expected(
                gpu_count=integer_of(checks.gpu_count),
                links_per_gpu=integer_of(checks.nvlinks_per_gpu),
                link_gb_s=number_of(checks.nvlink_gb_s),
                topology=text_of(checks.topo_gpu_link),
            )

    def probe(self, expected: Expected) -> Probe:
        """Print status, error counters, topology and peer access of all links."""
        return Probe.of(
            links="nvidia-smi nvlink -s",
            errors="nvidia-smi nvlink -e",
            topology="nvidia-smi topo -m",
            access="nvidia-smi topo -p2p n",
        )
