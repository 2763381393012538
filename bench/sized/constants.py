"""Constants of the performance model as unknowns of a fit: start values, ranges and the fit itself.

    x = fit(rows, START)                 # logarithms, in the order of CONSTANTS
    reader(x)("hbm_weights")

The constants are global: none belongs to a model or a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from bench.sized.least_squares import Term, minimise, tangent
from bench.sized.rows import Row

# Weight of the prior, which keeps constants near their plausible start values. Without it the fit reached the ends of
# the ranges, and predicted excluded pairs worse (throughput 16.1 % and p90 47 % instead of 15.5 % and 45 %; three
# splits, model of 2026-11-21).
_PRIOR = 1.2
# Constants of a GPU generation or an engine have a stronger prior. For an unmeasured one the mean of the others is the
# best guess, and few sources measured several.
_PRIOR_KIND = 4.0
# Models that answer one stream within 70 ms with vLLM 0.26.0 on an H100 took a half to a third of the time that the
# model of 2026-11-22 computed (measured 2026-11-23; exact figures were kept for Llama 3.1 8B only, in h100.csv). For
# 512 tokens this gives 0.6 to 1.2 ms per layer with experts. Published rows with experts have one model, 7,200 tokens
# and another client.
_PRIOR_KNOWN = 12.0
_KNOWN = {"launch_experts_vllm_us"}
_GENERATIONS = ("sm80", "sm89", "sm90", "sm100", "sm120", "cdna3", "cdna4")
_KINDS = {*(f"arithmetic_{name}" for name in _GENERATIONS), "engine_nim", "engine_2024", "engine_mlperf", "engine_vllm"}
_SCALE = 0.15  # of a logarithmic error; larger errors have linear instead of quadratic cost

# name: start, minimum, maximum, unit, description
CONSTANTS: dict[str, tuple[float, float, float, str, str]] = {
    "arithmetic": (
        0.6,
        0.2,
        1.0,
        "share",
        "fraction of the dense peak of matrix products at 0.7 W per TFLOP/s in bf16",
    ),
    "arithmetic_power": (0.3, 0.02, 1.0, "exponent", "exponent of the watts per TFLOP/s in this fraction"),
    **{
        f"arithmetic_{generation}": (1.0, 0.4, 2.0, "factor", f"on this fraction on {generation}")
        for generation in _GENERATIONS
    },
    "arithmetic_fp8": (0.85, 0.25, 1.2, "factor", "on this fraction in FP8"),
    "arithmetic_fp4": (0.6, 0.25, 1.2, "factor", "on this fraction in FP4"),
    "narrow_ffn": (
        1200,
        10,
        20_000,
        "numbers",
        "intermediate size of an expert at which the fraction is half that of wide layers",
    ),
    "width_power": (0.1, 0.001, 1.0, "exponent", "exponent of the hidden size / 8,192 in this fraction"),
    "arithmetic_widened": (0.6, 0.1, 1.2, "factor", "on this fraction if weights are unpacked before use"),
    "attention_share": (0.7, 0.2, 1.2, "factor", "on the bf16 fraction for attention scores in a prefill"),
    "attention_decode": (
        0.08,
        0.005,
        1.0,
        "factor",
        "on the bf16 fraction for attention over the cache in a decode step",
    ),
    "hbm_weights": (0.85, 0.4, 1.0, "share", "fraction of the memory bandwidth for reading weights"),
    "hbm_cache": (0.8, 0.15, 1.0, "share", "fraction of the memory bandwidth for reading the KV cache"),
    "links": (0.6, 0.1, 1.0, "share", "fraction of the link bandwidth in an all-reduce"),
    "exchange_us": (12, 1, 80, "us", "latency of an all-reduce over NVLink"),
    "exchange_pcie_us": (25, 1, 200, "us", "latency of an all-reduce over PCIe"),
    "layer_us": (15, 0.1, 45, "us", "software time and kernel launches per layer"),
    "layer_2024_us": (20, 0.1, 80, "us", "layer_us of engines of 2024"),
    "layer_experts_us": (40, 0.1, 150, "us", "layer_us of a layer with experts"),
    "step_us": (300, 5, 5000, "us", "software time per step"),
    "sequence_us": (3, 0.01, 60, "us", "software time per sequence and step"),
    "server_us": (5, 0.01, 200, "us", "sequence_us with a streaming server"),
    "server_2024_us": (10, 0.01, 200, "us", "sequence_us with a streaming server of 2024"),
    "first_ms": (5, 0.1, 60, "ms", "time before a prefill starts"),
    "launch_vllm_us": (350, 20, 4000, "us", "kernel launches before a prefill per layer, vLLM"),
    "launch_experts_vllm_us": (800, 50, 8000, "us", "launch_vllm_us of a layer with experts"),
    "launch_states_vllm_us": (800, 50, 20_000, "us", "launch_vllm_us of a layer of a model with states"),
    "launch_experts_sglang_us": (800, 50, 20_000, "us", "launch_experts_vllm_us of SGLang"),
    "corner": (3, 1, 12, "exponent", "sharpness of the maximum of arithmetic and reading"),
    "max_batch": (512, 64, 4096, "sequences", "concurrent sequences of an offline run"),
    "queue_closed": (0.56, 0.1, 2, "prefills", "waited for per other request of a convoy in a closed loop"),
    "queue_start": (0.07, 0.01, 0.5, "prefills", "waited for per other request, because all started together"),
    "convoy_tokens": (85_000, 5_000, 5_000_000, "tokens", "prompt tokens of a convoy above which it dissolves"),
    "limit_share": (0.75, 0.4, 1, "share", "mean / 99th percentile limit"),
    "engine_nim": (1, 0.6, 1.8, "factor", "on steps of NIM 1.0 (2024)"),
    "engine_2024": (1, 0.6, 1.8, "factor", "on steps of TensorRT-LLM 0.9 (2024)"),
    "engine_mlperf": (1, 0.5, 1.5, "factor", "on steps of manually tuned MLPerf submissions"),
    "engine_vllm": (1, 0.6, 2, "factor", "on steps of vLLM and SGLang"),
}
NAMES = list(CONSTANTS)
START = [math.log(start) for start, *_ in CONSTANTS.values()]


_ENOUGH = 3e-5  # share of the cost that a round of a fit must gain to go on


def fit(rows: Sequence[Row], start: Sequence[float]) -> list[float]:
    """The constants, as logarithms, that foretell the rows best.

    Args:
        start: where the search begins.
    """
    return _fitted([_term(row) for row in rows], start)


class Tangent:
    """Fits of some of the rows, whose residuals are straight lines where all rows led: a second each, not a minute.

    Args:
        x: the constants, fitted over all rows.
    """

    def __init__(self, rows: Sequence[Row], x: Sequence[float]) -> None:
        self._x = x
        self._terms = {row.id: tangent(_term(row), x) for row in rows}

    def fit(self, rows: Sequence[Row]) -> list[float]:
        """The constants, as logarithms, that foretell these rows best."""
        return _fitted([self._terms[row.id] for row in rows], self._x)


def _fitted(terms: Sequence[Term], start: Sequence[float]) -> list[float]:
    least = [math.log(CONSTANTS[name][1]) for name in NAMES]
    most = [math.log(CONSTANTS[name][2]) for name in NAMES]
    held = [_prior(index) for index in range(len(NAMES))]
    return minimise([*terms, *held], start, least, most, scale=_SCALE, enough=_ENOUGH)


def _term(row: Row) -> Term:
    truth = {name: math.log(value) for name, value in row.measured.items()}

    def residuals(x: Sequence[float]) -> list[float]:
        computed = row.computed(reader(x))
        return [math.log(value) - truth[name] for name, value in computed.items()]

    return Term(residuals, _used(row))


def _prior(index: int) -> Term:
    start = math.log(CONSTANTS[NAMES[index]][0])
    firmness = _PRIOR_KIND if NAMES[index] in _KINDS else _PRIOR_KNOWN if NAMES[index] in _KNOWN else _PRIOR
    return Term(lambda x: [firmness * (x[index] - start)], (index,))


def _used(row: Row) -> set[int]:
    """The constants that a row's times depend on."""
    used: set[int] = set()

    def constant(name: str) -> float:
        used.add(NAMES.index(name))
        return CONSTANTS[name][0]

    row.computed(constant)
    return used


def reader(x: Sequence[float]) -> Callable[[str], float]:
    """The constants by name."""
    return _values(tuple(x)).__getitem__


@lru_cache(maxsize=4)  # every row asks for the same
def _values(x: tuple[float, ...]) -> dict[str, float]:
    return {name: math.exp(value) for name, value in zip(NAMES, x, strict=True)}
