"""ib.pair-bandwidth: every rail between two neighbours writes at the bandwidth of its link.

`ib_write_bw` writes from main memory of one node to that of the other, one rail at a time. The median of
`verify.repetitions` runs decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from ...model.active_check import NodeCommand
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.figures import number_of
from ...model.probe import ProbeOutput
from ...model.probe_sections import ProbeSections, parse_sections
from ._pairs import Expected, PairCheck, measured, missing_limit, rail_name

_SIZE, _DURATION_S = 1 << 20, 6
"""Message size in bytes, and seconds of one run, of which perftest omits 2 at the beginning and at the end."""


class PairBandwidth(PairCheck):
    id, version, method = "ib.pair-bandwidth", 1, Method.TEST
    title = "every rail between two nodes writes at the bandwidth of its link"
    controls = ("cp-2.2", "si-13")
    severity = Severity.HIGH
    remedy = (
        "compare the pairs of both named nodes: the node whose rail is slow in both has the fault; "
        "then exchange its cable, transceiver or adapter"
    )

    def commands(self, expected: Expected) -> tuple[NodeCommand, ...]:
        """Run `ib_write_bw` for a fixed time, so that a slow link ends as soon as a fast one."""
        program = f"ib_write_bw -F --report_gbits -s {_SIZE} -D {_DURATION_S}"
        return tuple(self.pair_commands(expected, program, runs=expected.runs, first_round=1))

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail if the median of a rail is below the limit."""
        if lacking := missing_limit(expected):
            return lacking
        minimum = number_of(expected.limit.write_minimum) if expected.limit else None
        if minimum is None:
            return unknown("a minimum of RDMA writes", "none in the catalogue")
        sections = parse_sections(output)
        rates = [_rates(sections, rail, expected.runs) for rail in range(len(expected.rails))]
        slowest = min((median(each) for each in rates if each), default=0.0)
        return worst(
            _slow(rates, minimum, expected),
            otherwise=f"expected at least {minimum:g} Gbit/s on {len(rates)} rails, got {slowest:g} or more",
        )


def _rates(sections: ProbeSections, rail: int, runs: int) -> list[float]:
    found = [measured(sections, rail, run).bandwidths for run in range(1, runs + 1)]
    return [each.average_gbit_s for bandwidths in found for each in bandwidths]


def _slow(rates: list[list[float]], minimum: float, expected: Expected) -> Iterator[Judgement]:
    for rail, each in enumerate(rates):
        if len(each) != expected.runs:
            yield unknown(f"{expected.runs} bandwidths of {rail_name(expected, rail)}", str(len(each)))
        elif median(each) < minimum:
            runs = ", ".join(f"{rate:g}" for rate in sorted(each))
            yield failed(
                f"at least {minimum:g} Gbit/s on {rail_name(expected, rail)}", f"{median(each):g} (median of {runs})"
            )
