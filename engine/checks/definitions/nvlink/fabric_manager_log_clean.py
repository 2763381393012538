"""nvlink.fabric-manager-log-clean: fabric manager has logged no error since its start."""

from __future__ import annotations

from collections.abc import Iterator

from ....catalog.platforms import PlatformComponent
from ....facts.hardware.fabric_manager_log import WHERE, parse_fabric_manager_log
from ....spec import Node
from ...model.check import Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._links import Expected, NvlinkCheck

_LONGEST = 100


class FabricManagerLogClean(NvlinkCheck):
    id, version, method = "nvlink.fabric-manager-log-clean", 1, Method.EXAMINE
    title = "fabric manager has logged no error since its start"
    controls = ("si-13", "si-4")
    severity = Severity.MEDIUM
    remedy = "read /var/log/fabricmanager.log; reset the GPUs of the node after an NVSwitch or NVLink error"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes that run fabric manager."""
        if PlatformComponent.NVSWITCH in site.context.platform(node).parts:
            yield from super().expect(site, node)

    def probe(self, expected: Expected) -> Probe:
        """Print the log."""
        return Probe.of(manager_log=f"cat {WHERE}")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail for an error, warn for a non-fatal one; UNKNOWN if the log does not contain the start."""
        log = parse_fabric_manager_log(parse_sections(output).text("manager_log"))
        findings = [] if log.version else [unknown("the start of fabric manager in its log", "none; the log was cut")]
        for message in log.messages:
            if message.level in ("ERROR", "CRITICAL"):
                kind = warned if "non-fatal" in message.text.lower() else failed
                findings.append(kind(f"no {message.level} of fabric manager", f"{message.text[:_LONGEST]!r}"))
        return worst(
            findings, otherwise=f"expected no error since the start, got {len(log.messages)} messages without one"
        )
