"""host.audit-running: the kernel records audit events, and auditd receives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.numbers import integer
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Expectation, Judgement, Method, Severity, failed, warned, worst
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From `host.audit` of site.yaml."""


class AuditRunning(OwnKernelCheck[Expected]):
    id, version, method = "host.audit-running", 1, Method.TEST
    title = "the kernel's audit log is on and auditd receives it"
    controls = ("au-12", "au-2", "au-5")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`; `journalctl -u auditd` has the cause of a failure"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node if site.yaml has `host.audit`."""
        if site.context.spec.host.audit is not None:
            yield Expected()

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the state of the audit subsystem."""
        return {"state": "auditctl -s"}

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Pass if auditing is on and has a daemon; warn about lost events."""
        values = dict(line.split(None, 1) for line in sections.text("state").splitlines() if len(line.split()) > 1)
        numbers = {key: values.get(key, "") for key in ("enabled", "pid", "lost")}
        if any(not each.isdecimal() for each in numbers.values()):
            raise Unreadable("enabled, pid and lost", sections.text("state"), where="auditctl -s")
        findings = []
        if numbers["enabled"] not in ("1", "2"):
            findings.append(failed("auditing enabled", numbers["enabled"]))
        if numbers["pid"] == "0":
            findings.append(failed("a process of auditd", "none"))
        if integer(numbers["lost"]):
            findings.append(warned("no lost audit event", numbers["lost"]))
        return worst(findings, otherwise="expected auditing with a daemon, got both")
