"""Judges the checks that compare nodes, from the results of `node.inventory` of these nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sovctl.compliance.verdict import Verdict

from ...facts.unreadable import Unreadable
from ..definitions.node.inventory import Expected as InventoryExpected
from ..model.check import judge
from ..model.fleet_check import SOURCE, Expected, FleetCheck
from ..model.probe import CommandOutput, joined
from ..model.result import Result, output_of, result_of, utc_now
from ..model.target import CheckTarget
from ..probes.inventory import inventory_of


def is_fleet(target: CheckTarget) -> bool:
    """Return whether a target compares nodes, so that no process measures it."""
    return isinstance(target.check, FleetCheck)


def with_sources(everything: Sequence[CheckTarget], chosen: Sequence[CheckTarget]) -> tuple[CheckTarget, ...]:
    """Return the chosen targets, and the sources of those that compare nodes, in the order of `everything`."""
    nodes = {node for each in chosen if isinstance(each.expectation, Expected) for node in each.expectation.nodes}
    kept = {each.id for each in chosen}
    return tuple(each for each in everything if each.id in kept or (each.check.id == SOURCE and each.node in nodes))


def judged(chosen: Sequence[CheckTarget], results: Mapping[str, Result]) -> Iterator[Result]:
    """Yield the result of each target that compares nodes.

    Args:
        chosen: all targets, with the sources.
        results: by id of the target.
    """
    sources = {each.node: each for each in chosen if each.check.id == SOURCE}
    # Each inventory is parsed once, because nine checks compare it.
    sections = {node: _section(source, results.get(source.id)) for node, source in sources.items()}
    for target in chosen:
        if isinstance(target.expectation, Expected):
            nodes = target.expectation.nodes
            output = joined({node: sections[node] for node in nodes})
            known = [result for node in nodes if (result := results.get(sources[node].id)) is not None]
            yield result_of(
                target,
                target.check.probe(target.expectation).command,
                output,
                judge(target.check, output, target.expectation),
                started=min((each.started for each in known), default=utc_now()),
                ended=max((each.ended for each in known), default=utc_now()),
                simulated=any(each.simulated for each in known),
            )


def _section(source: CheckTarget, result: Result | None) -> CommandOutput:
    """Return the inventory of a node as JSON, or exit code 1 and the reason."""
    if result is None or result.verdict is Verdict.UNKNOWN:
        return CommandOutput(1, "", "not measured" if result is None else result.reason)
    assert isinstance(source.expectation, InventoryExpected)
    try:
        found = inventory_of(output_of(result.raw), has_gpus=source.expectation.has_gpus)
    except Unreadable as error:
        return CommandOutput(1, "", str(error))
    return CommandOutput(0, found.to_json(), "")
