"""driver.dcgm-host-engine: the host engine of DCGM answers, and knows every GPU."""

from __future__ import annotations

import re

from ....facts.numbers import integer
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._driver_check import DriverCheck, Expected

_FOUND = re.compile(r"^(\d+) GPUs? found", re.MULTILINE)
_UUID = re.compile(r"Device UUID: (GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")
_NO_ENGINE = "Unable to connect to host engine"


class DcgmHostEngine(DriverCheck):
    id, version, method = "driver.dcgm-host-engine", 1, Method.TEST
    title = "DCGM's host engine answers and knows every GPU"
    controls = ("si-4",)
    severity = Severity.MEDIUM
    remedy = "restart nvidia-dcgm; a GPU that is absent from its list was lost after its start"

    def probe(self, expected: Expected) -> Probe:
        """Print the GPUs of the host engine."""
        return Probe.of(discovery="dcgmi discovery -l")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if it lists the platform's number of GPUs."""
        section = parse_sections(output).section("discovery")
        if section.exit_code != 0 and _NO_ENGINE in section.text:
            return failed("DCGM's host engine to answer", "no connection")
        text = parse_sections(output).text("discovery")
        match, uuids = _FOUND.search(text), set(_UUID.findall(text))
        if match is None:
            return unknown("`N GPUs found`", "no such line")
        if expected.gpu_count is None:
            return unknown("the platform's GPU count", "none in the catalogue")
        findings = []
        if integer(match[1]) != expected.gpu_count:
            findings.append(failed(f"{expected.gpu_count} GPUs in DCGM", match[1]))
        elif len(uuids) != expected.gpu_count:
            findings.append(unknown(f"{expected.gpu_count} UUIDs in DCGM's list", str(len(uuids))))
        return worst(findings, otherwise=f"expected {expected.gpu_count} GPUs in DCGM, got {match[1]}")
