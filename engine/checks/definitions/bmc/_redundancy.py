"""Judges the redundancy that sensors of groups of power supplies and fans report.

Source of the states: IPMI 2.0 revision 1.1, table 42-2, generic event type 0Bh, in the words of ipmitool 1.8.19.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....facts.management.ipmi_sensors import Sensor
from ...model.check import Judgement, failed

FULL = "Fully Redundant"
_LOST = ("Redundancy Lost", "Redundancy Degraded", "Non-Redundant")


def redundancy_findings(sensors: Sequence[Sensor]) -> Iterator[Judgement]:
    """Yield FAIL for each group whose redundancy is lost or reduced."""
    for each in sensors:
        if any(word in each.text for word in _LOST):
            yield failed(f"{each.name} fully redundant", each.text)
