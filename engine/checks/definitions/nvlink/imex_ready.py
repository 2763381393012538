"""nvlink.imex-ready: every tray of the NVLink domain is ready to share GPU memory, with one version of IMEX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....catalog.platforms import PlatformComponent
from ....facts.hardware.imex import parse_imex
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """A tray of a domain that shares GPU memory."""


class ImexReady(Check[Expected]):
    id, version, method = "nvlink.imex-ready", 1, Method.TEST
    title = "all trays of the NVLink domain are ready to share GPU memory"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = "read `journalctl -u nvidia-imex` on the tray in the reason; compare nodes_config.cfg on all trays"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Trays that run IMEX."""
        if PlatformComponent.IMEX in site.context.platform(node).parts:
            yield Expected()

    def probe(self, expected: Expected) -> Probe:
        """Print the domain's nodes and its state."""
        return Probe.of(imex="nvidia-imex-ctl -N")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the domain is UP, every node READY, and all versions equal."""
        domain = parse_imex(parse_sections(output).text("imex"))
        findings = [
            failed(f"node {node.index} of the domain READY", node.state)
            for node in domain.nodes
            if node.state != "READY"
        ]
        if domain.state != "UP":
            findings.append(failed("the domain UP", domain.state))
        versions = sorted({node.version for node in domain.nodes})
        if len(versions) > 1:
            findings.append(failed("one version of IMEX in the domain", ", ".join(versions)))
        return worst(findings, otherwise=f"expected the domain UP, got {len(domain.nodes)} nodes READY")
