"""Expectation and probe of the checks that compare nvidia-smi with sysfs and with the files of the kernel module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....spec import Node
from ...model.check import Check
from ...model.check_context import CheckContext
from ...model.counter_check import CounterExpectation
from ...model.figures import integer_of
from ...model.probe import Probe
from ...probes.commands import DRIVER_GPUS, GPU_REPORT, PCI_LINKS


@dataclass(frozen=True, kw_only=True)
class Expected(CounterExpectation):
    """GPUs of the platform.

    Args:
        gpu_count: GPUs per operating system; None if it is not in the catalogue.
        has_two_sockets: whether the GPUs are divided equally between two NUMA nodes (boards with eight GPUs).
    """

    gpu_count: int | None
    has_two_sockets: bool = False


class BusCheck(Check[Expected]):
    """Expectation and probe; a subclass judges one aspect."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with GPUs."""
        platform = site.context.platform(node)
        if platform.has_gpus:
            is_board = platform.family in ("dgx", "hgx") and platform.gpus == _BOARD_GPUS
            yield Expected(gpu_count=integer_of(platform.checks.gpu_count), has_two_sockets=is_board)

    def probe(self, expected: Expected) -> Probe:
        """Print the views of the driver's tool, of the kernel module, and of the PCI bus."""
        return Probe.of(gpus=GPU_REPORT, proc=DRIVER_GPUS, pci=PCI_LINKS)


_BOARD_GPUS = 8  # DGX and HGX boards: four GPUs at each of two processors (captures of 8 x H100 and 8 x A100)
