"""Checks of one rate or power that DCGM measures, with the threshold of the catalogue."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from ....catalog.figure import Figure
from ....catalog.platforms import CheckProfile
from ....spec import Node
from ...model.active_check import NodeCommand
from ...model.check import Judgement, unknown
from ...model.check_context import CheckContext
from ...model.figures import integer_of, number_of
from ...model.probe import ProbeOutput
from ._dcgm_check import SECTION, DcgmCheck, Expected


class TargetCheck(DcgmCheck):
    """Runs one test with the catalogue's figure as parameter; UNKNOWN without a figure."""

    judges_all = False
    parameter: ClassVar[str]
    """Parameter of the test that DCGM compares with its measurement."""
    unit: ClassVar[str]

    @abstractmethod
    def figure(self, profile: CheckProfile) -> float | None:
        """Return the threshold."""

    def expected(self, site: CheckContext, node: Node, profile: CheckProfile) -> Expected:
        """Return the number of GPUs and the threshold."""
        target = self.figure(profile)
        return Expected(nodes=(node.name,), gpu_count=integer_of(profile.gpu_count), target=target)

    def parameters(self, expected: Expected) -> str:
        """Return the threshold as parameter of the test."""
        return f"{self.tests}.{self.parameter}={expected.target:.10g}"

    def commands(self, expected: Expected) -> tuple[NodeCommand, ...]:
        """Run the test; put no load on the node without a threshold."""
        if expected.target is None:
            return (NodeCommand(SECTION, expected.nodes[0], "echo 'no threshold in the catalogue'"),)
        return super().commands(expected)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail if a GPU is below the threshold."""
        if expected.target is None:
            return unknown(f"a threshold in {self.unit} for {self.tests}", "none in the catalogue")
        return super().judge(output, expected)

    @staticmethod
    def number(figure: Figure | None) -> float | None:
        """Return the value of a figure of the catalogue."""
        return number_of(figure)
