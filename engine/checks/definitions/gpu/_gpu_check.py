"""Expectation and probe of the checks of GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....spec import Node
from ...model.check import Check, Expectation
from ...model.check_context import CheckContext
from ...model.figures import integer_of, text_of
from ...model.probe import Probe
from ...probes.commands import GPU_REPORT, PCI_DEVICES


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """GPUs of the platform. None: not in the catalogue, so the verdict is UNKNOWN.

    Args:
        gpu_count: GPUs per operating system.
        pci_device_id: four lower-case hex digits.
        pcie_gen: generation of the link to the host, under load.
        pcie_width: lanes of the link to the host.
    """

    gpu_count: int | None
    pci_device_id: str | None
    pcie_gen: int | None = None
    pcie_width: int | None = None


class GpuCheck(Check[Expected]):
    """Expectation and probe; a subclass judges one aspect."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with GPUs."""
        platform = site.context.platform(node)
        if platform.has_gpus:
            yield Expected(
                gpu_count=integer_of(platform.checks.gpu_count),
                pci_device_id=text_of(platform.checks.gpu_pci_id),
                pcie_gen=integer_of(platform.checks.pcie_gen),
                pcie_width=integer_of(platform.checks.pcie_width),
            )

    def probe(self, expected: Expected) -> Probe:
        """Print the driver's report of all GPUs, and the devices on the PCI bus."""
        return Probe.of(gpus=GPU_REPORT, bus=PCI_DEVICES)
