"""diagnostic.soak: every GPU computes without a wrong result for the hours of the burn-in."""

from __future__ import annotations

from ....catalog.platforms import CheckProfile
from ....spec import Node
from ...model.check import Level, Severity
from ...model.check_context import CheckContext
from ...model.figures import integer_of
from ._dcgm_check import DcgmCheck, Expected


class Soak(DcgmCheck):
    """DCGM's test `diagnostic` for `verify.burn_in_h` hours: matrix products on all GPUs, whose results it compares."""

    id, level, order = "diagnostic.soak", Level.BURN_IN, 950
    title = "every GPU computes without a wrong result for the hours of the burn-in"
    severity = Severity.CRITICAL
    remedy = "isolate the node and replace the named GPU"
    tests, limit_s = "diagnostic", 1800
    required = ("diagnostic",)
    words = "hours of load"
    judges_all, may_repeat = False, False

    def expected(self, site: CheckContext, node: Node, profile: CheckProfile) -> Expected:
        """Return the number of GPUs and the duration."""
        return Expected(
            nodes=(node.name,),
            gpu_count=integer_of(profile.gpu_count),
            duration_s=round(site.context.spec.verify.burn_in_h * 3600),
        )

    def parameters(self, expected: Expected) -> str:
        """Return the duration as parameter of the test."""
        return f"diagnostic.test_duration={expected.duration_s}"
