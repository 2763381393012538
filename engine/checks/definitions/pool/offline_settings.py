"""pool.offline-settings: the server's environment disables outbound requests, and enables no development endpoint."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import show_units
from ._process import unit_failure
from ._replicas import Expected, replicas_on

REQUIRED_VARIABLES = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
FORBIDDEN_VARIABLES = frozenset(
    {
        "VLLM_SERVER_DEV_MODE",  # serves /sleep, /collective_rpc and /reset_* without the API key
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING",  # lets a client load weights
    }
)


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
        names = "|".join(sorted({*REQUIRED_VARIABLES, *FORBIDDEN_VARIABLES}))
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
