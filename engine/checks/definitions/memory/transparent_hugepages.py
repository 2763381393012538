"""memory.transparent-hugepages: the running kernel has the planned mode of transparent huge pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.unreadable import Unreadable
from ....resources.host.kernel import settings_on
from ....spec import Node
from ...model.check import Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck

_SETTING = "transparent-hugepages"
_MODES = re.compile(r"\[(always|madvise|never)\]")


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Mode from the table of GPU server settings (docs/host.md)."""

    mode: str


class TransparentHugepages(OwnKernelCheck[Expected]):
    id, version, method = "memory.transparent-hugepages", 1, Method.EXAMINE
    title = "the kernel has the planned mode of transparent huge pages"
    controls = ("cm-6",)
    severity = Severity.LOW
    remedy = "run `sovctl plan` and `sovctl apply`, which set the boot option; a service may change the mode later"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every GPU server, unless site.yaml omits the setting."""
        for each in settings_on(site.context, node):
            if each.id == _SETTING:
                yield Expected(mode=each.value.partition("=")[2])

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the modes; the current one is in brackets."""
        return {"modes": "cat /sys/kernel/mm/transparent_hugepage/enabled"}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Pass if the current mode is the planned one."""
        modes = _MODES.findall(sections.text("modes"))
        if len(modes) != 1:
            raise Unreadable("one mode in brackets", sections.text("modes"), where="transparent_hugepage")
        findings = [] if modes[0] == expected.mode else [failed(f"mode {expected.mode}", modes[0])]
        return worst(findings, otherwise=f"expected mode {expected.mode}, got {modes[0]}")
