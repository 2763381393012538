"""host.name-set: the node has an individual name, and its name in site.yaml resolves to its address and back."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_DEFAULTS = frozenset({"localhost", "localhost.localdomain", "ubuntu", "debian", "dgx", "rhel", "node", "host"})
"""Names that installers set. Two hosts of a real fabric with 40 switches were named ubuntu and localhost (2026-11)."""
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Name and address of the node in site.yaml."""

    name: str
    address: str


class NameSet(Check[Expected]):
    id, version, method = "host.name-set", 1, Method.EXAMINE
    title = "the node has its own name, which resolves to its address and back"
    controls = ("au-3", "cm-8", "ia-3")
    severity = Severity.MEDIUM
    remedy = (
        "set the name with `hostnamectl hostname`, and run `sovctl plan` and `sovctl apply`, which write /etc/hosts"
    )

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected(name=node.name, address=str(node.address))

    def probe(self, expected: Expected) -> Probe:
        """Print the name of the kernel, and what the resolver of the node returns."""
        forward = f"getent ahostsv4 {shlex.quote(expected.name)} | awk '{{print $1}}' | sort -u"
        backward = f"getent hosts {shlex.quote(expected.address)} | awk '{{$1 = \"\"; print}}'"
        return Probe.of(name="uname -n", forward=forward, backward=backward)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the name is not a default, and forward and reverse resolution agree."""
        sections = parse_sections(output)
        name = sections.text("name").strip()
        if not _HOST.fullmatch(name):
            raise Unreadable("a host name", name, where="uname -n")
        findings = []
        if name.partition(".")[0].lower() != expected.name.partition(".")[0].lower():
            findings.append(failed(f"the host name {expected.name}", name))
        if name.lower() in _DEFAULTS:
            findings.append(failed("a host name of its own", name))
        addresses, names = sections.text("forward").split(), sections.text("backward").split()
        if addresses != [expected.address]:
            findings.append(failed(f"{expected.name} to resolve to {expected.address}", ", ".join(addresses) or "none"))
        if expected.name not in names:
            findings.append(failed(f"{expected.address} to resolve to {expected.name}", ", ".join(names) or "none"))
        return worst(findings, otherwise=f"expected {expected.name} at {expected.address}, got the same for {name}")
