"""Prints a comparison of two models: one row for each figure, one column for each model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sovctl.engine.evaluation.comparison import Comparison, ModelSheet
from sovctl.engine.evaluation.marks import binomial_error
from sovctl.engine.evaluation.quality import NOT_MEASURED, difference_error
from sovctl.engine.sizing.explain.step import band, both_units
from sovctl.engine.sizing.performance.capacity import Interval, Point
from sovctl.engine.sizing.pool.candidate import CandidateMemory, CandidateSpeed
from sovctl.engine.sizing.report.summary import interval

from .. import output
from .size import count

_UNKNOWN = "unknown, see below"
_NONE = "-"


def show(found: Comparison) -> None:
    """Print the load, the table, and texts that are too long for it."""
    if found.hardware:
        output.line(f"{found.hardware}; {found.load}")
    columns = [_rows(each) for each in found.models]
    rows = [(name, *(each[name] for each in columns)) for name in columns[0]]
    output.table(("", *(_title(each) for each in found.models)), rows)
    output.line()
    output.line(f"quality: {found.conclusion}")
    for each in dict.fromkeys(found.models):
        for line in _notes(each):
            output.line(f"{each.entry.id}: {line}")
    if any(isinstance(each.speed, CandidateSpeed) for each in found.models):
        output.line("speed is an estimate; the band contains 80 % of published measurements, plans use its bad edge")


def _title(sheet: ModelSheet) -> str:
    names = f" ({', '.join(sheet.names)})" if sheet.names else ""
    return f"{sheet.entry.id}{names}"


def _rows(sheet: ModelSheet) -> dict[str, str]:
    """Return the figures by name; both models have the same names in the same order."""
    return {**_quality(sheet), **_speed(sheet.speed), **_memory(sheet.memory), **_licence(sheet)}


def _quality(sheet: ModelSheet) -> dict[str, str]:
    mark = sheet.quality
    if mark is None:
        return {"correct answers": NOT_MEASURED, "evaluated": _NONE, "tokens/s, measured": NOT_MEASURED}
    error = binomial_error(mark.score, mark.total) * 100
    speed = f"{mark.tokens / mark.seconds:,.0f} (one request at a time)" if mark.seconds else NOT_MEASURED
    return {
        "correct answers": f"{mark.score:.1%} of {mark.total}, error {error:.1f} points",
        "evaluated": f"{mark.time}, pool {mark.pool}, engine {mark.engine_version}",
        "tokens/s, measured": speed,
    }


def _speed(speed: CandidateSpeed | str) -> dict[str, str]:
    names = (
        "layout of a replica",
        "TTFT, estimate",
        "ITL, estimate",
        "tokens/s, estimate",
        "largest load, estimate",
        "source of estimates",
        "GPUs for the workload",
    )
    if isinstance(speed, str):
        return dict.fromkeys(names, _UNKNOWN)
    point, limit = speed.point, speed.limit
    over = f"above the largest load ({limit.binding})"
    generated = speed.is_generative
    values = (
        f"{speed.spread}, {count(speed.gpus, 'GPU')}",
        band(point.ttft) if point else over,
        (band(point.itl) if point else over) if generated else _NONE,
        (_tokens(point.tokens_per_s) if point else over) if generated else _NONE,
        f"{limit.point.in_flight:,.0f} in flight ({limit.binding})",
        speed.provenance.value,
        _need(speed),
    )
    return dict(zip(names, values, strict=True))


def _tokens(value: Interval) -> str:
    return f"{value.middle:,.0f} (band {value.low:,.0f} to {value.high:,.0f})"


def _need(speed: CandidateSpeed) -> str:
    if speed.need is None:
        return "no workload"
    if speed.gpus_needed is None:
        return "more nodes, for the reserve"
    return f"{speed.gpus_needed} ({speed.need.with_reserve} x {speed.gpus}, with reserve)"


def _memory(memory: CandidateMemory | str) -> dict[str, str]:
    names = ("weights", "KV cache of a token", "KV cache of a request")
    if isinstance(memory, str):
        return dict.fromkeys(names, _UNKNOWN)
    request = f"{both_units(memory.kv_request_bytes)} ({memory.request_tokens:,} tokens)"
    values = (f"{both_units(memory.weights_bytes)} ({memory.precision})", both_units(memory.kv_token_bytes), request)
    return dict(zip(names, values, strict=True))


def _licence(sheet: ModelSheet) -> dict[str, str]:
    licence = sheet.licence
    approval = {None: "not in site.yaml", True: "approved in site.yaml", False: "not approved in site.yaml"}
    needed = approval[sheet.is_approved] if licence.needs_approval else "not required"
    return {"licence": licence.name, "commercial use": licence.commercial_use, "approval": needed}


def _notes(sheet: ModelSheet) -> list[str]:
    found = []
    if isinstance(sheet.speed, str):
        found.append(f"speed not estimated: {sheet.speed}")
    else:
        found.append(f"estimate: {sheet.speed.provenance_words}")
        if (own := sheet.speed.calibration) is not None:
            few, many = own.in_flight
            found.append(
                f"measured by the site on {own.date}: a step takes {own.factor:g} times as long as on published "
                f"servers; {own.points} points, {few:.0f} to {many:.0f} in flight"
            )
    if isinstance(sheet.memory, str):
        found.append(f"memory not computed: {sheet.memory}")
    licence = sheet.licence
    if licence.needs_approval:
        found.append(f"conditions of {licence.name}: {licence.thresholds or 'not in the catalogue; read the licence'}")
    if licence.eu_note:
        found.append(f"in the EU: {licence.eu_note}")
    if not licence.verified:
        found.append("the licence was not verified; read it")
    return found


def document(found: Comparison) -> dict[str, Any]:
    """Return plain values; units are part of the key names. Unknown values are null, with their reason."""
    one, other = (each.quality for each in found.models)
    error = difference_error(one, other) if one and other and one.questions_sha256 == other.questions_sha256 else None
    return {
        "hardware": found.hardware or None,
        "load": found.load,
        "quality": {"conclusion": found.conclusion, "difference_error": error},
        "models": [_model(each) for each in found.models],
    }


def _model(sheet: ModelSheet) -> dict[str, Any]:
    mark, speed, memory, licence = sheet.quality, sheet.speed, sheet.memory, sheet.licence
    measured = (
        None
        if mark is None
        else {
            **mark.to_json(),
            "correct": mark.correct,
            "score": mark.score,
            "error": binomial_error(mark.score, mark.total),
        }
    )
    return {
        "id": sheet.entry.id,
        "models": list(sheet.names),
        "quality": measured,
        "speed": None if isinstance(speed, str) else _speed_values(speed),
        "speed_unknown": speed if isinstance(speed, str) else None,
        "memory": None if isinstance(memory, str) else asdict(memory),
        "memory_unknown": memory if isinstance(memory, str) else None,
        "licence": {
            "name": licence.name,
            "spdx": licence.spdx,
            "commercial_use": licence.commercial_use,
            "thresholds": licence.thresholds,
            "needs_approval": licence.needs_approval,
            "is_approved": sheet.is_approved,
            "verified": licence.verified,
        },
    }


def _speed_values(speed: CandidateSpeed) -> dict[str, Any]:
    own, need = speed.calibration, speed.need
    return {
        "spread": speed.spread,
        "gpus_per_replica": speed.gpus,
        "gpus_needed": speed.gpus_needed,
        "replicas_with_reserve": need.with_reserve if need else None,
        "provenance": speed.provenance.value,
        "provenance_words": speed.provenance_words,
        "at_load": _point(speed.point) if speed.point else None,
        "at_limit": {**_point(speed.limit.point), "binding": speed.limit.binding.value},
        "calibration": None if own is None else own.model_dump(mode="json"),
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "in_flight": round(point.in_flight, 2),
        "ttft_s": interval(point.ttft),
        "itl_s": interval(point.itl),
        "output_tokens_per_s": interval(point.tokens_per_s),
    }
