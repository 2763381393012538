"""Fits the constants of the performance model, once, over published measurements, and writes them with their residuals.

    python -m bench.sized.fit --data FILE.csv [--write]

Needs scipy, which sovctl does not: run it in an environment that has both. Constants are global. To see how far they
carry, the same fit is made four times without a quarter of the model-GPU pairs each, and those are then predicted. The
bands come from both, a half each: what a plan asks about may be a pair that was measured, or one that nobody measured.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from scipy.optimize import least_squares

from bench.sized.rows import Row, read_rows
from bench.sizing import bands, table

_FILE = Path(__file__).resolve().parents[2] / "engine/catalog/calibration.yaml"
_SEED = 20260825  # of the split, as in the data's own
# How firmly constants stay near their starting values, which are plausible by themselves: without it the fit ran to the
# ends of their ranges and foretold unseen pairs worse (throughput 16.1 and p90 47 % where it was 15.5 and 45; three
# splits, model of 2026-11-21).
_PRIOR = 1.2
_WEIGHT_TTFT = 0.5  # it is the noisiest of the three

# name: start, least, most, unit, what it is
_CONSTANTS: dict[str, tuple[float, float, float, str, str]] = {
    **{
        f"arithmetic_{generation}": (0.6, 0.2, 1.0, "share", f"of the dense peak that products reach on {generation}")
        for generation in ("sm80", "sm89", "sm90", "sm100", "sm120", "cdna3", "cdna4")
    },
    "arithmetic_fp8": (0.85, 0.25, 1.2, "factor", "on that share in FP8"),
    "arithmetic_fp4": (0.6, 0.25, 1.2, "factor", "on that share in FP4"),
    "arithmetic_experts": (0.5, 0.1, 1.2, "factor", "on that share for experts, whose batches are small"),
    "attention_share": (0.7, 0.2, 1.2, "factor", "on the bf16 share for attention scores in a prefill"),
    "hbm_weights": (0.85, 0.4, 1.0, "share", "of the memory bandwidth when weights are read"),
    "hbm_cache": (0.6, 0.15, 1.0, "share", "of the memory bandwidth when the cache is read"),
    "cache_fp8": (1.2, 0.8, 2.0, "factor", "on the time per byte where the cache is FP8; 2 is no faster than bf16"),
    "cache_fp8_2024": (1.5, 0.8, 2.5, "factor", "the same in engines of 2024"),
    "links": (0.6, 0.1, 1.0, "share", "of the links' bandwidth in an all-reduce"),
    "exchange_us": (12, 1, 80, "us", "latency of an all-reduce over NVLink"),
    "exchange_pcie_us": (25, 1, 200, "us", "latency of an all-reduce over PCIe"),
    "layer_us": (15, 0.1, 30, "us", "software and launches per layer"),
    "layer_2024_us": (20, 0.1, 80, "us", "the same in engines of 2024"),
    "layer_experts_us": (40, 0.1, 150, "us", "the same for a layer with experts"),
    "step_us": (300, 5, 5000, "us", "software per step"),
    "sequence_us": (3, 0.01, 60, "us", "software per sequence and step"),
    "server_us": (5, 0.01, 200, "us", "the same behind a server that streams"),
    "server_2024_us": (10, 0.01, 200, "us", "the same behind a server of 2024"),
    "first_ms": (5, 0.1, 60, "ms", "before a prefill begins"),
    "first_vllm_ms": (30, 1, 400, "ms", "the same behind the HTTP server of vLLM and SGLang"),
    "corner": (3, 1, 12, "exponent", "how sharply arithmetic and reading take over from each other"),
    "max_batch": (512, 64, 4096, "sequences", "that an offline run keeps in flight"),
    "queue_closed": (0.56, 0.1, 2, "prefills", "of the others that a closed loop's request waits for"),
    "queue_chunked": (
        0.3,
        0.05,
        2,
        "prefills",
        "the same where prompts are prefilled in chunks: vLLM, SGLang",
    ),
    "convoy_tokens": (100_000, 5_000, 5_000_000, "tokens", "of prompts that ask together before they come apart"),
    "limit_share": (0.75, 0.4, 1, "share", "of a limit at the 99th percentile that the mean keeps to"),
    "engine_nim": (1, 0.6, 1.8, "factor", "on steps of NIM 1.0 (2024)"),
    "engine_2024": (1, 0.6, 1.8, "factor", "on steps of TensorRT-LLM 0.9 (2024)"),
    "engine_mlperf": (1, 0.5, 1.5, "factor", "on steps of MLPerf submissions, tuned by hand"),
    "engine_vllm": (1, 0.6, 2, "factor", "on steps of vLLM and SGLang"),
}
_NAMES = list(_CONSTANTS)


def main() -> None:
    """Fit, say how good it is, write when asked to."""
    parser = argparse.ArgumentParser(description="Fit the constants of the performance model.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="write engine/catalog/calibration.yaml")
    options = parser.parse_args()
    rows, unknown = read_rows(options.data)
    print(f"{len(rows)} rows, {sum(unknown.values())} left out")
    start = [math.log(_CONSTANTS[name][0]) for name in _NAMES]
    fitted = _fit(rows, start)
    print(table([(rows, _reader(fitted))]))
    print("every pair predicted by a fit that has not seen it:")
    unseen = [(apart, _reader(_fit(kept, fitted))) for kept, apart in folds(rows, lambda row: (row.model, row.gpu))]
    print(table(unseen))
    if options.write:
        _write(options.data, rows, fitted, bands([(rows, _reader(fitted)), *unseen]))


def _fit(rows: Sequence[Row], start: Sequence[float]) -> list[float]:
    least = [math.log(_CONSTANTS[name][1]) for name in _NAMES]
    most = [math.log(_CONSTANTS[name][2]) for name in _NAMES]

    def residuals(x: Sequence[float]) -> list[float]:
        constant = _reader(x)
        found = []
        for row in rows:
            computed = row.computed(constant)
            for name, value in computed.items():
                weight = _WEIGHT_TTFT if name == "ttft" else 1.0
                found.append(weight * math.log(value / row.measured[name]))
        found += [_PRIOR * (value - math.log(_CONSTANTS[name][0])) for name, value in zip(_NAMES, x, strict=True)]
        return found

    result = least_squares(
        residuals, start, bounds=(least, most), loss="soft_l1", f_scale=0.15, max_nfev=40, ftol=1e-4, diff_step=1e-3
    )
    return [float(value) for value in result.x]


def _reader(x: Sequence[float]) -> Callable[[str], float]:
    values = {name: math.exp(value) for name, value in zip(_NAMES, x, strict=True)}
    return values.__getitem__


def folds(
    rows: Sequence[Row], key: Callable[[Row], Hashable], number: int = 4
) -> Iterator[tuple[list[Row], list[Row]]]:
    """The rows to fit and the rows to foretell, `number` times; rows of one key stay together."""
    keys = sorted({key(row) for row in rows}, key=str)
    random.Random(_SEED).shuffle(keys)
    for first in range(number):
        out = set(keys[first::number])
        yield [row for row in rows if key(row) not in out], [row for row in rows if key(row) in out]


def _write(data: Path, rows: Sequence[Row], fitted: Sequence[float], limits: Mapping[str, Any]) -> None:
    constant = _reader(fitted)
    content = {
        "made_by": "bench/sized/fit.py",
        "source": f"published measurements, {data.name}: MLPerf v5.1 and v6.0, TensorRT-LLM, NIM, vLLM, SGLang",
        "date": datetime.now(UTC).date(),
        "rows": len(rows),
        "constants": {
            name: {"value": float(f"{constant(name):.4g}"), "unit": _CONSTANTS[name][3], "about": _CONSTANTS[name][4]}
            for name in _NAMES
        },
        "bands": limits,
    }
    _FILE.write_text(
        "# Made by bench/sized/fit.py; edit that, not this. See engine/sizing/calibration.py.\n"
        + yaml.safe_dump(content, sort_keys=False, width=120)
    )


if __name__ == "__main__":
    main()
