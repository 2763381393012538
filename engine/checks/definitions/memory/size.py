"""memory.size: the node has the planned memory, and the kernel uses all of it.

Two views: the modules in the tables of SMBIOS, and the memory of the kernel, which reserves a part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ....facts.management.dmidecode import memory_modules, parse_dmidecode
from ....facts.numbers import integer
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Expectation, Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.check_context import CheckContext
from ...model.figures import integer_of
from ...model.probe_sections import ProbeSections
from ...probes.own_board import SIMULATED, OwnBoardCheck

_LEAST_PERCENT = "memory.size.least"
_TOTAL = re.compile(r"^MemTotal: +(\d+) kB$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Planned memory from site.yaml or the catalogue; None if neither states it."""

    memory_gib: int | None


class MemorySize(OwnBoardCheck[Expected]):
    id, version, method = "memory.size", 1, Method.EXAMINE
    title = "the node has the planned memory"
    controls = ("cm-8", "si-13")
    severity = Severity.MEDIUM
    remedy = "reseat or replace the module; `dmidecode -t memory` and the event log of the BMC show its socket"

    def expected(self, site: CheckContext, node: Node) -> Expected:
        """Return the memory of site.yaml, or else of the platform."""
        planned = site.context.group(node).hardware.memory_gib
        return Expected(memory_gib=planned or integer_of(site.context.platform(node).memory_gib))

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the memory sockets, and the memory of the kernel."""
        return {"sockets": "dmidecode -t memory", "kernel": "cat /proc/meminfo"}

    def judge_board(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Fail below the plan, and if the kernel has less than the modules; warn about unequal modules."""
        least_percent = expected.limit_of(_LEAST_PERCENT)
        modules = memory_modules(parse_dmidecode(sections.text("sockets")))
        total = _TOTAL.search(sections.text("kernel"))
        if total is None:
            raise Unreadable("MemTotal", sections.text("kernel"), where="/proc/meminfo")
        findings = [unknown(f"the size of {each.locator}", "none") for each in modules if each.size_bytes is None]
        used = [each for each in modules if each.size_bytes]
        gib = sum(each.size_bytes or 0 for each in used) >> 30
        if expected.memory_gib is not None and gib < expected.memory_gib:
            empty = [each.locator for each in modules if each.size_bytes == 0][:_MOST_SHOWN]
            found = f"{gib} GiB in {len(used)} modules" + (f"; empty: {', '.join(empty)}" if empty else "")
            findings.append(failed(f"{expected.memory_gib} GiB", found))
        # The kernel of a simulated node is that of the machine of the lab.
        kernel_gib = integer(total[1]) >> 20
        if sections.text("machine").strip() != SIMULATED and kernel_gib * 100 < gib * least_percent:
            findings.append(failed(f"{least_percent} % of {gib} GiB in use by the kernel", f"{kernel_gib} GiB"))
        if len({(each.size_bytes, each.speed_mt_s) for each in used}) > 1:
            findings.append(warned("modules of one size and speed", f"several among {len(used)}"))
        if not used:
            findings.append(unknown("modules", "none"))
        return worst(findings, otherwise=f"expected {expected.memory_gib or 'known'} GiB, got {gib}")


_MOST_SHOWN = 4
