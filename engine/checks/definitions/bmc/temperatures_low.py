"""bmc.temperatures-low: the management controller measures no temperature beyond its thresholds."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.management.ipmi_sensors import Sensor
from ...model.check import Judgement, Method, Severity
from ...probes.ipmi import TEMPERATURES
from ._sensors import SensorCheck


class TemperaturesLow(SensorCheck):
    id, version, method = "bmc.temperatures-low", 1, Method.TEST
    title = "all temperatures within their thresholds"
    controls = ("pe-14", "si-13")
    severity = Severity.HIGH
    remedy = "check the inlet temperature, the fans and blanking panels; drain the node until it has cooled down"
    command, parts = TEMPERATURES, "temperatures"

    def more(self, sensors: list[Sensor]) -> Iterator[Judgement]:
        """Yield nothing more."""
        return iter(())
