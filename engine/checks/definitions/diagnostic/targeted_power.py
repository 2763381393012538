"""diagnostic.targeted-power: every GPU can draw the power of its type."""

from __future__ import annotations

from collections.abc import Iterator

from ....catalog.platforms import CheckProfile
from ....facts.hardware.dcgm_diagnostic import Diagnostic
from ...model.check import Judgement, Severity, failed
from ._dcgm_check import Expected
from ._target import TargetCheck

_LIMITED = "did not reach desired power minimum"
"""Info of a test that passed, although the power limit of the GPU is below the target (NVIDIA/DCGM 4.6.0,
TargetedPower_wrapper.cpp)."""


class TargetedPower(TargetCheck):
    """DCGM loads the GPU and requires 75 % of the target power (default of target_power_min_ratio)."""

    id, order = "diagnostic.targeted-power", 120
    title = "every GPU can draw the power of its type"
    severity = Severity.HIGH
    remedy = "check power supplies, power limit and cooling of the node and of the named GPU"
    tests, limit_s = "targeted_power", 1200
    required = ("targeted_power",)
    words, parameter, unit = "targeted_power", "target_power", "W"

    def figure(self, profile: CheckProfile) -> float | None:
        """Return the target in watts."""
        return self.number(profile.targeted_power_w)

    def further(self, diagnostic: Diagnostic, expected: Expected) -> Iterator[Judgement]:
        """Fail a GPU whose power limit prevents the target, which DCGM passes."""
        for test in diagnostic.tests:
            for result in test.results:
                if test.name in self.required and any(_LIMITED in line for line in result.info):
                    yield failed(f"{expected.target:g} W on {result.entity}", "a power limit below it")
