"""monitoring.targets-up: Prometheus reads every target of site.yaml, Alertmanager, and itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.unreadable import MALFORMED, Unreadable, excerpt
from ....resources.monitoring.scrape import targets_of
from ....resources.monitoring.services import gpu_nodes
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._answers import command, parse_rows


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From site.yaml.

    Args:
        targets: job and address of each, such as `("sovctl-nodes", "10.77.0.11:9100")`.
    """

    targets: tuple[tuple[str, str], ...]


class TargetsUp(Check[Expected]):
    id, version, method = "monitoring.targets-up", 1, Method.TEST
    title = "Prometheus reads every target of the site, and Alertmanager"
    controls = ("au-5", "si-4")
    severity = Severity.HIGH
    remedy = (
        "read `journalctl` of the unit that does not answer; `sovctl plan` shows a stopped unit and a changed firewall"
    )

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of the node of `monitoring.server`."""
        server = site.context.monitoring_server
        if server is not None and site.context.is_monitoring_server(node):
            yield Expected(
                targets=targets_of(site.context.spec, server, site.context.replicas, gpu_nodes(site.context))
            )

    def probe(self, expected: Expected) -> Probe:
        """Print the active targets."""
        return Probe({"targets": command("targets")}, timeout_s=60)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every target is up, and no other target is read."""
        text = parse_sections(output).text("targets")
        try:
            found = {
                (str(row["job"]), str(row["address"])): (str(row["health"]), str(row["error"]))
                for row in parse_rows(text)
            }
        except MALFORMED:
            raise Unreadable("job, address, health and error of a target", text, where="prometheus_client") from None
        findings: list[Judgement] = []
        for target in expected.targets:
            name = " ".join(target)
            if target not in found:
                findings.append(failed(f"target {name}", "no such target"))
            elif found[target][0] == "unknown":
                findings.append(unknown(f"a scrape of {name}", "none since the start of Prometheus"))
            elif found[target][0] != "up":
                findings.append(failed(f"target {name} up", excerpt(found[target][1]) or found[target][0]))
        others = sorted(found.keys() - set(expected.targets))
        findings += [failed("only targets of site.yaml", " ".join(target)) for target in others]
        return worst(findings, otherwise=f"expected {len(expected.targets)} targets, got all of them up")
