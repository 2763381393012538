"""The sizing model is as close to published measurements as it promises."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from bench.sized.rows import read_rows
from sovctl.engine.sizing.calibration import load_calibration

MEASURED = Path(__file__).resolve().parents[2].parent / "shared/catalog/validation_public.csv"
CONSTANT = load_calibration().constant


@pytest.mark.shared
@pytest.mark.skipif(not MEASURED.exists(), reason="the published measurements are not at hand")
def test_published_measurements_are_met_as_promised() -> None:
    rows, _ = read_rows(MEASURED)
    assert len(rows) > 900
    misses: dict[str, list[float]] = {"throughput": [], "itl": [], "ttft": []}
    inside = 0
    for row in rows:
        for name, value in row.computed(CONSTANT).items():
            ratio = row.measured[name] / value
            misses[name].append(abs(1 / ratio - 1))
            band = load_calibration().bands[row.regime.value][name]
            inside += band.p10 <= ratio <= band.p90
    for name, bar in {"throughput": 0.12, "itl": 0.12, "ttft": 0.20}.items():
        assert median(misses[name]) <= bar
    assert 0.72 <= inside / sum(map(len, misses.values())) <= 0.88
