"""The catalogue as rows for output: every figure with unit, kind, source and date. Pure.

summaries(catalog)["models"][0]                  # one line per entry
rows_of(catalog.gpus["B200-SXM"])                # every figure of one entry
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from . import Catalog
from .figure import Figure, Kind
from .gpus import Gpu
from .mig import SOURCE as MIG_SOURCE
from .mig import slices_of
from .models import ModelEntry
from .parameters import count_parameters
from .platforms import Platform, ScalableUnit

Entry = ModelEntry | Gpu | Platform | ScalableUnit


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A figure of an entry."""

    figure: str
    """Path in the entry."""
    value: Any
    unit: str
    kind: Kind
    source: str
    date: str

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


# Unit by suffix of the figure's name; the first match applies.
_UNITS = (
    ("_tb_s", "TB/s"),
    ("tflops", "TFLOP/s"),
    ("gb_s_per_gpu_per_direction", "GB/s"),
    ("gb_s_per_direction", "GB/s"),
    ("_gb_s", "GB/s"),
    ("_gb", "GB"),
    ("_mib", "MiB"),
    ("_kw", "kW"),
    ("power_mw_per_su", "MW"),
    ("_w", "W"),
    ("_b", "1e9"),
    ("max_context", "tokens"),
    ("window", "tokens"),
    ("attention_chunk_size", "tokens"),
    ("kv_bytes_per_token_bf16", "bytes"),
    ("state_bytes", "bytes"),
)
_NOT_FIGURES = frozenset({"id", "source", "kind", "date", "verified", "checks", "sysctls", "limits", "profile"}) | {
    "usable_source",
    "usable_kind",
}


def entries(catalog: Catalog) -> dict[str, Mapping[str, Entry]]:
    """Return all entries by part, then by id."""
    return {
        "models": catalog.models,
        "gpus": catalog.gpus,
        "platforms": catalog.platforms,
        "scalable-units": catalog.scalable_units,
    }


def find(catalog: Catalog, name: str) -> Entry | None:
    """Return the entry with this id from any part; None if it does not exist."""
    return next((part[name] for part in entries(catalog).values() if name in part), None)


def rows_of(entry: Entry) -> list[FigureRow]:
    """Return all figures of one entry."""
    rows = list(_rows(entry, entry.model_dump(mode="json"), ""))
    if isinstance(entry, ModelEntry):
        counted = count_parameters(entry)
        if counted is not None:
            source, day = "counted over the shape by sovctl", entry.date.isoformat()
            rows.insert(0, FigureRow("parameters_active", counted.active, "", entry.kind, source, day))
            rows.insert(0, FigureRow("parameters_total", counted.total, "", entry.kind, source, day))
    if isinstance(entry, Gpu):
        rows += _slices(entry)
    if isinstance(entry, Platform):
        for name in type(entry.checks).model_fields:
            figure = getattr(entry.checks, name)
            if isinstance(figure, Figure):
                rows.append(
                    FigureRow(name, figure.value, figure.unit, figure.kind, figure.source, figure.date.isoformat())
                )
    return rows


def _slices(gpu: Gpu) -> Iterator[FigureRow]:
    """Yield a row for each MIG profile of a GPU: number of slices, and the share of one slice."""
    for name, profile in slices_of(gpu.id).items():
        (memory, of_memory), (compute, of_compute) = profile.memory, profile.compute
        share = f"{memory}/{of_memory} of memory and bandwidth, {compute}/{of_compute} of arithmetic"
        text = f"{profile.instances} x {share}"
        yield FigureRow(f"mig.{name}", text, "", profile.kind, MIG_SOURCE, profile.date.isoformat())


def _rows(entry: Entry, value: Any, path: str) -> Iterator[FigureRow]:
    if isinstance(value, dict):
        for key, item in value.items():
            if path or key not in _NOT_FIGURES:
                if path and key in ("source", "verified"):
                    continue
                yield from _rows(entry, item, f"{path}.{key}".lstrip("."))
        return
    if value in (None, "", [], {}) and not path.startswith(("dense_tflops", "usable_mib", "max_power")):
        return
    kind, source = _provenance(entry, path)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        for number, item in enumerate(value):
            yield from _rows(entry, item, f"{path}[{number}]")
        return
    if isinstance(value, list):
        value = sorted(value)  # sets have an undefined order
    elif value is None and not path.startswith("dense_tflops"):
        value = "not known"  # for arithmetic, None means that the GPU does not support it
    yield FigureRow(path, value, _unit(path), kind, source, entry.date.isoformat())


def _provenance(entry: Entry, path: str) -> tuple[Kind, str]:
    """Return kind and source of one figure; some parts of an entry have their own."""
    whole = "; ".join(entry.source)
    if isinstance(entry, Gpu) and path.startswith("usable"):
        if entry.usable_mib is None:
            return "guess", "not published: label x 1024 MiB x 0.99"
        return entry.usable_kind, entry.usable_source or whole
    if isinstance(entry, ModelEntry):
        part = path.partition(".")[0]
        if part == "licence":
            return ("vendor" if entry.licence.verified else "guess"), "; ".join(entry.licence.source)
        if part == "languages":
            source = entry.languages.source or "not known"
            return ("vendor" if entry.languages.verified else "guess"), source
        if part == "vllm":
            return "community", entry.vllm.source
        if path.startswith("params.published"):
            return "vendor", "vendor's statement; " + whole
    return entry.kind, whole


def _unit(path: str) -> str:
    parts = path.split(".")
    return next((unit for end, unit in _UNITS for part in parts if part.endswith(end)), "")


def summaries(catalog: Catalog) -> dict[str, list[dict[str, Any]]]:
    """Return one row per entry, by part: a summary with kind, source and date."""
    return {
        part: [{"id": name, "about": _about(entry), **_origin(entry)} for name, entry in group.items()]
        for part, group in entries(catalog).items()
    }


def _origin(entry: Entry) -> dict[str, Any]:
    return {"kind": entry.kind, "date": entry.date.isoformat(), "source": "; ".join(entry.source)}


def _about(entry: Entry) -> str:
    if isinstance(entry, ModelEntry):
        total, active = entry.params.published_total_b, entry.params.published_active_b
        size = f"{total:g}B" if total == active else f"{total:g}B-A{active:g}B"
        context = f", {entry.max_context} tokens" if entry.max_context else ""
        return f"{entry.role}, {size}, {entry.attention}, {entry.released_dtype}{context}, {entry.licence.name}"
    if isinstance(entry, Gpu):
        memory = f"{entry.usable_mib} MiB" if entry.usable_mib else f'"{entry.memory_label_gb} GB"'
        flops = entry.dense_tflops
        fp8 = f", {flops.fp8:g} TFLOP/s FP8" if flops.fp8 else ""
        return f"{memory}, {entry.memory_bandwidth_gb_s:g} GB/s, {flops.bf16:g} TFLOP/s bf16{fp8}, {entry.tdp_w} W"
    if isinstance(entry, Platform):
        power = f", {entry.max_power_kw:g} kW" if entry.max_power_kw else ""
        gpus = f"{entry.system_gpus} x {entry.gpu}" if entry.gpu else "no GPU"
        return f"{gpus}{power}, {entry.form}"
    size = f"{entry.nodes_per_su} nodes" if entry.nodes_per_su else f"{entry.racks_per_su} racks"
    return f"{size} of {entry.platform}"
