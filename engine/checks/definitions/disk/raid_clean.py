"""disk.raid-clean: every software RAID has all its members."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.host.storage import parse_mdstat
from ....facts.numbers import integer
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Expectation, Judgement, Method, Severity, failed, not_applicable, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck

_END = re.compile(r"^unused devices: (?:<none>|\w[\w ]*)\s*$", re.MULTILINE)
"""Last line of /proc/mdstat."""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every node."""


class RaidClean(OwnKernelCheck[Expected]):
    id, version, method = "disk.raid-clean", 1, Method.EXAMINE
    title = "every software RAID has all its members"
    controls = ("cp-9", "si-13")
    severity = Severity.HIGH
    remedy = "replace the failed disk and add it with `mdadm --add`; `cat /proc/mdstat` shows the rebuild"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected()

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the arrays of the kernel, and their number from sysfs."""
        arrays = "if [ -e /proc/mdstat ]; then cat /proc/mdstat; else echo absent; fi"
        return {"arrays": arrays, "count": "ls -d /sys/block/md*/md 2>/dev/null | wc -l"}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Fail for a missing or failed member. A kernel without arrays is N/A."""
        text, count = sections.text("arrays"), sections.text("count").strip()
        if not count.isdecimal():
            raise Unreadable("a number of arrays", count, where="/sys/block")
        is_absent = text.strip() == "absent"
        arrays = {} if is_absent else parse_mdstat(text)
        if len(arrays) != integer(count):
            return unknown(f"{count} arrays as in sysfs", str(len(arrays)))
        if not is_absent and not _END.search(text):
            raise Unreadable("a line `unused devices`", text, where="/proc/mdstat")
        if not arrays:
            return not_applicable("a software RAID", "none")
        findings = [failed(f"all members of {name}", fault) for name, each in arrays.items() for fault in each.faults]
        return worst(findings, otherwise=f"expected all members, got them in {len(arrays)} arrays")
