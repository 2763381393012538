"""A site's own measurements: the model comes nearer to them, its bands narrow, and only for servers like those."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from math import exp
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.catalog.calibrations import ServerCalibration, calibrations_text, read_calibrations
from sovctl.engine.catalog.gpus import load_gpus
from sovctl.engine.catalog.models import load_models
from sovctl.engine.sizing.memory.weights import Precision
from sovctl.engine.sizing.performance.calibration import load_calibration, with_own_bands
from sovctl.engine.sizing.pool.load_test_results import Measurement
from sovctl.engine.sizing.pool.server import Server
from sovctl.engine.sizing.pool.site_calibration import calibrate
from sovctl.support.errors import InputError, SpecError

DAY = date(2026, 11, 21)


def server(model: str = "llama-3.3-70b", gpu: str = "H100-80GB-SXM", precision: Precision = Precision.BF16) -> Server:
    return Server(
        model=load_models()[model], gpu=load_gpus()[gpu], precision=precision, tensor_parallel_size=4,
        pipeline_parallel_size=1, max_model_len=32768, max_num_seqs=256, kv_cache_dtype_bytes=2,
        gpu_memory_utilization=0.9, kv_cache_memory_bytes=None, engine_version="0.32.0",
    )  # fmt: skip


def measured(slower: float = 1.0, loads: tuple[float, ...] = (1, 8, 32, 64)) -> list[Measurement]:
    """What a server would measure whose steps take `slower` times what the model says."""
    found = []
    for load in loads:
        estimate = server().serving(1024, 512, factor=slower).closed(load, 1024, 512)
        found.append(
            Measurement(
                "invented", load, 1024, 512, estimate.output_tokens_per_s, estimate.ttft_s, estimate.itl_s, requests=100
            )
        )
    return found


@given(st.floats(0.6, 1.8))
def test_a_slower_server_is_found_and_its_bands_narrow(slower: float) -> None:
    made = calibrate(server(), measured(slower), source=("x.json",), day=DAY)
    assert made.factor == pytest.approx(slower, rel=0.04)  # what was published holds it back
    shipped = load_calibration().bands[server().evidence]["closed"]
    for name, band in made.bands.items():
        assert band.p10 < 1 / 1.03 < 1.03 < band.p90, "never sure of itself"
        assert band.p90 / band.p10 < shipped[name].p90 / shipped[name].p10
    assert made.in_flight == (1, 64)


def test_scatter_keeps_the_band_wide_and_the_factor_small() -> None:
    scattered = [
        replace(each, itl_s=(each.itl_s or 0) * exp(sign * 0.5), tokens_per_s=each.tokens_per_s * exp(-sign * 0.5))
        for each, sign in zip(measured(), (1, -1, 1, -1), strict=True)
    ]
    made = calibrate(server(), scattered, source=("x.json",), day=DAY)
    assert made.factor == pytest.approx(1.0, abs=0.05)
    assert made.bands["itl"].p90 > 1.5


def test_two_loads_are_too_few_and_a_longer_request_is_another_pool() -> None:
    with pytest.raises(InputError, match="at least 3 loads"):
        calibrate(server(), measured(loads=(8, 32)) * 4, source=("x.json",), day=DAY)
    with pytest.raises(InputError, match="max_model_len = 1000"):
        calibrate(replace(server(), max_model_len=1000), measured(), source=("x.json",), day=DAY)


def test_it_holds_for_servers_like_the_one_measured_only() -> None:
    made = calibrate(server(), measured(1.3), source=("x.json",), day=DAY)
    like, other = (replace(server(p), calibrations=(made,)) for p in ("llama-3.3-70b", "llama-3.1-70b"))
    assert like.site_calibration == made
    assert other.site_calibration is None
    assert replace(like, tensor_parallel_size=8).site_calibration is None


def test_few_in_flight_say_nothing_of_full_servers() -> None:
    made = calibrate(server(), measured(), source=("x.json",), day=DAY)
    shipped = load_calibration().bands[server().evidence]
    bands = with_own_bands(shipped, made)
    assert bands["closed"]["ttft"] == made.bands["ttft"]
    assert bands["open"]["itl"] == made.bands["itl"]
    assert bands["open"]["ttft"] == shipped["open"]["ttft"]
    assert bands["offline"] == shipped["offline"]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    made = calibrate(server(), measured(1.2), source=("x.json",), day=DAY)
    file = tmp_path / "calibration.yaml"
    file.write_text(calibrations_text((made,)))
    assert read_calibrations(file) == (made,)
    file.write_text(calibrations_text((made, made)))
    with pytest.raises(SpecError):
        read_calibrations(file)
    file.write_text(calibrations_text((made,)).replace(f"factor: {made.factor}", "factor: .nan"))
    with pytest.raises(SpecError) as caught:
        read_calibrations(file)
    assert caught.value.problems[0].where == f"{file}:8: calibrations[0].factor"
    file.write_text(calibrations_text((made,)).replace(f"date: {DAY}", "date: 2026-13-45"))
    with pytest.raises(SpecError, match="1 problem in the calibrations"):
        read_calibrations(file)
    for text in ("", "[]", "calibrations: 3", "a: b", "\x00"):
        file.write_text(text)
        with pytest.raises(InputError):
            read_calibrations(file)


def test_a_calibration_names_what_it_holds_for() -> None:
    made = calibrate(server(), measured(), source=("x.json",), day=DAY)
    assert isinstance(made, ServerCalibration)
    assert made.key == ("llama-3.3-70b", "H100-80GB-SXM", "bf16", 4, 1)
