"""Expectation, probe and reading of the checks of bridges between GPUs and network adapters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.hardware.lspci import PciDevice, PciTree, parse_lspci
from ....spec import Node
from ...model.check import Expectation, Judgement, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.figures import integer_of
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck

_GPU = "3D controller"
_ADAPTERS = ("Infiniband controller", "Ethernet controller")
_VENDOR = "Mellanox"


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """GPUs of the platform; None if the number is not in the catalogue."""

    gpu_count: int | None


class PathCheck(OwnKernelCheck[Expected]):
    """A subclass judges the path of one device."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of nodes with GPUs."""
        platform = site.context.platform(node)
        if platform.has_gpus:
            yield Expected(gpu_count=integer_of(platform.checks.gpu_count))

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print all devices with their capabilities, which only root can read."""
        return {"devices": "lspci -vvv"}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Count the GPUs, then judge the path of each GPU and each adapter."""
        tree = parse_lspci(sections.text("devices"))
        gpus = [each for each in tree.devices.values() if each.kind == _GPU]
        adapters = [each for each in tree.devices.values() if each.kind in _ADAPTERS and _VENDOR in each.name]
        findings: list[Judgement] = []
        if expected.gpu_count is None:
            findings.append(unknown("the platform's GPU count", "none in the catalogue"))
        elif len(gpus) != expected.gpu_count:
            findings.append(failed(f"{expected.gpu_count} GPUs on the PCI bus", str(len(gpus))))
        for device in (*gpus, *adapters):
            findings += self.findings(tree, device)
        paths = f"{len(gpus)} GPUs and {len(adapters)} adapters"
        return worst(findings, otherwise=f"expected clear paths, got them to {paths}")

    @abstractmethod
    def findings(self, tree: PciTree, device: PciDevice) -> Iterator[Judgement]:
        """Yield the findings of one device and of the bridges above it."""
