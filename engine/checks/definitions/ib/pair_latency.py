"""ib.pair-latency: an RDMA write of 2 bytes takes a few microseconds on every rail between two neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.active_check import NodeCommand
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.figures import number_of
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._pairs import Expected, PairCheck, measured, missing_limit, rail_name


class PairLatency(PairCheck):
    id, version, method = "ib.pair-latency", 1, Method.TEST
    title = "an RDMA write takes a few microseconds on every rail between two nodes"
    controls = ("si-13",)
    severity = Severity.MEDIUM
    remedy = "check `cpu.governor` and power settings of the processors, then the number of switches between both nodes"
    order = 190

    def commands(self, expected: Expected) -> tuple[NodeCommand, ...]:
        """Run `ib_write_lat` once; it reports the median of 10,000 writes."""
        return tuple(self.pair_commands(expected, "ib_write_lat -F -s 2 -n 10000", runs=1, first_round=1))

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail if the median of a rail is above the limit."""
        if lacking := missing_limit(expected):
            return lacking
        maximum = number_of(expected.limit.write_latency_max) if expected.limit else None
        if maximum is None:
            return unknown("a maximum of the latency", "none in the catalogue")
        sections = parse_sections(output)
        medians = {
            rail: [each.typical_us for each in measured(sections, rail, 1).latencies]
            for rail in range(len(expected.rails))
        }
        worst_us = max((each for values in medians.values() for each in values), default=0.0)
        return worst(
            _late(medians, maximum, expected),
            otherwise=f"expected at most {maximum:g} us on {len(medians)} rails, got {worst_us:g} or less",
        )


def _late(medians: dict[int, list[float]], maximum: float, expected: Expected) -> Iterator[Judgement]:
    for rail, values in medians.items():
        if len(values) != 1:
            yield unknown(f"one latency of {rail_name(expected, rail)}", str(len(values)))
        elif values[0] > maximum:
            yield failed(f"at most {maximum:g} us on {rail_name(expected, rail)}", f"{values[0]:g}")
