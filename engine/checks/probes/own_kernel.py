"""Checks of a node's own kernel, memory, disks and firmware: N/A in a container, which uses those of its host."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TypeVar

from ...facts.host.container import container_of
from ..model.check import Check, Expectation, Judgement, not_applicable
from ..model.probe import Probe, ProbeOutput
from ..model.probe_sections import ProbeSections, parse_sections
from .commands import CONTAINER

E = TypeVar("E", bound=Expectation)


class OwnKernelCheck(Check[E]):
    """A subclass states the commands and judges their output on a machine or a virtual machine."""

    @abstractmethod
    def commands(self, expected: E) -> Mapping[str, str]:
        """Return the commands by name of the section."""

    @abstractmethod
    def judge_machine(self, sections: ProbeSections, expected: E) -> Judgement:
        """Return the judgement of a node that is not a container.

        Raises:
            Unreadable: a section does not have the expected form.
        """

    def probe(self, expected: E) -> Probe:
        """Print whether the node is a container, then the sections of the check."""
        return Probe({"container": CONTAINER, **self.commands(expected)})

    def judge(self, output: ProbeOutput, expected: E) -> Judgement:
        """Return N/A in a container."""
        sections = parse_sections(output)
        if container := container_of(sections.text("container")):
            return not_applicable("a node with its own kernel", f"a container ({container})")
        return self.judge_machine(sections, expected)
