"""driver.gsp-firmware-equal: the firmware of the system processor of every GPU has the version of the driver."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...probes.gpu_report import count_findings, gpu_report
from ._driver_check import DriverCheck, Expected


class GspFirmwareEqual(DriverCheck):
    id, version, method = "driver.gsp-firmware-equal", 1, Method.TEST
    title = "the GSP firmware of every GPU has the version of the driver"
    controls = ("cm-2", "si-7")
    severity = Severity.HIGH
    remedy = "reboot the node; if the versions still differ, reinstall the driver's firmware package"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail for another version; UNKNOWN for N/A, which the driver prints if the firmware is not in use."""
        report = gpu_report(output)
        findings = list(count_findings(report, expected.gpu_count))
        for gpu in report.gpus:
            version = gpu.settings.gsp_firmware
            if version is None or version == "N/A":
                findings.append(unknown(f"the GSP firmware version of GPU {gpu.index}", version or "none"))
            elif version != report.driver_version:
                findings.append(failed(f"GSP firmware {report.driver_version} on GPU {gpu.index}", version))
        return worst(
            findings, otherwise=f"expected GSP firmware {report.driver_version}, got it on {len(report.gpus)} GPUs"
        )
