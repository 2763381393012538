"""memory.swap-off: the node uses no swap, because swapped memory contains prompts and keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.host.storage import parse_swaps
from ....spec import Node
from ...model.check import Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From `host.swap` of site.yaml."""


class SwapOff(OwnKernelCheck[Expected]):
    id, version, method = "memory.swap-off", 1, Method.EXAMINE
    title = "the node uses no swap"
    controls = ("sc-28", "sc-4")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`, which switch swap off now and at the start"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node, unless `host.swap` is `keep`."""
        if site.context.spec.host.swap == "off":
            yield Expected()

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the swap devices in use."""
        return {"swaps": "cat /proc/swaps"}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Pass if no device or file is in use."""
        findings = [failed("no swap", each) for each in parse_swaps(sections.text("swaps"))]
        return worst(findings, otherwise="expected no swap, got none")
