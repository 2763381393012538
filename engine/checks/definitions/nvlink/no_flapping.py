"""nvlink.no-flapping: no NVLink is retrained repeatedly.

A link that fails and recovers counts a recovery: `Recovery Errors` of NVLink 4, link recovery events of NVLink 5. Their
rate since an earlier run, or since the boot, tells a flapping link from one that recovered once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....facts.counters import CounterReading
from ....facts.hardware.nvlink import parse_nvlink_errors
from ....spec import Node
from ...model.check import Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.check_context import CheckContext
from ...model.counter_check import BOOT, DAY_S, CounterCheck, growth_of, reading_of
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._links import Expected, NvlinkCheck

_RECOVERIES = ("Recovery Errors", "Total link recovery events")
"""Counter of NVLink 4, and of NVLink 5 (captured on 8 x B300, driver 595)."""
_MOST_A_DAY = "nvlink.no-flapping.recoveries-a-day"


class NoFlapping(NvlinkCheck, CounterCheck[Expected]):
    id, version, method = "nvlink.no-flapping", 1, Method.TEST
    title = "no NVLink is retrained repeatedly"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = "drain the node and reset the GPU; if the link recovers again, inspect GPU and NVSwitch board"
    window_s = DAY_S

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with NVLink."""
        earlier = site.readings.get((node.name, self.id))
        yield from (replace(each, earlier=earlier) for each in super().expect(site, node))

    def probe(self, expected: Expected) -> Probe:
        """Print the error counters of all links, and the time since the boot."""
        return Probe.of(errors="nvidia-smi nvlink -e", boot=BOOT)

    def reading(self, output: ProbeOutput, expected: Expected) -> CounterReading:
        """Return the recoveries by link."""
        sections = parse_sections(output)
        found = {
            f"GPU {each.gpu} link {each.link}": each.value
            for each in parse_nvlink_errors(sections.text("errors"))
            if each.name in _RECOVERIES
        }
        return reading_of(sections, {name: value for name, value in found.items() if value is not None})

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail above the limit a day of one link, warn about any recovery; UNKNOWN if a link reports none."""
        most_a_day = expected.limit_of(_MOST_A_DAY)
        now = self.reading(output, expected)
        if expected.gpu_count is None or expected.links_per_gpu is None:
            return unknown("the platform's NVLinks", "none in the catalogue")
        links = expected.gpu_count * expected.links_per_gpu
        findings = [] if len(now.values) == links else [unknown(f"recoveries of {links} links", str(len(now.values)))]
        for name in now.values:
            growth = growth_of(name, now, expected)
            if growth.per(DAY_S) > most_a_day:
                wanted = f"at most {most_a_day} recoveries a day of {name} since {growth.since}"
                findings.append(failed(wanted, f"{growth.per(DAY_S):.0f}"))
            elif growth.count:
                findings.append(warned(f"no recovery of {name} since {growth.since}", str(growth.count)))
        return worst(findings, otherwise=f"expected no link recovery, got none on {links} links")
