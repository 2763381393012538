"""bmc.responds: the management controller answers in-band, and passes its own test."""

from __future__ import annotations

from collections.abc import Mapping

from ....facts.management.ipmi_controller import parse_mc_info
from ....facts.unreadable import Unreadable
from ...model.check import Judgement, Method, Severity, failed, worst
from ...model.probe_sections import ProbeSections
from ...probes.ipmi import CONTROLLER, SELF_TEST
from ._controller import ControllerCheck, Expected

_PASSED = ("Selftest: passed", "Selftest: not implemented")


class ControllerResponds(ControllerCheck):
    id, version, method = "bmc.responds", 1, Method.TEST
    title = "the management controller answers, and passes its own test"
    controls = ("ma-4", "si-6")
    severity = Severity.MEDIUM
    remedy = "load `ipmi_devintf`, and install ipmitool; otherwise restart the controller with `ipmitool mc reset cold`"

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the description of the controller, and the result of its test."""
        return {"controller": CONTROLLER, "self_test": SELF_TEST}

    def judge_board(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Fail during an update of the controller, or after a failed test."""
        found = parse_mc_info(sections.text("controller"))
        result = sections.text("self_test").strip()
        if not result.startswith("Selftest: "):
            raise Unreadable("the result of a test", result, where="ipmitool mc selftest")
        findings = [] if found.is_available else [failed("an available controller", "an update of its firmware")]
        if not result.startswith(_PASSED):
            findings.append(failed("a passed test of the controller", " ".join(result.split())))
        return worst(findings, otherwise=f"expected an answer, got firmware {found.firmware} of {found.manufacturer}")
