"""memory.correctable-rate: the memory controllers correct fewer errors a day than a defective module causes."""

from __future__ import annotations

from ....facts.host.memory import parse_memory_errors
from ....facts.unreadable import Unreadable
from ...model.check import Judgement, Method, Severity, warned, worst
from ...model.probe_sections import ProbeSections
from ._memory_errors import MemoryErrorsCheck

_MAX_PER_DAY = 24  # per controller; mcelog's default is 10 a day a page (guess for a controller, 2026-11-28)
_GRACE_S = 3600  # after a start the rate of a few errors is not meaningful (guess, 2026-11-28)


class CorrectableRate(MemoryErrorsCheck):
    id, version, method = "memory.correctable-rate", 1, Method.TEST
    title = "the main memory corrects few errors"
    controls = ("si-13",)
    severity = Severity.MEDIUM
    remedy = "find the module with `ras-mc-ctl --errors` or the BMC, and plan its replacement"

    def judge_counters(self, sections: ProbeSections) -> Judgement:
        """Warn above 24 corrected errors a day of one controller, averaged since the start."""
        controllers = parse_memory_errors(sections.text("errors"))
        words = sections.text("uptime").split()
        try:
            uptime_s, _idle_s = map(float, words)
            days = max(uptime_s, _GRACE_S) / 86400
        except ValueError:
            raise Unreadable("seconds since the start", " ".join(words), where="/proc/uptime") from None
        findings = [
            warned(
                f"at most {_MAX_PER_DAY} corrected errors a day of {each.controller}", f"{each.corrected / days:.0f}"
            )
            for each in controllers
            if each.corrected / days > _MAX_PER_DAY
        ]
        return worst(findings, otherwise=f"expected few corrected errors, got at most {_MAX_PER_DAY} a day")
