"""nccl.one-node-bandwidth: all GPUs of a node reduce at the bus bandwidth of their board.

The median of `verify.repetitions` runs decides, and no run is repeated because it was slow. A result near the bandwidth
without NVLink SHARP names that as the cause, because a slow link has another bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from ....catalog.benchmarks import GIB, is_near
from ...model.check import Judgement, Method, Severity, failed, unknown
from ._one_node import Expected, OneNodeCheck, Run, gpu_findings


class OneNodeBandwidth(OneNodeCheck):
    id, version, method = "nccl.one-node-bandwidth", 1, Method.TEST
    title = "all GPUs of a node reduce at the bus bandwidth of their board"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = (
        "check `nccl.nvls-used`, NVLink and the fabric manager of the node; then exchange the GPU with the slowest link"
    )

    def findings(self, runs: list[Run], expected: Expected) -> Iterator[Judgement]:
        """Fail if the median is below the limit."""
        assert expected.gpus is not None
        yield from gpu_findings(runs, expected.gpus)
        rates = _rates(runs, expected)
        if expected.minimum_gb_s is None:
            yield unknown("the board's bus bandwidth of all_reduce", "none in the catalogue")
        elif median(rates) < expected.minimum_gb_s:
            yield failed(
                f"at least {expected.minimum_gb_s:g} GB/s at {_payload(expected)}",
                f"{_measured(rates)}{_cause(median(rates), runs, expected)}",
            )

    def passes(self, runs: list[Run], expected: Expected) -> str:
        """Return limit, median and spread."""
        return (
            f"expected at least {expected.minimum_gb_s:g} GB/s at {_payload(expected)} on {expected.gpus} GPUs, "
            f"got {_measured(_rates(runs, expected))}"
        )


def _rates(runs: list[Run], expected: Expected) -> list[float]:
    return [run.test.row(expected.payload_bytes).bus_gb_s for run in runs]


def _payload(expected: Expected) -> str:
    return f"{expected.payload_bytes // GIB} GiB"


def _measured(rates: list[float]) -> str:
    return f"{median(rates):g} (median of {', '.join(f'{rate:g}' for rate in sorted(rates))})"


def _cause(rate: float, runs: list[Run], expected: Expected) -> str:
    """Return the cause that bandwidth and log state; empty if they state none."""
    logs = [run.log for run in runs if run.log is not None]
    if any(log.is_nvls_disabled for log in logs):
        return "; NCCL_NVLS_ENABLE=0 disables NVLink SHARP"
    is_off = any(log.uses_nvls is False for log in logs)
    if expected.needs_nvls and (is_off or is_near(rate, expected.without_nvls_gb_s)):
        return "; NVLink SHARP is off: the links themselves can be healthy"
    return ""
