"""nccl.results-correct: reductions over all GPUs of a node return correct results for every payload."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.check import Judgement, Method, Severity, failed, unknown
from ._one_node import Expected, OneNodeCheck, Run, gpu_findings


class ResultsCorrect(OneNodeCheck):
    id, version, method = "nccl.results-correct", 1, Method.TEST
    title = "reductions over all GPUs of a node return correct results"
    controls = ("si-13", "si-7")
    severity = Severity.CRITICAL
    remedy = "drain the node, run `dcgmi diag -r 3`, and replace the GPU or the NVSwitch that it names"

    def findings(self, runs: list[Run], expected: Expected) -> Iterator[Judgement]:
        """Fail for one wrong value; UNKNOWN if a run did not compare its results."""
        assert expected.gpus is not None
        yield from gpu_findings(runs, expected.gpus)
        for run in runs:
            counts = [row.wrong for row in run.test.rows]
            wrong = max(sum(count or 0 for count in counts), run.test.out_of_bounds)
            if wrong:
                payloads = sum(bool(count) for count in counts)
                yield failed("0 wrong values", f"{wrong} in {payloads} of {len(counts)} payloads")
            elif None in counts:
                yield unknown("a comparison of the results of every payload", "N/A")

    def passes(self, runs: list[Run], expected: Expected) -> str:
        """Return the number of runs and payloads."""
        return f"expected 0 wrong values, got 0 in {len(runs)} runs of {len(runs[0].test.rows)} payloads"
