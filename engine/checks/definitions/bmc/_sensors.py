"""Judges the sensors of one type by the comparison of the management controller with its thresholds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar

from ....facts.management.ipmi_sensors import Sensor, SensorStatus, parse_sensors
from ...model.check import Judgement, failed, unknown, warned, worst
from ...model.probe_sections import ProbeSections
from ._controller import ControllerCheck, Expected

_STATES = ("limit exceeded", "to critical", "to non-recoverable")
"""Bad states of sensors without thresholds, generic event types 05h and 07h (IPMI 2.0, table 42-2)."""
_BAD = {SensorStatus.CRITICAL: failed, SensorStatus.NON_RECOVERABLE: failed, SensorStatus.NON_CRITICAL: warned}


class SensorCheck(ControllerCheck):
    """A subclass names the command and the parts, and can add findings."""

    command: ClassVar[str]
    parts: ClassVar[str]
    """Parts in the reason, and name of the section, such as "fans"."""

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the sensors of the type."""
        return {self.parts: self.command}

    def judge_board(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Fail for a critical status, warn for a non-critical one; UNKNOWN without a sensor that has a reading."""
        sensors = parse_sensors(sections.text(self.parts))
        measured = [each for each in sensors if each.has_reading]
        findings = [] if measured else [unknown(f"readings of {self.parts}", f"none of {len(sensors)} sensors")]
        for each in measured:
            if each.status is SensorStatus.UNSPECIFIED:
                findings.append(unknown(f"a status of {each.name}", "unspecified"))
            elif report := _BAD.get(each.status):
                findings.append(report(f"{each.name} within its thresholds", each.text))
            elif any(word in each.text.lower() for word in _STATES):
                findings.append(failed(f"a good state of {each.name}", each.text))
        findings += self.more(measured)
        return worst(findings, otherwise=f"expected {self.title}, got {len(measured)} sensors")

    @abstractmethod
    def more(self, sensors: list[Sensor]) -> Iterator[Judgement]:
        """Yield further findings about sensors with a reading."""
