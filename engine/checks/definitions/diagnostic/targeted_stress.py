"""diagnostic.targeted-stress: every GPU reaches the arithmetic rate of its type."""

from __future__ import annotations

from ....catalog.platforms import CheckProfile
from ...model.check import Severity
from ._target import TargetCheck


class TargetedStress(TargetCheck):
    """DCGM measures the rate of matrix products, and requires 95 % of the target (default of target_perf_min_ratio)."""

    id, order = "diagnostic.targeted-stress", 110
    title = "every GPU reaches the arithmetic rate of its type"
    severity = Severity.HIGH
    remedy = "check clocks, power limit and cooling of the named GPU; replace it if they are right"
    tests, limit_s = "targeted_stress", 1200
    required = ("targeted_stress",)
    words, parameter, unit = "targeted_stress", "target_stress", "GFLOPS"

    def figure(self, profile: CheckProfile) -> float | None:
        """Return the target in GFLOPS."""
        return self.number(profile.targeted_stress_gflops)
