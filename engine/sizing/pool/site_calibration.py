"""A site's own measurements against the model: one factor on the time of a step, and narrower bands. Pure.

    made = calibrate(server, measurements, source=("run.json",), day=date(2026, 11, 21))
    made.factor, made.bands["ttft"].p90

Few points move the model little: what was published is the prior, a site's own scatter the noise (normal in
logarithms), so that one lucky run is no proof, and ten agreeing ones are. Plans use the pessimistic edge of the band.
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

_LEAST_NOISE = 0.06  # of a load test that is run twice: guess
_P90 = 1.2816  # standard deviations from the middle to the ninetieth percentile
_SENSE = {"throughput": -1, "itl": 1, "ttft": 1}  # a slower server has less throughput
_FEWEST = 3
_ROUNDS = 4  # what passes before a prefill does not grow with the factor, so one round falls short


def ratios(server: Server, measurements: Iterable[Measurement], *, factor: float = 1.0) -> dict[str, list[float]]:
    """measured / computed, by quantity."""
    found: dict[str, list[float]] = {name: [] for name in _SENSE}
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
    """The model held to what was measured on servers like `server`.

    Args:
        measurements: of one server each, at three or more loads.

    Raises:
        InputError: too few, one that this server cannot have had, or a server with expert parallelism.
    """
    if server.enable_expert_parallel:
        raise InputError(
            "expected a server without expert parallelism, got one with it; a calibration has no word for it yet",
            hint="name a pool without enable_expert_parallel with --pool",
        )
    loads = {round(each.in_flight, 1) for each in measurements}
    if len(loads) < _FEWEST:
        raise InputError(
            f"expected at least {_FEWEST} loads (requests in flight), got {len(loads)}",
            hint="measure at 1, at what you expect, and near the limit",
        )
    longest = max(each.input_tokens + each.output_tokens for each in measurements)
    if longest > server.max_model_len:
        raise InputError(
            f"expected at most max_model_len = {server.max_model_len} tokens a request, got {longest:.0f}",
            hint="name the pool that was measured with --pool",
        )
    shipped = load_calibration().bands[server.evidence]
    factor = 1.0
    for _ in range(_ROUNDS):
        found = ratios(server, measurements, factor=factor)
        steps = [
            log(factor) + _SENSE[name] * log(each) for name in ("throughput", "itl") for each in found.get(name, [])
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
    """Standard deviation of log(measured / computed) over published servers."""
    band = shipped["closed"][name]
    return log(band.p90 / band.p10) / (2 * _P90)


def _posterior(values: Sequence[float], prior: float, *, pairs: int) -> tuple[float, float]:
    """Mean and predictive standard deviation of the next one, from `pairs` independent points around a prior of 0."""
    noise = max(_LEAST_NOISE, stdev(values) if len(values) > 1 else prior)
    certainty = pairs / noise**2 + 1 / prior**2
    return mean(values) * (pairs / noise**2) / certainty, sqrt(1 / certainty + noise**2)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
