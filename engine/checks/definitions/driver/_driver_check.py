"""Expectation and probe of the checks of the driver on a node with GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....catalog.board_services import board_services
from ....catalog.platforms import PlatformComponent
from ....spec import Node
from ...model.check import Check, Expectation
from ...model.check_context import CheckContext
from ...model.figures import integer_of
from ...model.probe import Probe
from ...probes.commands import GPU_REPORT, LOADED_MODULE, LOADED_MODULES, show_units

REBOOT = (
    "for f in /run/reboot-required /var/run/reboot-required; do [ -e $f ] && echo required && exit; done; echo none"
)


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The driver of one node.

    Args:
        gpu_count: GPUs per operating system; None if it is not in the catalogue.
        modules: kernel modules that must be loaded.
        units: systemd units of the board, without those that only load modules.
        toolkit_version: container toolkit of the lock; None if it is not in the lock.
    """

    gpu_count: int | None
    modules: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    toolkit_version: str | None = None


class DriverCheck(Check[Expected]):
    """Expectation and probe; a subclass judges one aspect."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with GPUs."""
        platform = site.context.platform(node)
        if platform.has_gpus:
            modules = list(_MODULES)
            if platform.checks.compute_nics is None or platform.checks.compute_nics.applies:
                modules += _INFINIBAND_MODULES
            if PlatformComponent.NVLINK5 in platform.parts:
                modules.append("ib_umad")
            yield Expected(
                gpu_count=integer_of(platform.checks.gpu_count),
                modules=tuple(modules),
                units=tuple(each.unit for each in board_services(platform) if each.unit and not each.kernel),
                toolkit_version=site.context.lock.values.get("toolkit"),
            )

    def probe(self, expected: Expected) -> Probe:
        """Print the driver's report, the loaded and the installed module, and the states of units."""
        return Probe.of(
            gpus=GPU_REPORT,
            module=LOADED_MODULE,
            modules=LOADED_MODULES,
            installed="modinfo -F version nvidia",
            tools="nvidia-smi --version",
            reboot=REBOOT,
            services=show_units(*(f"{unit}.service" for unit in expected.units)) if expected.units else "true",
        )


_MODULES = ("nvidia", "nvidia_uvm")
# Source: Azure/azhpc-images and NVIDIA GPUDirect RDMA documentation, read 2026-11-20.
_INFINIBAND_MODULES = ["ib_core", "ib_uverbs", "mlx5_ib"]
