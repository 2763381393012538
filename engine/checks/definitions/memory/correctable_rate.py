"""memory.correctable-rate: the memory controllers correct fewer errors a day than a defective module causes."""

from __future__ import annotations

from ....facts.counters import CounterReading
from ....facts.host.memory import parse_memory_errors
from ...model.check import Judgement, Method, Severity, warned, worst
from ...model.counter_check import DAY_S, HOUR_S, CounterCheck, growth_of, reading_of
from ...model.probe import ProbeOutput
from ...model.probe_sections import ProbeSections, parse_sections
from ._memory_errors import Expected, MemoryErrorsCheck

_MOST_A_DAY = "memory.correctable-rate.most-a-day"


class CorrectableRate(MemoryErrorsCheck, CounterCheck[Expected]):
    id, version, method = "memory.correctable-rate", 2, Method.TEST
    title = "the main memory corrects few errors"
    controls = ("si-13",)
    severity = Severity.MEDIUM
    remedy = "find the module with `ras-mc-ctl --errors` or the BMC, and plan its replacement"
    window_s = DAY_S

    def reading(self, output: ProbeOutput, expected: Expected) -> CounterReading:
        """Return the corrected errors by controller."""
        return _reading(parse_sections(output))

    def judge_counters(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Warn above the limit a day of one controller, since an earlier run, or averaged since the boot."""
        most_a_day = expected.limit_of(_MOST_A_DAY)
        now = _reading(sections)
        findings = []
        for controller in now.values:
            growth = growth_of(controller, now, expected)
            # Within an hour of the boot, the rate of a few errors means nothing.
            rate = growth.per(DAY_S, shortest_s=HOUR_S if growth.is_since_boot else DAY_S)
            if rate > most_a_day:
                wanted = f"at most {most_a_day} corrected errors a day of {controller} since {growth.since}"
                findings.append(warned(wanted, f"{rate:.0f}"))
        return worst(findings, otherwise=f"expected few corrected errors, got at most {most_a_day} a day")


def _reading(sections: ProbeSections) -> CounterReading:
    controllers = parse_memory_errors(sections.text("errors"))
    return reading_of(sections, {each.controller: each.corrected for each in controllers})
