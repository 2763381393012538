"""cpu.governor: the governor of every CPU of a GPU server is the planned one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....catalog.host_settings import SetBy
from ....facts.numbers import integer
from ....facts.unreadable import Unreadable
from ....resources.host.kernel import settings_on
from ....spec import Node
from ...model.check import Expectation, Judgement, Method, Severity, failed, not_applicable, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck

_SCRIPT = """for f in /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor; do
  [ -e "$f" ] && cat "$f"
done | sort | uniq -c
ls -d /sys/devices/system/cpu/cpu[0-9]* | wc -l"""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From the table of GPU server settings (docs/host.md)."""

    governor: str


class Governor(OwnKernelCheck[Expected]):
    id, version, method = "cpu.governor", 1, Method.EXAMINE
    title = "the CPUs run with the planned governor"
    controls = ("cm-6",)
    severity = Severity.MEDIUM
    remedy = "run `sovctl plan` and `sovctl apply`, which set the governor at each start"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every GPU server, unless site.yaml omits the setting."""
        for each in settings_on(site.context, node):
            if each.set_by is SetBy.GOVERNOR:
                yield Expected(governor=each.value)

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the number of CPUs by governor, then the number of CPUs."""
        return {"governors": _SCRIPT}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Pass if all CPUs have the governor. A processor without frequency control runs at its own frequency."""
        *rows, count = [line.split() for line in sections.text("governors").strip().splitlines()] or [[]]
        if len(count) != 1 or not count[0].isdecimal() or any(len(row) != 2 or not row[0].isdecimal() for row in rows):
            raise Unreadable("CPUs by governor, then their number", sections.text("governors"), where="cpufreq")
        if not rows and count[0] == "0":
            raise Unreadable("at least one CPU", "0", where="cpufreq")
        if not rows:
            return not_applicable("frequency control of the CPUs", f"none of {count[0]} CPUs with it")
        findings = [
            failed(f"governor {expected.governor}", f"{name} on {number} CPUs")
            for number, name in rows
            if name != expected.governor
        ]
        if (total := sum(integer(row[0]) for row in rows)) != integer(count[0]):
            findings.append(unknown(f"the governor of {count[0]} CPUs", str(total)))
        return worst(findings, otherwise=f"expected governor {expected.governor}, got it on {count[0]} CPUs")
