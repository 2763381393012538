"""fabric.subnet-manager-and-standby: one master subnet manager answers, and the required standby exists."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.fabric.subnet_manager import ManagerState, parse_manager_records, parse_sminfo
from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._fabric_check import Expected


class SubnetManagerAndStandby(Check[Expected]):
    id, version, method = "fabric.subnet-manager-and-standby", 1, Method.TEST
    title = "the fabric has one master subnet manager, and a standby"
    controls = ("cp-2.2", "si-13")
    severity = Severity.HIGH
    remedy = "start the subnet manager; without one, ports that restart stay in INIT"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this once, on the node that can query the fabric."""
        fabric = site.context.spec.fabric
        if fabric is not None and fabric.probe_node == node.name:
            yield Expected(needs_standby=fabric.standby_subnet_manager)

    def probe(self, expected: Expected) -> Probe:
        """Query the master directly, then its list of all subnet managers."""
        return Probe.of(manager="timeout 20 sminfo", records="timeout 20 saquery SMIR")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail if the master's own state is another one, or the standby is missing. No answer is UNKNOWN."""
        sections = parse_sections(output)
        answered = parse_sminfo(sections.text("manager"))
        managers = parse_manager_records(sections.text("records"))
        masters = [each for each in managers if each.state is ManagerState.MASTER]
        standbys = [each for each in managers if each.state is ManagerState.STANDBY]
        findings = []
        if answered.state is not ManagerState.MASTER:
            findings.append(failed("a master subnet manager", f"LID {answered.lid} in state {answered.state.name}"))
        if [each.guid for each in masters] != [answered.guid]:
            got = ", ".join(f"0x{each.guid}" for each in masters) or "none"
            findings.append(failed(f"one master, 0x{answered.guid}", got))
        if expected.needs_standby and not standbys:
            findings.append(failed("a standby subnet manager", f"none of {len(managers)}"))
        return worst(
            findings, otherwise=f"expected one master, got LID {answered.lid} and {len(standbys)} standby managers"
        )
