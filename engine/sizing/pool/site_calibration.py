"""Calibrates the model with a site's own load tests: one factor on the step time, and new bands. Pure.

    made = calibrate(server, measurements, source=("run.json",), day=date(2026, 11, 21))
    made.factor, made.bands["ttft"].p90

Bayesian estimate with normal logarithms: the prior is the band of published measurements, the noise is the scatter of
the site's measurements. Few measurements therefore change the model little. Plans use the pessimistic edge of the band.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from math import exp, log, sqrt
from statistics import mean, stdev

from sovctl.support.errors import InputError

from ...catalog.calibrations import Band, ServerCalibration
from ..performance.calibration import Bands, load_calibration
from ..performance.throughput import Serving
from .load_test_results import Measurement
from .server import Server

_MIN_NOISE = 0.06  # relative difference of two identical load tests: guess
_P90 = 1.2816  # standard deviations from the median to the 90th percentile
_SIGN = {"throughput": -1, "itl": 1, "ttft": 1}  # a slower server has less throughput
_MIN_LOADS = 3
_ROUNDS = 4  # iterations: the time before a prefill does not scale with the factor, so one iteration is inexact


def ratios(server: Server, measurements: Iterable[Measurement], *, factor: float = 1.0) -> dict[str, list[float]]:
    """Return measured / computed for each measurement, by quantity."""
    found: dict[str, list[float]] = {name: [] for name in _SIGN}
    for each in measurements:
        serving = server.serving(each.input_tokens, each.output_tokens, factor=factor)
        computed = _estimate(serving, each)
        found["throughput"].append(each.tokens_per_s / computed["throughput"])
        if each.itl_s is not None:
            found["itl"].append(each.itl_s / computed["itl"])
        if each.ttft_s is not None:
            found["ttft"].append(each.ttft_s / computed["ttft"])
    return {name: values for name, values in found.items() if values}


def calibrate(
    server: Server, measurements: Sequence[Measurement], *, source: tuple[str, ...], day: date
) -> ServerCalibration:
    """Return the calibration of servers like `server`.

    Args:
        measurements: each of one server, at three or more loads.

    Raises:
        InputError: fewer than three loads, requests above `max_model_len`, or a server with expert parallelism.
    """
    if server.enable_expert_parallel:
        raise InputError(
            "calibration of servers with expert parallelism is not supported",
            hint="select a pool without enable_expert_parallel with --pool",
        )
    loads = {round(each.in_flight, 1) for each in measurements}
    if len(loads) < _MIN_LOADS:
        raise InputError(
            f"expected at least {_MIN_LOADS} loads (requests in flight), got {len(loads)}",
            hint="measure at 1 request, at the expected load, and near the limit",
        )
    longest = max(each.input_tokens + each.output_tokens for each in measurements)
    if longest > server.max_model_len:
        raise InputError(
            f"expected at most max_model_len = {server.max_model_len} tokens a request, got {longest:.0f}",
            hint="select the measured pool with --pool",
        )
    shipped = load_calibration().bands[server.evidence]
    factor = 1.0
    for _ in range(_ROUNDS):
        found = ratios(server, measurements, factor=factor)
        steps = [
            log(factor) + _SIGN[name] * log(each) for name in ("throughput", "itl") for each in found.get(name, [])
        ]
        centre, _ = _posterior(steps, _prior(shipped, "itl"), pairs=len(measurements))
        factor = exp(centre)
    left = ratios(server, measurements, factor=factor)
    bands = {}
    for name, values in left.items():
        middle, spread = _posterior([log(each) for each in values], _prior(shipped, name), pairs=len(values))
        bands[name] = Band(
            p10=_rounded(exp(middle - _P90 * spread)), p90=_rounded(exp(middle + _P90 * spread)), rows=len(values)
        )
    return ServerCalibration.model_validate(
        {
            "model": server.model.id,
            "gpu": server.gpu.id,
            "precision": server.precision.value,
            "tensor_parallel_size": server.tensor_parallel_size,
            "pipeline_parallel_size": server.pipeline_parallel_size,
            "factor": _rounded(factor),
            "bands": bands,
            "in_flight": (min(each.in_flight for each in measurements), max(each.in_flight for each in measurements)),
            "points": len(measurements),
            "source": source,
            "date": day,
        }
    )


def _estimate(serving: Serving, each: Measurement) -> dict[str, float]:
    found = (serving.open if each.is_open else serving.closed)(each.in_flight, each.input_tokens, each.output_tokens)
    assert found.ttft_s is not None
    return {"throughput": found.output_tokens_per_s, "itl": found.itl_s, "ttft": found.ttft_s}


def _prior(shipped: Bands, name: str) -> float:
    """Return the standard deviation of log(measured / computed) of published servers."""
    band = shipped["closed"][name]
    return log(band.p90 / band.p10) / (2 * _P90)


def _posterior(values: Sequence[float], prior: float, *, pairs: int) -> tuple[float, float]:
    """Return the posterior mean and predictive standard deviation, from `pairs` points and a prior mean of 0."""
    noise = max(_MIN_NOISE, stdev(values) if len(values) > 1 else prior)
    certainty = pairs / noise**2 + 1 / prior**2
    return mean(values) * (pairs / noise**2) / certainty, sqrt(1 / certainty + noise**2)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
