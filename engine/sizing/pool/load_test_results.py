"""Parses load test results of vllm bench serve, GuideLLM and AIPerf. Pure.

    measurements = parse_measurements(Path("result.json").read_bytes())
    measurements[0].in_flight, measurements[0].ttft_s

Formats, read 2026-11-21: vllm-project/vllm `vllm/benchmarks/serve.py` (`--save-result`, also `--append-result`: one
object a line); GuideLLM 0.8.1 `benchmark/schemas/` (benchmarks.json); AIPerf 0.13.0 `common/models/export_models.py`,
schema 1.4 (profile_export_aiperf.json). Requests in flight are the tool's mean, or rate x duration (Little's law) if
the tool reports none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from sovctl.support.errors import InputError


@dataclass(frozen=True, slots=True)
class Measurement:
    """Measurement of a server at one load."""

    tool: str
    in_flight: float
    """Mean number of requests."""
    input_tokens: float
    """Mean tokens of a prompt."""
    output_tokens: float
    """Mean tokens of an answer."""
    tokens_per_s: float
    """Output tokens per second."""
    ttft_s: float | None
    itl_s: float | None
    requests: int
    is_open: bool = False
    """Whether arrivals were independent of answers (open load)."""


def parse_measurements(data: bytes, *, where: str = "") -> list[Measurement]:
    """Return every measurement of a file.

    Args:
        where: name of the file, for messages.

    Raises:
        InputError: unknown format, or a value out of range.
    """
    documents = list(_documents(data, where))
    found: list[Measurement] = []
    for index, document in enumerate(documents):
        place = where if len(documents) == 1 else f"{where}: line {index + 1}"
        for knows, read in _TOOLS:
            if isinstance(document, dict) and knows(document):
                found += read(document, place)
                break
        else:
            raise InputError(
                "unknown format; expected a result of vllm bench serve, GuideLLM or AIPerf",
                where=place,
                hint="vllm bench serve --save-result; guidellm's benchmarks.json; profile_export_aiperf.json",
            )
    if not found:
        raise InputError("no measurements found", where=where)
    return found


def _documents(data: bytes, where: str) -> Iterator[Any]:
    try:
        yield json.loads(data)
        return
    except (ValueError, RecursionError):
        lines = [line for line in data.splitlines() if line.strip()]
    try:
        whole = [json.loads(line) for line in lines]
    except (ValueError, RecursionError):
        whole = []
    if len(whole) < 2:
        raise InputError("invalid JSON", where=where)
    yield from whole


_MAX_VALUE = 1e12  # largest plausible count or time


def _at(document: Any, *path: str) -> Any:
    """Return the value at a path; None if absent."""
    for step in path:
        document = document.get(step) if isinstance(document, dict) else None
    return document


class _Reader:
    """Reads numbers of one document by path; each must be above 0 and at most `_MAX_VALUE`."""

    def __init__(self, document: Any, where: str) -> None:
        self.document, self.where = document, where

    def optional(self, *path: str) -> float | None:
        value = _at(self.document, *path)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MAX_VALUE:
            bound = f" and at most {_MAX_VALUE:g}" if isinstance(value, int | float) and value > _MAX_VALUE else ""
            message = f"expected a number above 0{bound}, got {value!r:.40}"
            raise InputError(message, where=f"{self.where}: {'.'.join(path)}")
        return float(value)

    def number(self, *path: str) -> float:
        found = self.optional(*path)
        if found is None:
            raise InputError("missing number", where=f"{self.where}: {'.'.join(path)}")
        return found


_MAX_FAILED_SHARE = 0.05
"""Maximum fraction of failed requests in a valid load test; guess, 2026-11-22."""


def _refuse_failures(document: Any, answered: float, path: tuple[str, ...], where: str) -> None:
    """Raise `InputError` if too many requests failed, because failures make the other requests faster."""
    failed = _at(document, *path)
    if isinstance(failed, bool) or not isinstance(failed, int | float) or not 0 < failed <= _MAX_VALUE:
        return
    if failed > _MAX_FAILED_SHARE * (answered + failed):
        raise InputError(
            f"expected at most {_MAX_FAILED_SHARE * 100:.0f} % of the requests to fail, got {failed:.0f} of "
            f"{answered + failed:.0f}",
            where=f"{where}: {'.'.join(path)}",
            hint="fix the cause of the failures and measure again",
        )


def _vllm(document: Mapping[str, Any], where: str) -> Iterator[Measurement]:
    read = _Reader(document, where)
    requests, rate = read.number("completed"), read.number("request_throughput")
    _refuse_failures(document, requests, ("failed",), where)
    input_tokens = read.number("total_input_tokens") / requests
    output_tokens = read.number("total_output_tokens") / requests
    ttft_ms, itl_ms = read.optional("mean_ttft_ms"), read.optional("mean_itl_ms") or read.optional("mean_tpot_ms")
    took_ms = read.optional("mean_e2el_ms") or (ttft_ms or 0) + (itl_ms or 0) * (output_tokens - 1)
    is_open = isinstance(document.get("request_rate"), int | float) and isfinite(document["request_rate"])
    limit = read.optional("max_concurrency")
    littles = rate * took_ms * 1e-3
    in_flight = littles if is_open or limit is None else min(limit, requests)
    if in_flight <= 0:
        raise InputError("missing mean_e2el_ms, or mean_ttft_ms and mean_tpot_ms", where=where)
    yield Measurement(
        "vllm bench serve", in_flight, input_tokens, output_tokens, read.number("output_throughput"),
        _seconds(ttft_ms), _seconds(itl_ms), int(requests), is_open,
    )  # fmt: skip


def _guidellm(document: Mapping[str, Any], where: str) -> Iterator[Measurement]:
    for index, benchmark in enumerate(document["benchmarks"]):
        read = _Reader(benchmark, f"{where}: benchmarks[{index}]")

        def mean(name: str, read: _Reader = read) -> float:
            return read.number("metrics", name, "successful", "mean")

        kind = _at(benchmark, "config", "strategy", "type_")
        requests = read.number("metrics", "request_totals", "successful")
        _refuse_failures(benchmark, requests, ("metrics", "request_totals", "errored"), read.where)
        yield Measurement(
            "GuideLLM",
            mean("request_concurrency"),
            mean("prompt_token_count"),
            mean("output_token_count"),
            mean("output_tokens_per_second"),
            _seconds(read.optional("metrics", "time_to_first_token_ms", "successful", "mean")),
            _seconds(read.optional("metrics", "inter_token_latency_ms", "successful", "mean")),
            int(requests),
            is_open=kind in ("constant", "poisson", "async"),
        )


def _aiperf(document: Mapping[str, Any], where: str) -> Iterator[Measurement]:
    read = _Reader(document, where)
    units = {"request_latency": "ms", "time_to_first_token": "ms", "inter_token_latency": "ms"}
    for name, unit in units.items():
        given = _at(document, name, "unit")
        if given not in (unit, None):
            raise InputError(f"expected {unit}, got {given!r:.20}", where=f"{where}: {name}.unit")
    requests = read.number("request_count", "avg")
    _refuse_failures(document, requests, ("error_request_count", "avg"), where)
    littles = read.number("request_throughput", "avg") * read.number("request_latency", "avg") * 1e-3
    yield Measurement(
        "AIPerf",
        littles,
        read.number("input_sequence_length", "avg"),
        read.number("output_sequence_length", "avg"),
        read.number("output_token_throughput", "avg"),
        _seconds(read.optional("time_to_first_token", "avg")),
        _seconds(read.optional("inter_token_latency", "avg")),
        int(requests),
    )


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds * 1e-3


_TOOLS: tuple[
    tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any], str], Iterator[Measurement]]], ...
] = (
    (lambda each: "output_throughput" in each and "completed" in each, _vllm),
    (lambda each: isinstance(each.get("benchmarks"), list), _guidellm),
    (lambda each: isinstance(each.get("output_token_throughput"), dict), _aiperf),
)
