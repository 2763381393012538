"""Expectation and probe of the checks of units: managed and watched units of a node."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.units import UnitState, parse_units
from ....plan.order import RESOURCE_TYPES
from ....resources.services.unit import UNWANTED, full_name
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, unknown
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Units of one node.

    Args:
        units: names with suffix, sorted.
        written: paths of files that sovctl writes or observes, some of which are drop-ins.
    """

    units: tuple[str, ...]
    written: frozenset[str] = frozenset()


class WatchedUnitsCheck(Check[Expected]):
    """Expectation and probe; a subclass judges one aspect."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        queries = [kind.query(site.context, node) for kind in RESOURCE_TYPES]
        names = {full_name(unit) for query in queries for unit in query.units}
        yield Expected(
            units=tuple(sorted(name for name in names if not name.startswith(UNWANTED))),
            written=frozenset(path for query in queries for path in (*query.hash, *query.read)),
        )

    def probe(self, expected: Expected) -> Probe:
        """Print state and files of each unit."""
        properties = "Id,LoadState,ActiveState,SubState,UnitFileState,FragmentPath,DropInPaths,NeedDaemonReload"
        return Probe.of(units=f"systemctl show -p {properties} {shlex.join(expected.units)}")


def watched_units(output: ProbeOutput) -> tuple[UnitState, ...]:
    """Parse the section `units`.

    Raises:
        Unreadable: it is missing or has another form.
    """
    return parse_units(parse_sections(output).text("units"))


def count_findings(units: tuple[UnitState, ...], expected: Expected) -> Iterator[Judgement]:
    """Yield a finding if the output does not describe every unit, or lacks a property."""
    if len(units) != len(expected.units):
        yield unknown(f"{len(expected.units)} units", str(len(units)))
    for unit in units:
        for name in ("LoadState", "ActiveState", "UnitFileState", "FragmentPath", "DropInPaths", "NeedDaemonReload"):
            if name not in unit.properties:
                yield unknown(f"{name} of {unit.id}", "none")
