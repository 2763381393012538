"""memory.no-uncorrectable-errors: the memory controllers have counted no uncorrectable error since the start."""

from __future__ import annotations

from ....facts.host.memory import parse_memory_errors
from ...model.check import Judgement, Method, Severity, failed, worst
from ...model.probe_sections import ProbeSections
from ._memory_errors import Expected, MemoryErrorsCheck


class NoUncorrectableErrors(MemoryErrorsCheck):
    id, version, method = "memory.no-uncorrectable-errors", 1, Method.TEST
    title = "the main memory has no uncorrectable errors"
    controls = ("si-13", "si-16")
    severity = Severity.CRITICAL
    remedy = "drain the node, find the module with `ras-mc-ctl --errors` or the BMC, and replace it"

    def judge_counters(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Fail if a controller counts an uncorrectable error. A kernel without EDAC is UNKNOWN."""
        controllers = parse_memory_errors(sections.text("errors"))
        findings = [
            failed(f"no uncorrectable error of {each.controller}", str(each.uncorrected))
            for each in controllers
            if each.uncorrected
        ]
        return worst(findings, otherwise=f"expected no uncorrectable error, got none of {len(controllers)} controllers")
