"""pool.offline-settings: the server's environment disables outbound requests, and enables no development endpoint."""

from __future__ import annotations

import re

from ....facts.unreadable import Unreadable
from ...model.check import Judgement, Method, ProbeOutput, failed, worst
from ...model.probe_sections import parse_sections
from ._process import FORBIDDEN_VARIABLES, REQUIRED_VARIABLES, PoolProcessCheck, unit_failure
from ._replicas import Expected


class OfflineSettings(PoolProcessCheck):
    id, version, method = "pool.offline-settings", 1, Method.EXAMINE
    title = "the server's environment disables outbound requests and development endpoints"
    controls = ("ac-4", "cm-6", "cm-7")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the running process has the required variables and none of the forbidden ones."""
        sections = parse_sections(output)
        if failure := unit_failure(sections, expected.unit):
            return failure
        count, *lines = sections.text("environment").splitlines() or [""]
        if not re.fullmatch(r"variables \d+", count) or count == "variables 0":
            raise Unreadable("`variables N`", count, where="/proc/PID/environ")
        values = dict(line.split("=", 1) for line in lines if "=" in line)
        findings = [
            failed(f"{name}={wanted}", values.get(name, "not set"))
            for name, wanted in REQUIRED_VARIABLES.items()
            if values.get(name) != wanted
        ]
        findings += [
            failed(f"{name} not set", "set")
            for name in sorted(FORBIDDEN_VARIABLES)
            if values.get(name) not in (None, "0")
        ]
        return worst(findings, otherwise=f"expected {', '.join(REQUIRED_VARIABLES)} and no development mode, got both")
