"""Three loads of a published server foretell its others: what `sovctl size calibrate` is for."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from statistics import median

import pytest

from bench.sized.rows import Row, read_rows
from sovctl.engine.catalog.gpus import load_gpus
from sovctl.engine.catalog.models import load_models
from sovctl.engine.sizing.pool.load_test_results import Measurement
from sovctl.engine.sizing.pool.server import Server
from sovctl.engine.sizing.pool.site_calibration import calibrate, ratios

DAY = date(2026, 11, 21)
MEASURED = Path(__file__).resolve().parents[2].parent / "shared/catalog/validation_public.csv"
MODELS = {"llama-3-8b": "llama-3.1-8b", "llama-3-70b": "llama-3.1-70b", "gpt-oss-120b": "gpt-oss-120b"}
GPUS = {"A100-80": "A100-80GB-SXM", "H100": "H100-80GB-SXM", "H200": "H200-141GB-SXM"}


def as_measured(row: Row) -> Measurement:
    took = row.measured
    return Measurement(
        row.made_by,
        row.clients or 1,
        row.input_tokens,
        row.output_tokens,
        took["throughput"],
        took.get("ttft"),
        took.get("itl"),
        100,
    )


def server_of(row: Row) -> Server:
    return Server(
        model=load_models()[MODELS[row.model]], gpu=load_gpus()[GPUS[row.gpu]], precision=row.replica.precision,
        tensor_parallel_size=row.replica.tensor_parallel_size, pipeline_parallel_size=1, max_model_len=32768,
        max_num_seqs=1024, kv_cache_dtype_bytes=row.replica.kv_cache_dtype_bytes, gpu_memory_utilization=0.9,
        kv_cache_memory_bytes=None, engine_version="0.32.0",
    )  # fmt: skip


@pytest.mark.shared
@pytest.mark.skipif(not MEASURED.exists(), reason="the published measurements are not at hand")
def test_three_measured_loads_predict_the_other_loads() -> None:
    groups: dict[Server, list[Row]] = {}
    for row in read_rows(MEASURED)[0]:
        if row.kind == "closed_loop" and row.clients and row.replicas == 1 and row.model in MODELS:
            groups.setdefault(server_of(row), []).append(row)
    before, after = [], []
    for server, rows in groups.items():
        rows.sort(key=lambda row: row.clients or 0)
        known = [rows[0], rows[len(rows) // 2], rows[-1]]
        asked = [as_measured(row) for row in rows if row not in known]
        if len({row.clients for row in known}) < 3 or not asked:
            continue
        made = calibrate(server, [as_measured(row) for row in known], source=("x",), day=DAY)
        for name in ("throughput", "itl"):
            before += [abs(1 / each - 1) for each in ratios(server, asked)[name]]
            after += [abs(1 / each - 1) for each in ratios(server, asked, factor=made.factor)[name]]
    assert len(after) > 100
    assert median(after) <= 0.10, f"{median(before):.3f} before, {median(after):.3f} after"
    assert median(after) < median(before)
