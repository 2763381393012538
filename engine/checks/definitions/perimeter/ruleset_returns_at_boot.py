"""perimeter.ruleset-returns-at-boot: the file that nftables.service loads at the start contains the running ruleset."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.units import parse_units
from ....facts.unreadable import Unreadable
from ....resources.perimeter import FILE, listing
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_UNIT = "nftables.service"
_TABLE = re.compile(r"(?m)^table (\S+ \S+) \{")


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every node."""


class RulesetReturnsAtBoot(Check[Expected]):
    id, version, method = "perimeter.ruleset-returns-at-boot", 1, Method.EXAMINE
    title = "the firewall returns unchanged after a restart of the node"
    controls = ("cm-6", "sc-24", "sc-7.18")
    severity = Severity.CRITICAL
    remedy = "run `sovctl plan` and `sovctl apply`, which write the file, load it and enable nftables.service"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected()

    def probe(self, expected: Expected) -> Probe:
        """Print the unit, the file that it loads, and the ruleset in the kernel."""
        unit = f"systemctl show -p Id,LoadState,UnitFileState,ExecStart {_UNIT}"
        return Probe.of(unit=unit, file=f"cat {FILE}", running="nft list ruleset")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the unit is enabled and loads the file, and the file has the rules of the kernel."""
        sections = parse_sections(output)
        (unit, *others) = parse_units(sections.text("unit"))
        if others or unit.id != _UNIT:
            raise Unreadable(_UNIT, unit.id, where="systemctl show")
        at_boot, running = sections.text("file"), sections.text("running")
        findings = []
        enabled = unit.properties.get("UnitFileState")
        if unit.load is None or enabled is None:
            findings.append(unknown(f"LoadState and UnitFileState of {_UNIT}", "none"))
        elif (unit.load, enabled) != ("loaded", "enabled"):
            findings.append(failed(f"{_UNIT} enabled", f"{unit.load}, {enabled}"))
        start = unit.properties.get("ExecStart")
        if start is None:
            findings.append(unknown(f"ExecStart of {_UNIT}", "none"))
        elif FILE not in start.replace(";", " ").split():
            findings.append(failed(f"{_UNIT} to load {FILE}", "another command"))
        if not listing(running):
            findings.append(failed("table inet sovctl in the kernel", "none"))
        elif listing(at_boot) != listing(running):
            findings.append(failed(f"the rules of the kernel in {FILE}", _first_difference(at_boot, running)))
        tables = sorted(set(_TABLE.findall(running)) - set(_TABLE.findall(at_boot)))
        findings += [failed(f"table {table} in {FILE}", "none") for table in tables]
        return worst(findings, otherwise=f"expected the same rules after a restart, got {len(listing(running))} lines")


def _first_difference(at_boot: str, running: str) -> str:
    """Return the first rule that only one of both has."""
    one, other = listing(at_boot), listing(running)
    more = [f"only in the kernel: {rule}" for rule in other if rule not in one]
    less = [f"only in the file: {rule}" for rule in one if rule not in other]
    return next(iter([*more, *less]), "the same rules in another order")
