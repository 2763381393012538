"""clock.drift: the clock of the node needs a correction that its oscillator can cause."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, warned, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_LEAP = frozenset({"Normal", "Insert second", "Delete second", "Not synchronised"})
"""States of the leap second in chronyc(1)."""
_FIELDS = 14  # of `chronyc -c tracking`
_FREQUENCY = 7  # its eighth field, ppm; the sign is omitted in the judgement (chronyc(1))
_TOLERANCE_PPM = "clock.drift.tolerance"
_LIMIT_PPM = "clock.drift.most"


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The same on every node."""


class ClockDrift(Check[Expected]):
    id, version, method = "clock.drift", 1, Method.TEST
    title = "the clock needs a small correction of its frequency"
    controls = ("au-8", "sc-45")
    severity = Severity.MEDIUM
    remedy = "compare the clock with other nodes; replace the board if its oscillator drifts"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected()

    def probe(self, expected: Expected) -> Probe:
        """Print chrony's tracking."""
        return Probe.of(tracking="chronyc -N -c tracking")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail from 500 ppm, which is the limit of NTP; warn above 100 ppm."""
        tolerance_ppm = expected.limit_of(_TOLERANCE_PPM)
        limit_ppm = expected.limit_of(_LIMIT_PPM)
        text = parse_sections(output).text("tracking")
        fields = text.strip().split(",")
        try:
            ppm = abs(float(fields[_FREQUENCY]))
        except (ValueError, IndexError):
            raise Unreadable("the frequency in the eighth field", text, where="chronyc -c tracking") from None
        if len(fields) != _FIELDS or ppm != ppm or fields[-1] not in _LEAP:
            raise Unreadable(f"{_FIELDS} fields", text, where="chronyc -c tracking")
        if ppm >= limit_ppm:
            return failed(f"a correction under {limit_ppm} ppm", f"{ppm:.1f} ppm")
        if ppm > tolerance_ppm:
            return warned(f"a correction of at most {tolerance_ppm} ppm", f"{ppm:.1f} ppm")
        return worst((), otherwise=f"expected at most {tolerance_ppm} ppm, got {ppm:.1f} ppm")
