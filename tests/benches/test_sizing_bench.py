"""The sizing model is as close to published measurements as it promises."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from bench import sizing
from bench.sized import peer
from bench.sized.errors import bands, predict
from bench.sized.parallelism import read_choices
from bench.sized.rows import own_rows, read_rows
from sovctl.engine.sizing.performance.calibration import Evidence, load_calibration

SHARED = Path(__file__).resolve().parents[2].parent / "shared/catalog"
MEASURED = SHARED / "validation_public.csv"
CONSTANT = load_calibration().constant


@pytest.mark.shared
@pytest.mark.skipif(not MEASURED.exists(), reason="the published measurements are not at hand")
def test_published_measurements_are_met_as_promised() -> None:
    rows, _ = read_rows(MEASURED)
    assert len(rows) > 900
    misses: dict[str, list[float]] = {"throughput": [], "itl": [], "ttft": []}
    inside = 0
    bands = load_calibration().bands[Evidence.PAIR]
    for row in rows:
        for name, value in row.computed(CONSTANT).items():
            ratio = row.measured[name] / value
            misses[name].append(abs(1 / ratio - 1))
            band = bands[row.regime.value][name]
            inside += band.p10 <= ratio <= band.p90
    for name, bar in {"throughput": 0.12, "itl": 0.12, "ttft": 0.20}.items():
        assert median(misses[name]) <= bar
    assert 0.72 <= inside / sum(map(len, misses.values())) <= 0.88


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the submitted configurations are not at hand")
def test_submitters_of_mlperf_chose_the_same() -> None:
    choices = read_choices(SHARED / "validation_parallelism.csv")
    assert len(choices) == 95  # of 96: one accelerator is not in the catalogue
    assert sum(choice.agrees for choice in choices) / len(choices) >= 0.85


HEAD = (
    "id,kind,engine,engine_version,model,w_prec,kv_prec,gpu,n_gpus,tp,pp,ep_mode,isl,osl,concurrency,req_per_s,"
    "out_tok_s_total,ttft_ms_mean,itl_ms_mean,flags,source,note\n"
)
ROWS = (
    "a,closed_loop,vllm,0.22,gpt-oss-120b,mxfp4,bf16,H200,2,2,1,,1024,1024,64,,4000,150,15,,invented,\n"
    "b,mlperf_offline,rocm-vllm,,llama-3.1-8b,fp8,fp8,MI325X,8,1,1,,870,129,,,9000,,,,invented,\n"
)


@pytest.mark.parametrize(("isl", "osl", "queue"), [("2048", "512", "queue_closed"), ("1011", "512", ""), ("", "", "")])
def test_only_clients_that_ask_for_one_length_make_convoys(isl: str, osl: str, queue: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(HEAD + ROWS.replace(",1024,1024,64,", f",{isl},{osl},64,"))
    found = {row.id: row.engine.queue for row in read_rows(file)[0]}
    assert found.get("a", "") == queue


def test_the_gpu_with_most_rows_does_not_speak_for_all(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(HEAD + ROWS)
    [row, _] = read_rows(tmp_path / "rows.csv")[0]
    computed = row.computed(CONSTANT)
    many = [replace(row, id=f"many-{n}", measured=computed) for n in range(90)]
    other = replace(row, gpu="other", measured={name: 2 * value for name, value in computed.items()})
    said = predict([*many, *(replace(other, id=f"other-{n}") for n in range(9))], CONSTANT)
    assert bands(said)["closed"]["itl"].p90 == 1
    assert bands(said, lambda row: row.gpu)["closed"]["itl"].p90 == 2


def test_a_band_may_borrow_from_other_regimes(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(HEAD + ROWS)
    closed, offline = read_rows(tmp_path / "rows.csv")[0]
    rows = [
        replace(row, id=f"{row.kind}-{n}", measured={"throughput": times * row.computed(CONSTANT)["throughput"]})
        for row, times in ((closed, 1.0), (offline, 2.0))
        for n in range(50)
    ]
    said = predict(rows, CONSTANT)
    assert bands(said)["closed"]["throughput"].p90 == pytest.approx(1)
    lent = bands(said, borrowed=0.5)
    assert lent["closed"]["throughput"].p90 == pytest.approx(2)
    assert lent["offline"]["throughput"].p10 == pytest.approx(1)
    assert lent["closed"]["throughput"].rows == 50


def test_answers_that_a_row_leaves_out_are_as_long_as_the_task_says(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(
        HEAD + "a,mlperf_offline,,MLPerf v6.0,gpt-oss-120b,mxfp4,fp8,B200,8,,,,5010.6,,,,90000,,,,invented,\n"
    )
    [row], _ = read_rows(tmp_path / "rows.csv")
    assert row.output_tokens == 1278.2


@pytest.mark.parametrize(("kind", "is_data_parallel"), [("mlperf_offline", True), ("mlperf_server", False)])
def test_latent_attention_is_spread_where_only_throughput_counts(
    tmp_path: Path, kind: str, is_data_parallel: bool
) -> None:
    (tmp_path / "rows.csv").write_text(
        HEAD + f"a,{kind},,MLPerf v6.0,deepseek-r1,nvfp4,fp8,B200,8,,,,803.8,3700,,,58000,,,,invented,\n"
    )
    [row], _ = read_rows(tmp_path / "rows.csv")
    assert (row.replica.data_parallel_size == 8) is is_data_parallel


def test_reference_estimator_gets_the_values_of_the_row(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(HEAD + ROWS)
    known, unknown = (peer.question_of(row) for row in read_rows(tmp_path / "rows.csv")[0])
    assert known is not None
    assert (known["model_path"], known["system_name"], known["backend_name"]) == (
        "openai/gpt-oss-120b", "h200_sxm", "vllm",
    )  # fmt: skip
    assert (known["tp_size"], known["batch_size"], known["kvcache_quant_mode"]) == (2, 64, "bfloat16")
    assert unknown is None, "it knows no GPU of AMD"


def test_a_peer_that_cannot_be_installed_is_a_missed_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(peer, "AICONFIGURATOR", replace(peer.AICONFIGURATOR, packages=("./not-there",)))
    (tmp_path / "rows.csv").write_text(HEAD + ROWS)
    found = sizing.beside_peer(read_rows(tmp_path / "rows.csv")[0], CONSTANT)
    [missed] = found["missed"]
    assert missed.startswith("aiconfigurator did not run: pip could not install aiconfigurator")


def test_answers_of_the_reference_estimator_are_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(peer, "AICONFIGURATOR", replace(peer.AICONFIGURATOR, packages=("./not-there",)))
    (tmp_path / "rows.csv").write_text(HEAD + ROWS)
    rows, _ = read_rows(tmp_path / "rows.csv")
    answer = {"tokens_per_s": 4100.0, "ttft_ms": 160.0, "tpot_ms": 14.0}
    kept = tmp_path / "build/bench/aiconfigurator==0.12.0.jsonl"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps([json.dumps(peer.question_of(rows[0]), sort_keys=True), answer]) + "\n")
    said, _ = peer.estimates(rows)
    assert said == {"a": {"throughput": 4100.0, "itl": 0.014, "ttft": 0.16}}


@pytest.mark.parametrize(
    ("is_seen", "median", "p90", "in_band", "names"),
    [
        (True, 11.9, 80.0, 80.0, []),
        (True, 12.1, 80.0, 80.0, ["median"]),
        (False, 9.9, 44.9, 72.0, []),
        (False, 9.1, 45.1, 80.0, ["p90 of the error"]),
        (False, 10.1, 45.1, 71.0, ["median", "p90 of the error", "in the band"]),
        (True, 5.0, 10.0, 89.0, ["in the band"]),
    ],
)
def test_seen_and_unseen_rows_have_bars_of_their_own(
    is_seen: bool, median: float, p90: float, in_band: float, names: list[str]
) -> None:
    found = sizing.missed({"itl": {"n": 9, "median": median, "p90": p90, "in_band": in_band}}, is_seen=is_seen)
    assert len(found) == len(names)
    assert all(name in each for name, each in zip(names, found, strict=True))


def test_runs_on_an_h100_are_met_including_those_that_the_fit_never_sees() -> None:
    seen, unseen = (own_rows(is_seen=is_seen) for is_seen in (True, False))
    assert [row.clients for row in seen] == [1, 64]
    assert [row.clients for row in unseen] == [16, 128]
    bars = {"throughput": 0.12, "itl": 0.17, "ttft": 0.25}
    for row in (*seen, *unseen):
        for name, value in row.computed(CONSTANT).items():
            assert value == pytest.approx(row.measured[name], rel=bars[name]), (row.id, name)
