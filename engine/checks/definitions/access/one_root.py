"""access.one-root: root is the only account with user ID 0, in the database of accounts and in /etc/passwd."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every node."""


class OneRoot(Check[Expected]):
    id, version, method = "access.one-root", 1, Method.EXAMINE
    title = "root is the only account with user ID 0"
    controls = ("ac-2", "ac-6", "ia-2")
    severity = Severity.CRITICAL
    remedy = "find the origin of the second account, lock it with `usermod --lock`, and change its user ID"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected()

    def probe(self, expected: Expected) -> Probe:
        """Print the accounts with user ID 0 from two sources, without other accounts."""
        select = "awk -F: '$3 == 0 {print $1 \":\" $3}'"
        return Probe.of(database=f"getent passwd | {select}", file=f"{select} /etc/passwd")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if both sources contain root alone."""
        sections = parse_sections(output)
        findings = []
        for name, where in (("database", "getent passwd"), ("file", "/etc/passwd")):
            accounts = [line.partition(":") for line in sections.text(name).splitlines() if line.strip()]
            if not accounts or any(separator != ":" or uid != "0" for _, separator, uid in accounts):
                raise Unreadable("`name:0`", sections.text(name), where=where)
            names = [account for account, _, _ in accounts]
            if names != ["root"]:
                findings.append(failed(f"root alone with user ID 0 in {where}", ", ".join(names)))
        return worst(findings, otherwise="expected root alone with user ID 0, got the same from two sources")
