"""Checks of a node's own board and management controller: N/A in a container or virtual machine, which lacks them.

Simulated hardware of a lab has a simulated board, so the checks run there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TypeVar

from ...facts.host.container import board_owner_of
from ...facts.node import SIMULATION_MARK
from ...spec import Node
from ..model.check import Check, Expectation, Judgement, not_applicable
from ..model.check_context import CheckContext
from ..model.probe import Probe, ProbeOutput
from ..model.probe_sections import ProbeSections, parse_sections

MACHINE = f"if [ -e {SIMULATION_MARK} ]; then echo simulated; else systemd-detect-virt || true; fi"
"""Prints `none` on a physical machine."""
SIMULATED = "simulated"
IPMI_TIMEOUT_S = 150
"""The keyboard controller style interface transfers about 1 kB/s; a repository of sensors has up to 100 kB (guess)."""

E = TypeVar("E", bound=Expectation)


class OwnBoardCheck(Check[E]):
    """A subclass states the commands and judges their output on a node with a board of its own."""

    @abstractmethod
    def expected(self, site: CheckContext, node: Node) -> E:
        """Return the expectation of a GPU server."""

    @abstractmethod
    def commands(self, expected: E) -> Mapping[str, str]:
        """Return the commands by name of the section."""

    @abstractmethod
    def judge_board(self, sections: ProbeSections, expected: E) -> Judgement:
        """Return the judgement of a node with a board of its own.

        Raises:
            Unreadable: a section does not have the expected form.
        """

    def expect(self, site: CheckContext, node: Node) -> Iterator[E]:
        """Expect this of every GPU server. Service nodes may be machines without a management controller."""
        if site.context.platform(node).has_gpus:
            yield self.expected(site, node)

    def probe(self, expected: E) -> Probe:
        """Print whether the node has a board of its own, then the sections of the check."""
        return Probe({"machine": MACHINE, **self.commands(expected)}, timeout_s=IPMI_TIMEOUT_S)

    def judge(self, output: ProbeOutput, expected: E) -> Judgement:
        """Return N/A in a container and in a virtual machine."""
        sections = parse_sections(output)
        if owner := board_owner_of(sections.text("machine")):
            return not_applicable("a node with a board of its own", owner)
        return self.judge_board(sections, expected)
