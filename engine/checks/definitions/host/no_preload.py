"""host.no-preload: /etc/ld.so.preload is absent or empty, so that no library changes the programs that checks run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.numbers import integer
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_FILE = "/etc/ld.so.preload"


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every node."""


class NoPreload(Check[Expected]):
    id, version, method = "host.no-preload", 1, Method.EXAMINE
    title = "no library is loaded into every program"
    controls = ("cm-7", "si-3", "si-7")
    severity = Severity.CRITICAL
    remedy = "isolate the node, keep the named library for analysis, and install the node again"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected()

    def probe(self, expected: Expected) -> Probe:
        """Print the lines of the file with a built-in command of the shell, and the variable of process 1."""
        file = f'if [ -e {_FILE} ]; then while IFS= read -r line; do echo "line $line"; done <{_FILE}; fi; echo end'
        manager = "systemctl show-environment | grep -c '^LD_' || true"
        return Probe.of(file=file, manager=manager)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the file has no entry, and systemd passes no variable of the loader to services."""
        sections = parse_sections(output)
        *lines, end = sections.text("file").strip().splitlines() or [""]
        if end != "end" or any(not line.startswith("line") for line in lines):
            raise Unreadable("the lines of the file, then `end`", sections.text("file"), where=_FILE)
        entries = [line.removeprefix("line").strip() for line in lines]
        findings = [failed(f"no entry in {_FILE}", each) for each in entries if each and not each.startswith("#")]
        count = sections.text("manager").strip()
        if not count.isdecimal():
            raise Unreadable("a number of variables", count, where="systemctl show-environment")
        if integer(count):
            findings.append(failed("no variable LD_* of systemd", count))
        return worst(findings, otherwise="expected no preloaded library, got none")
