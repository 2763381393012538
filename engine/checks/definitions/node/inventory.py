"""node.inventory: every part of the node states its model, serial number and firmware, each part once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.figures import integer_of
from ...model.probe import Probe, ProbeOutput
from ...probes import inventory
from ...probes.gpu_report import count_findings, gpu_report


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """GPUs of the platform.

    Args:
        gpu_count: None if it is not in the catalogue.
    """

    has_gpus: bool
    gpu_count: int | None


class NodeInventory(Check[Expected]):
    id, version, method = "node.inventory", 1, Method.EXAMINE
    title = "every part of the node states its model, serial number and firmware"
    controls = ("cm-8",)
    severity = Severity.MEDIUM
    remedy = "set the missing value with the vendor's tool, or replace the part with the duplicate serial number"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        platform = site.context.platform(node)
        yield Expected(has_gpus=platform.has_gpus, gpu_count=integer_of(platform.checks.gpu_count))

    def probe(self, expected: Expected) -> Probe:
        """Print the parts below /sys/class, and the driver's report of all GPUs."""
        return Probe(inventory.commands(has_gpus=expected.has_gpus))

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the inventory is complete, and no serial number occurs twice."""
        found = inventory.inventory_of(output, has_gpus=expected.has_gpus)
        findings = list(count_findings(gpu_report(output), expected.gpu_count)) if expected.has_gpus else []
        findings += [unknown(missing, "none") for missing in found.incomplete()]
        serials = Counter((part.kind, part.serial) for part in found.parts if part.serial)
        findings += [
            failed(f"one {kind} with serial {serial}", str(n)) for (kind, serial), n in serials.items() if n > 1
        ]
        return worst(findings, otherwise=f"expected complete parts, got {len(found.parts)}: {found.fingerprint[:12]}")
