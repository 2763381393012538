"""bmc.power-redundant: every power supply works, and the planned number is present.

Source of the states: IPMI 2.0 revision 1.1, table 42-3, sensor type 08h, in the words of ipmitool 1.8.19.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....facts.management.ipmi_sensors import parse_sensors
from ....spec import Node
from ...model.check import Expectation, Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.check_context import CheckContext
from ...model.figures import integer_of
from ...model.probe_sections import ProbeSections
from ...probes.ipmi import SUPPLIES
from ...probes.own_board import OwnBoardCheck
from ._redundancy import FULL, redundancy_findings

_PRESENT = "Presence detected"
_FAILED = ("Failure detected", "AC lost", "out-of-range", "Config Error", "Configuration error")
_WARNED = ("Predictive failure",)
_SUPPLY = "10."
"""Entity ID of a power supply (IPMI 2.0, table 43-13)."""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Power supplies of the platform.

    Args:
        count: from site.yaml or the catalogue; None if neither states it: two are required.
    """

    count: int | None


class PowerRedundant(OwnBoardCheck[Expected]):
    id, version, method = "bmc.power-redundant", 1, Method.TEST
    title = "every power supply works"
    controls = ("cp-8", "pe-11", "si-13")
    severity = Severity.MEDIUM
    remedy = "check the feed and the cord of the power supply, then replace it"

    def expected(self, site: CheckContext, node: Node) -> Expected:
        """Return the number of site.yaml, or else of the platform."""
        planned = site.context.group(node).hardware.power_supplies
        return Expected(count=planned or integer_of(site.context.platform(node).power_supplies))

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the sensors of power supplies."""
        return {"supplies": SUPPLIES}

    def judge_board(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Fail for a missing or failed supply and for lost redundancy."""
        sensors = [each for each in parse_sensors(sections.text("supplies")) if each.has_reading]
        supplies = [each for each in sensors if each.entity.startswith(_SUPPLY) and each.value is None]
        present = {each.entity for each in supplies if _PRESENT in each.text}
        findings = list(redundancy_findings(sensors))
        states = [each for each in supplies if _PRESENT in each.text or any(word in each.text for word in _FAILED)]
        for each in states:
            if any(word in each.text for word in _FAILED):
                findings.append(failed(f"{each.name} without a failure", each.text))
            elif any(word in each.text for word in _WARNED):
                findings.append(warned(f"{each.name} without a warning", each.text))
        if not present:
            findings.append(unknown("the state of power supplies", "none"))
        elif len(present) < (expected.count or _LEAST):
            findings.append(failed(f"{expected.count or _LEAST} power supplies", str(len(present))))
        redundant = any(FULL in each.text for each in sensors)
        words = "fully redundant" if redundant else "no statement about redundancy"
        return worst(findings, otherwise=f"expected working power supplies, got {len(present)}, {words}")


_LEAST = 2
