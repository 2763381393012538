"""A check that compares the inventories of several nodes. The controller judges it after the nodes were measured.

Its output has one section per node: the inventory as JSON, or exit code 1 and the reason of a missing one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...facts.inventory import Inventory, Part
from .check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from .check_context import CheckContext
from .probe import Probe, ProbeOutput
from .probe_sections import parse_sections

SOURCE = "node.inventory"
"""Check whose outputs are compared."""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Nodes of one group, which have the same platform."""

    nodes: tuple[str, ...]


class FleetCheck(Check[Expected]):
    """Compares one value of the parts of a kind.

    A subclass sets `kind` and `field`. Values of one model must be equal on all nodes; if `is_unique` is set,
    they must be different.
    """

    version, method, severity = 1, Method.EXAMINE, Severity.MEDIUM
    controls: ClassVar[tuple[str, ...]] = ("cm-2", "cm-8")
    kind: ClassVar[str]
    field: ClassVar[str]
    """Field of `Part`."""
    is_unique: ClassVar[bool] = False

    def expect_controller(self, site: CheckContext) -> Iterator[Expected]:
        """Expect this of every group of at least two nodes."""
        for group in site.context.spec.node_groups:
            if len(group.nodes) > 1:
                yield Expected(subject=group.name, nodes=tuple(node.name for node in group.nodes))

    def probe(self, expected: Expected) -> Probe:
        """Name the outputs that are compared; nothing runs."""
        return Probe({node: f": the output of {SOURCE} of {node}" for node in expected.nodes})

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Compare all nodes. A node without inventory is UNKNOWN."""
        sections = parse_sections(output)
        parts = {node: Inventory.from_json(sections.text(node)).of_kind(self.kind) for node in expected.nodes}
        findings = [
            unknown(f"{self.field} of {part.kind} {part.place} of {node}".replace("  ", " "), "none")
            for node, each in parts.items()
            for part in each
            if getattr(part, self.field) is None
        ]
        stated = {
            node: [part for part in each if getattr(part, self.field) is not None] for node, each in parts.items()
        }
        findings += self._repeated(stated) if self.is_unique else self._different(stated)
        count = sum(len(each) for each in parts.values())
        word = "different" if self.is_unique else "equal"
        got = f"{count} on {len(parts)} nodes" if count else f"no {self.kind} on {len(parts)} nodes"
        return worst(findings, otherwise=f"expected {word} values of {self.field} of {self.kind}, got {got}")

    def _different(self, parts: Mapping[str, Sequence[Part]]) -> Iterator[Judgement]:
        """Yield the nodes whose value is not that of most parts of the model."""
        for model in dict.fromkeys(self._group(part) for each in parts.values() for part in each):
            values = {
                node: {str(getattr(part, self.field)) for part in each if self._group(part) == model}
                for node, each in parts.items()
            }
            counts = Counter(value for each in values.values() for value in each)
            if len(counts) > 1:
                usual, nodes = counts.most_common(1)[0]
                for node, each in values.items():
                    if other := sorted(each - {usual}):
                        yield failed(
                            f"{self.field} {usual} of {model} on {node}, as on {nodes} of {len(parts)} nodes",
                            ", ".join(other),
                        )

    def _group(self, part: Part) -> str:
        """Return the parts among which values are compared: those of one model, or all to compare the models."""
        return self.kind if self.field == "model" else str(part.model)

    def _repeated(self, parts: Mapping[str, Sequence[Part]]) -> Iterator[Judgement]:
        """Yield the values that several parts have."""
        places: dict[str, list[str]] = {}
        for node, each in parts.items():
            for part in each:
                places.setdefault(str(getattr(part, self.field)), []).append(f"{node} {part.place}".strip())
        for value, found in places.items():
            if len(found) > 1:
                yield failed(f"one {self.kind} with {self.field} {value}", " and ".join(found))
