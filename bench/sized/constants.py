"""The constants of the performance model as unknowns: where they start, how far they may go, and their fit.

    x = fit(rows, START)                 # logarithms, in the order of CONSTANTS
    reader(x)("hbm_weights")

They are global: none belongs to a model or to a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from bench.sized.least_squares import Term, minimise, tangent
from bench.sized.rows import Row

# How firmly constants stay near their starting values, which are plausible by themselves: without it the fit ran to the
# ends of their ranges and foretold unseen pairs worse (throughput 16.1 and p90 47 % where it was 15.5 and 45; three
# splits, model of 2026-11-21).
_PRIOR = 1.2
# What stands for a generation of GPUs or for an engine stays nearer to the others': of one that nobody measured the
# middle of all is the best guess, and few measured several.
_PRIOR_KIND = 4.0
_GENERATIONS = ("sm80", "sm89", "sm90", "sm100", "sm120", "cdna3", "cdna4")
_KINDS = {*(f"arithmetic_{name}" for name in _GENERATIONS), "engine_nim", "engine_2024", "engine_mlperf", "engine_vllm"}
_SCALE = 0.15  # of an error in logarithms; larger ones count by their size, not by its square

# name: start, least, most, unit, what it is
CONSTANTS: dict[str, tuple[float, float, float, str, str]] = {
    "arithmetic": (0.6, 0.2, 1.0, "share", "of the dense peak that products reach, at 0.7 W for each TFLOP/s in bf16"),
    "arithmetic_power": (0.3, 0.02, 1.0, "exponent", "with which that share grows with the watts for each TFLOP/s"),
    **{
        f"arithmetic_{generation}": (1.0, 0.4, 2.0, "factor", f"on that share on {generation}")
        for generation in _GENERATIONS
    },
    "arithmetic_fp8": (0.85, 0.25, 1.2, "factor", "on that share in FP8"),
    "arithmetic_fp4": (0.6, 0.25, 1.2, "factor", "on that share in FP4"),
    "narrow_ffn": (1200, 10, 20_000, "numbers", "between an expert's matrices at which its share is half of theirs"),
    "width_power": (0.1, 0.001, 1.0, "exponent", "with which the share grows with a model's width, 1 at 8,192"),
    "arithmetic_widened": (0.6, 0.1, 1.2, "factor", "on that share for weights that are unpacked before they are used"),
    "attention_share": (0.7, 0.2, 1.2, "factor", "on the bf16 share for attention scores in a prefill"),
    "attention_decode": (0.08, 0.005, 1.0, "factor", "on the bf16 share for query heads over a cache in a decode step"),
    "hbm_weights": (0.85, 0.4, 1.0, "share", "of the memory bandwidth when weights are read"),
    "hbm_cache": (0.8, 0.15, 1.0, "share", "of the memory bandwidth when the cache is read"),
    "links": (0.6, 0.1, 1.0, "share", "of the links' bandwidth in an all-reduce"),
    "exchange_us": (12, 1, 80, "us", "latency of an all-reduce over NVLink"),
    "exchange_pcie_us": (25, 1, 200, "us", "latency of an all-reduce over PCIe"),
    "layer_us": (15, 0.1, 45, "us", "software and launches per layer"),
    "layer_2024_us": (20, 0.1, 80, "us", "the same in engines of 2024"),
    "layer_experts_us": (40, 0.1, 150, "us", "the same for a layer with experts"),
    "step_us": (300, 5, 5000, "us", "software per step"),
    "sequence_us": (3, 0.01, 60, "us", "software per sequence and step"),
    "server_us": (5, 0.01, 200, "us", "the same behind a server that streams"),
    "server_2024_us": (10, 0.01, 200, "us", "the same behind a server of 2024"),
    "first_ms": (5, 0.1, 60, "ms", "before a prefill begins"),
    "launch_vllm": (
        12,
        1,
        200,
        "factor",
        "on a step's software before a prefill of vLLM and SGLang",
    ),
    "corner": (3, 1, 12, "exponent", "how sharply arithmetic and reading take over from each other"),
    "max_batch": (512, 64, 4096, "sequences", "that an offline run keeps in flight"),
    "queue_closed": (0.56, 0.1, 2, "prefills", "of the others in a convoy that a closed loop's request waits for"),
    "queue_start": (0.07, 0.01, 0.5, "prefills", "of all the others that it waits for, as all began together"),
    "convoy_tokens": (85_000, 5_000, 5_000_000, "tokens", "of prompts in a convoy; beyond it they come apart"),
    "limit_share": (0.75, 0.4, 1, "share", "of a limit at the 99th percentile that the mean keeps to"),
    "engine_nim": (1, 0.6, 1.8, "factor", "on steps of NIM 1.0 (2024)"),
    "engine_2024": (1, 0.6, 1.8, "factor", "on steps of TensorRT-LLM 0.9 (2024)"),
    "engine_mlperf": (1, 0.5, 1.5, "factor", "on steps of MLPerf submissions, tuned by hand"),
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
    firmness = _PRIOR_KIND if NAMES[index] in _KINDS else _PRIOR
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
