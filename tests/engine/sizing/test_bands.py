"""Bands: they hold the figure, and the less was measured of a model and a GPU the wider they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.catalog.calibrations import Band, ServerCalibration
from sovctl.engine.catalog.gpus import load_gpus
from sovctl.engine.catalog.mig import slice_gpu
from sovctl.engine.catalog.models import load_models
from sovctl.engine.sizing.demand.classes import ClassDemand
from sovctl.engine.sizing.demand.lengths import Lengths
from sovctl.engine.sizing.demand.pool_demand import PoolDemand
from sovctl.engine.sizing.memory.weights import Precision
from sovctl.engine.sizing.performance.calibration import Evidence, load_calibration
from sovctl.engine.sizing.performance.capacity import Interval, Performance, Provenance
from sovctl.engine.sizing.pool.server import Server
from sovctl.engine.spec.workload import WorkloadKind

CALIBRATION = load_calibration()
REGIMES = ("open", "closed", "offline", "static")


def server(model: str = "llama-3.3-70b", gpu: str = "H100-80GB-SXM") -> Server:
    return Server(
        model=load_models()[model], gpu=load_gpus()[gpu], precision=Precision.FP8, tensor_parallel_size=4,
        pipeline_parallel_size=1, max_model_len=32768, max_num_seqs=256, kv_cache_dtype_bytes=2,
        gpu_memory_utilization=0.9, kv_cache_memory_bytes=None, engine_version="0.32.0",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("model", "gpu", "expected"),
    [
        ("llama-3.3-70b", "H100-80GB-SXM", Evidence.PAIR),
        ("llama-3.1-70b", "H100-80GB-SXM", Evidence.PAIR),
        ("gpt-oss-120b", "L40S", Evidence.APART),
        ("phi-4", "H100-80GB-SXM", Evidence.GPU),
        ("llama-3.3-70b", "L4", Evidence.NONE),
        ("phi-4", "L4", Evidence.NEITHER),
    ],
)
def test_what_was_measured_is_known_by_model_and_gpu(model: str, gpu: str, expected: Evidence) -> None:
    assert server(model, gpu).evidence is expected


def test_a_slice_of_a_gpu_is_a_gpu_that_nobody_measured() -> None:
    slice_ = slice_gpu(load_gpus()["H100-80GB-SXM"], "3g.40gb")
    assert replace(server(), gpu=slice_).evidence is Evidence.NONE


# Of a new model and a new GPU neither says more than the other; both at once say least.
LESS = [*pairwise((Evidence.PAIR, Evidence.APART, Evidence.GPU, Evidence.NEITHER))]
LESS += [*pairwise((Evidence.APART, Evidence.NONE, Evidence.NEITHER))]


@pytest.mark.parametrize("regime", REGIMES)
def test_less_evidence_widens_every_band(regime: str) -> None:
    for more, less in LESS:
        for name, narrow in CALIBRATION.bands[more][regime].items():
            wide = CALIBRATION.bands[less][regime][name]
            assert wide.p10 <= narrow.p10 < 1 < narrow.p90 <= wide.p90
    narrowest, widest = CALIBRATION.bands[Evidence.PAIR][regime], CALIBRATION.bands[Evidence.NEITHER][regime]
    assert any(widest[name].p90 / widest[name].p10 > 1.05 * band.p90 / band.p10 for name, band in narrowest.items())


@given(st.floats(1e-4, 1e6), st.sampled_from(list(Evidence)), st.sampled_from(REGIMES))
def test_a_band_holds_its_figure(middle: float, evidence: Evidence, regime: str) -> None:
    for band in CALIBRATION.bands[evidence][regime].values():
        found = Interval.of(middle, band)
        assert 0 < found.low <= found.middle <= found.high


@given(st.floats(1, 400), st.floats(64, 20_000), st.floats(2, 2_000))
def test_a_gpu_that_nobody_measured_is_planned_more_carefully(
    in_flight: float, input_tokens: float, output_tokens: float
) -> None:
    demand = PoolDemand((_asking(input_tokens, output_tokens),))
    known = server().performance(demand)
    unknown = Performance(
        known.serving, CALIBRATION.bands[Evidence.NONE], known.max_in_flight, known.max_in_flight_binding
    )
    one, other = known.at(in_flight, demand), unknown.at(in_flight, demand)
    assert other.ttft.high >= one.ttft.high
    assert other.itl.high >= one.itl.high
    assert other.tokens_per_s.low <= one.tokens_per_s.low
    assert other.itl.middle == one.itl.middle


def test_own_measurements_are_narrower_than_what_others_measured() -> None:
    demand = PoolDemand((_asking(1000, 500),))
    band = Band(p10=0.95, p90=1.05, rows=4)
    own = ServerCalibration(
        model="llama-3.3-70b", gpu="L4", precision="fp8", tensor_parallel_size=4, pipeline_parallel_size=1,
        factor=1.0, bands={"itl": band, "throughput": band, "ttft": band}, in_flight=(1, 400), points=4,
        source=("run.json",), date=date(2026, 11, 22),
    )  # fmt: skip
    modelled = server(gpu="L4")
    calibrated = replace(modelled, calibrations=(own,))
    widths = [each.performance(demand).at(8, demand).itl for each in (calibrated, server(), modelled)]
    calibrated_width, measured_width, modelled_width = (each.high / each.low for each in widths)
    assert calibrated_width < measured_width < modelled_width


def test_the_words_say_what_stands_behind_a_figure() -> None:
    assert list(Provenance) == ["calibrated", "measured", "modelled"]
    assert len({each.description for each in Evidence}) == len(Evidence)


def _asking(input_tokens: float, output_tokens: float) -> ClassDemand:
    return ClassDemand(
        "asking", WorkloadKind.CHAT, active_users=100, peak_factor=1, input_tokens=Lengths(input_tokens, input_tokens),
        output_tokens=Lengths(output_tokens, output_tokens), prefix_hit_share=0, ttft_s=None, itl_s=None, e2e_s=None,
        calls_per_user_s=0.01,
    )  # fmt: skip
