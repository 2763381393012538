"""pool.offline-settings: the server's environment disables outbound requests, and enables no development endpoint."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from ....catalog.engines import ENGINES
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import show_units
from ._process import unit_failure
from ._replicas import Expected, replicas_on


class OfflineSettings(Check[Expected]):
    id, version, method = "pool.offline-settings", 1, Method.EXAMINE
    title = "the server's environment disables outbound requests and development endpoints"
    controls = ("ac-4", "cm-6", "cm-7")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`, which restart the server with the planned variables"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every replica with a rank on the node."""
        return replicas_on(site, node)

    def probe(self, expected: Expected) -> Probe:
        """Print the unit, and the relevant variables of its process."""
        pid = f'pid=$(systemctl show -p MainPID --value {shlex.quote(expected.unit)}); [ "$pid" -gt 0 ] || exit 3'
        engine = ENGINES[expected.engine_name]
        names = "|".join(sorted({*engine.variables, *engine.forbidden_variables}))
        show = "tr '\\0' '\\n' < /proc/$pid/environ"
        return Probe.of(
            unit=show_units(expected.unit),
            environment=f"{pid}; echo variables $({show} | wc -l); {show} | grep -E '^({names})=' || true",
        )

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the running process has the required variables and none of the forbidden ones."""
        sections = parse_sections(output)
        if failure := unit_failure(sections, expected.unit):
            return failure
        count, *lines = sections.text("environment").splitlines() or [""]
        if not re.fullmatch(r"variables \d+", count) or count == "variables 0":
            raise Unreadable("`variables N`", count, where="/proc/PID/environ")
        values = dict(line.split("=", 1) for line in lines if "=" in line)
        engine = ENGINES[expected.engine_name]
        findings = [
            failed(f"{name}={wanted}", values.get(name, "not set"))
            for name, wanted in engine.variables.items()
            if values.get(name) != wanted
        ]
        findings += [
            failed(f"{name} not set", "set")
            for name in sorted(engine.forbidden_variables - expected.environment.keys())
            if values.get(name) not in (None, "0")
        ]
        return worst(findings, otherwise=f"expected {', '.join(engine.variables)} and no development mode, got both")
