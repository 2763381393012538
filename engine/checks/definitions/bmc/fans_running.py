"""bmc.fans-running: every fan of the node runs, and none is missing from a redundant group."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.management.ipmi_sensors import Sensor
from ...model.check import Judgement, Method, Severity, failed
from ...probes.ipmi import FANS
from ._redundancy import redundancy_findings
from ._sensors import SensorCheck


class FansRunning(SensorCheck):
    id, version, method = "bmc.fans-running", 1, Method.TEST
    title = "every fan running"
    controls = ("pe-14", "si-13")
    severity = Severity.HIGH
    remedy = "replace the fan; `ipmitool sdr type Fan` shows its name"
    command, parts = FANS, "fans"

    def more(self, sensors: list[Sensor]) -> Iterator[Judgement]:
        """Fail for a fan that does not turn, or that the controller reports as failed."""
        for each in sensors:
            if each.value == 0:
                yield failed(f"{each.name} to turn", each.text)
            elif "fail" in each.text.lower():
                yield failed(f"{each.name} without a failure", each.text)
        yield from redundancy_findings(sensors)
