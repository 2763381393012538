"""A pool as a whole: enough is enough, too few says how many, unknown is UNKNOWN; and `auto` becomes numbers."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import event, given
from hypothesis import strategies as st
from preset_values import preset_values

from examples import examples
from sovctl.compliance.verdict import Verdict
from sovctl.engine.catalog import load_catalog
from sovctl.engine.plan.build import context_of
from sovctl.engine.resources.serving.flags import flags
from sovctl.engine.sizing.explain.pool import explain
from sovctl.engine.sizing.explain.step import Step, seconds
from sovctl.engine.sizing.pool.pool import PoolSizing, pool_cases, size_pool
from sovctl.engine.sizing.report.summary import summary
from sovctl.engine.validation.load import LoadedSpec, parse
from sovctl.engine.validation.what_if import changed
from sovctl.support.errors import InputError, SpecError

TODAY = date(2026, 11, 21)
BANK = preset_values("bank-hybrid")
BANK["perimeter"]["exceptions"][0]["expires"] = "2036-12-31"


def site(
    *, pool: dict[str, Any] | None = None, workload: list[dict[str, Any]] | None = None, **sizing: Any
) -> LoadedSpec:
    """The bank with one pool, `assistant`, changed."""
    value = {key: item for key, item in BANK.items() if key != "gateway"}
    value["site"] = {**value["site"], "placement": "on-prem"}
    value["perimeter"] = {"management": ["10.20.0.0/28"]}
    value["models"] = [*BANK["models"], {**BANK["models"][1], "name": "whisper", "catalog": "whisper-large-v3"}]
    value["pools"] = [{**BANK["pools"][0], **(pool or {})}]
    value["workload"] = BANK["workload"][:1] if workload is None else workload
    value["sizing"] = sizing
    return parse(
        yaml.safe_dump(value).encode(), path=Path("site.yaml"), today=TODAY, catalog=load_catalog(), is_draft=True
    )


def sized(loaded: LoadedSpec) -> PoolSizing:
    (found,) = [size_pool(case) for case in pool_cases(loaded.spec, load_catalog())]
    return found


def asked(users: int, **said: Any) -> list[dict[str, Any]]:
    return [{"name": "branches", "pool": "assistant", "users": users, **said}]


def test_few_users_pass_and_many_say_how_many_replicas_they_need() -> None:
    few, many = sized(site(workload=asked(100))), sized(site(workload=asked(50_000)))
    assert (few.verdict, few.reason) == (Verdict.PASS, "")
    assert many.verdict is Verdict.FAIL
    assert many.need is not None
    assert many.reason == f"needs {many.need.replicas} replicas, has 2"
    assert many.headroom is not None
    assert many.headroom < 0
    assert many.point is None


def test_without_the_spare_replica_it_warns() -> None:
    assert sized(site(pool={"replicas": 1}, workload=asked(10))).verdict is Verdict.WARN
    reserve = {"spare_replicas": 0}
    assert sized(site(pool={"replicas": 1}, workload=asked(10), reserve=reserve)).verdict is Verdict.PASS


def test_a_pool_that_nobody_uses_is_looked_at_for_memory_alone() -> None:
    found = sized(site(workload=[]))
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert found.server is not None
    assert found.limit is None


def test_a_shape_that_the_catalogue_does_not_know_is_unknown_and_blocks() -> None:
    loaded = site(workload=[])
    model = load_catalog().models["llama-3.3-70b"]
    case = next(pool_cases(loaded.spec, load_catalog()))
    shapeless = model.model_copy(update={"arch": model.arch.model_copy(update={"kv_heads": None})})
    found = size_pool(case.__class__(**{**vars(case), "model": shapeless}))
    assert found.verdict is Verdict.UNKNOWN
    assert found.verdict.blocks
    assert found.weights is not None  # they are stored on nodes whether or not their times are known


@examples(25)
@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_more_users_never_need_fewer_replicas(one: int, other: int) -> None:
    few, many = sorted((one, other))
    needs = [sized(site(workload=asked(users))).need for users in (few, many)]
    assert needs[0] is not None
    assert needs[1] is not None
    assert needs[0].replicas <= needs[1].replicas


def test_the_plan_is_on_the_pessimistic_edge() -> None:
    found = sized(site(workload=asked(3000, itl_p95_ms=45, ttft_p95_ms=2000)))
    assert found.limit is not None
    point = found.limit.point
    assert point.itl.low < point.itl.middle < point.itl.high <= 0.045 * 1.001
    assert point.ttft.high <= 2.0


def test_at_the_peak_the_replicas_carry_what_is_asked() -> None:
    found = sized(site(workload=asked(1500)))
    assert found.point is not None
    assert found.performance is not None
    assert found.case.demand is not None
    asked_for = found.performance.needed_in_flight(found.point, found.case.demand)
    assert asked_for == pytest.approx(2 * found.point.in_flight, rel=1e-3)


def test_explains_every_step_in_both_units_and_says_where_common_rules_differ() -> None:
    steps = list(explain(sized(site(workload=asked(1500)))))
    text = "\n".join([each.title + each.result + "".join(each.inputs) for each in steps])
    assert " GB = " in text
    assert " GiB" in text
    instead = [each.instead for each in steps if each.instead]
    assert any("weights x 1.2" in each for each in instead)
    assert any("users x 15 % x 5 % x 3" in each for each in instead)


def test_the_summary_is_plain_and_says_what_it_found() -> None:
    found = summary(sized(site(workload=asked(1500))))
    assert found["limit"]["itl_s"]["p10"] < found["limit"]["itl_s"]["p50"] < found["limit"]["itl_s"]["p90"]
    assert found["gpu_bytes"]["weights"] == pytest.approx(35.3e9, rel=0.01)


def test_auto_becomes_numbers_that_then_pass() -> None:
    auto = dict.fromkeys(("tensor_parallel_size", "replicas", "max_model_len", "max_num_seqs"), "auto")
    loaded = site(pool=auto, workload=asked(5000, itl_p95_ms=60, ttft_p95_ms=2000))
    pool = loaded.spec.pools[0]
    assert pool.tensor_parallel_size in (2, 4, 8)
    assert pool.replicas >= 2
    assert pool.max_model_len % 1024 == 0
    assert sized(loaded).verdict is Verdict.PASS
    again = site(pool=auto, workload=asked(5000, itl_p95_ms=60, ttft_p95_ms=2000))
    assert again.spec_sha256 == loaded.spec_sha256


def test_auto_stages_are_found_for_what_no_node_holds() -> None:
    pool = {"tensor_parallel_size": "auto", "pipeline_parallel_size": "auto", "model": "llama-405b"}
    value = site(workload=asked(20))
    data = {**value.text.value, "models": [{**BANK["models"][0], "name": "llama-405b", "catalog": "llama-3.1-405b"}]}
    data["pools"] = [{**data["pools"][0], **pool}]
    loaded = parse(
        yaml.safe_dump(data).encode(), path=Path("site.yaml"), today=TODAY, catalog=load_catalog(), is_draft=True
    )
    spread = loaded.spec.pools[0]
    assert spread.tensor_parallel_size * spread.pipeline_parallel_size == 16


@pytest.mark.parametrize(
    ("place", "value", "where"),
    [
        (("node_groups", 0, "platform"), "dgx-h10", "node_groups[0].platform"),
        (("node_groups", 0, "mig"), "9g.99gb", "node_groups[0].mig"),
        (("models", 0, "catalog"), "llama-3.3-70", "models[0].catalog"),
        (("pools", 0, "node_group"), "dgxx", "pools[0].node_group"),
        (("pools", 0, "model"), "llama-7b", "pools[0].model"),
    ],
)
def test_auto_on_what_is_not_known_is_no_fault_of_its_own(place: tuple[str, int, str], value: str, where: str) -> None:
    raw: dict[str, Any] = yaml.safe_load(yaml.safe_dump(BANK))
    part, index, field = place
    raw[part][index][field] = value
    auto = ("tensor_parallel_size", "pipeline_parallel_size", "replicas", "max_model_len", "max_num_seqs")
    raw["pools"][0] |= dict.fromkeys(auto, "auto")
    with pytest.raises(SpecError) as caught:
        parse(yaml.safe_dump(raw).encode(), path=Path("site.yaml"), today=TODAY, catalog=load_catalog(), is_draft=True)
    assert [each.where.rpartition(" ")[2] for each in caught.value.problems] == [where]


def test_auto_that_cannot_be_settled_says_why() -> None:
    with pytest.raises(SpecError) as caught:
        site(pool={"replicas": "auto"}, workload=[])
    (problem,) = caught.value.problems
    assert problem.message == "missing workload of the pool, which `replicas: auto` requires"
    with pytest.raises(SpecError) as caught:
        site(pool={"tensor_parallel_size": "auto", "max_model_len": 131072}, workload=asked(10, itl_p95_ms=2))
    assert any("slower than" in each.message or "ITL" in each.message for each in caught.value.problems)


def test_a_stage_larger_than_a_node_is_refused_in_a_draft_too() -> None:
    with pytest.raises(SpecError) as caught:
        site(pool={"tensor_parallel_size": 16}, workload=asked(10))
    (problem,) = caught.value.problems
    assert problem.where.endswith("pools[0].tensor_parallel_size")
    assert "at most 8 GPUs per stage" in problem.message


def test_what_a_speech_model_hears_is_no_prompt_in_tokens() -> None:
    calls = {"kind": "voice", "output_tokens": 63}
    loaded = site(pool=speech(), workload=asked(100, **calls))
    found = sized(loaded)
    assert found.verdict is Verdict.UNKNOWN
    assert found.server is not None  # its memory is known, its times are not
    assert found.performance is None
    with pytest.raises(SpecError) as caught:
        site(pool=speech(), workload=asked(100, **{**calls, "output_tokens": 500}))
    (problem,) = caught.value.problems
    assert "at most 448 tokens of prompt and answer" in problem.message
    assert "got 500 on average" in problem.message


def speech() -> dict[str, Any]:
    """A pool of Whisper."""
    return {"model": "whisper", "tensor_parallel_size": 1, "max_model_len": 448, "kv_cache_dtype": "auto"}


def test_weights_that_do_not_fit_are_not_shown_as_room_below_zero() -> None:
    with pytest.raises(SpecError) as caught:
        site(pool={"tensor_parallel_size": 1, "replicas": 1}, workload=asked(10))
    (problem,) = caught.value.problems
    assert "got none, because the weights alone do not fit" in problem.message
    assert " -" not in problem.message.partition("less weights")[0]


def test_the_arithmetic_that_is_shown_gives_the_figures_that_are_planned_with() -> None:
    loaded = site(workload=asked(1500))
    case = next(each for each in pool_cases(loaded.spec, load_catalog()) if each.demand is not None)
    sized = size_pool(case)
    assert sized.performance is not None
    assert sized.limit is not None
    assert case.demand is not None
    serving, point, demand = sized.performance.serving, sized.limit.point, case.demand
    prefill_s, each_s = (
        serving.prefill_s(demand.input_tokens),
        serving.together_s(demand.input_tokens, point.in_flight / demand.output_tokens),
    )
    decode_s = serving.decode_s(point.in_flight, demand.input_tokens + demand.output_tokens / 2)
    cycle_s = serving.before_s + prefill_s + (demand.output_tokens - 1) * decode_s + (point.in_flight - 1) * each_s
    assert point.tokens_per_s.middle == pytest.approx(point.in_flight * demand.output_tokens / cycle_s)
    assert point.itl.middle == pytest.approx(max(decode_s, (cycle_s - point.ttft.middle) / (demand.output_tokens - 1)))
    shown = next(each for each in explain(sized) if each.title == "limit of one replica").inputs
    assert any(seconds(cycle_s) in each and seconds(decode_s) in each for each in shown)


def test_what_if_changes_one_thing_and_is_checked_like_a_site() -> None:
    loaded = site(workload=asked(1500))
    other = changed(loaded, ["workload[branches].users=50000"], today=TODAY, catalog=load_catalog())
    assert other.spec.workload[0].users == 50_000
    assert loaded.spec.workload[0].users == 1500
    with pytest.raises(SpecError):
        changed(loaded, ["workload[branches].users=0"], today=TODAY, catalog=load_catalog())
    for wrong in ("workload[branches].users", "workload[nobody].users=1", "=1", "pools[7]=1"):
        with pytest.raises(InputError):
            changed(loaded, [wrong], today=TODAY, catalog=load_catalog())


def test_what_if_reads_values_as_site_yaml_does_and_names_what_there_is() -> None:
    loaded = site(workload=asked(1500))
    settings = ["pools[assistant].nodes=[dgx-1]", "workload=[]", "software={engine: vllm, lock: nvidia-580.126.20}"]
    other = changed(loaded, settings, today=TODAY, catalog=load_catalog()).spec
    assert (other.pools[0].nodes, other.workload) == (["dgx-1"], [])
    with pytest.raises(InputError) as caught:
        changed(loaded, ["workload[nobody].users=1"], today=TODAY, catalog=load_catalog())
    assert "`workload[nobody].users`" in str(caught.value)
    assert caught.value.hint == "known names: branches"


def test_more_are_never_waiting_than_there_are_people() -> None:
    found = sized(site(workload=asked(12, in_flight_percent=100)))
    assert found.need is not None
    assert found.need.in_flight == pytest.approx(12)


def steps_of(model: str, **pool: Any) -> dict[str, Step]:
    """What is explained of the bank's pool when it serves another model of the catalogue."""
    value = {**BANK["models"][0], "name": "other", "catalog": model, "licence_approved_by": "A. Person",
             "licence_approved_because": "read by counsel"}  # fmt: skip
    settings = [f"models=[{json.dumps(value)}]", "pools[0].model=other", "node_groups[0].platform=dgx-h200"]
    settings += [f"pools[0].{name}={said}" for name, said in {"kv_cache_dtype": "auto", **pool}.items()]
    other = changed(site(workload=[]), settings, today=TODAY, catalog=load_catalog())
    return {step.title: step for step in explain(sized(other))}


@pytest.mark.parametrize(
    ("model", "tensor", "on_each", "on_all", "because"),
    [  # by hand: layers x numbers x heads x 2 B
        ("llama-3.3-70b", 4, "81.9 kB", "327.7 kB", "only key-value heads are stored"),  # 80 x 256 x 2; x 4
        ("deepseek-r1", 8, "70.3 kB", "562.2 kB", "each of 8 GPUs stores all of it"),  # 61 x 576; x 8
        ("qwen3-235b-a22b", 8, "48.1 kB", "385.0 kB", "4 heads are replicated on 8 GPUs"),  # 94 x 256; x 8
        ("qwen3-next-80b-a3b", 2, "12.3 kB", "24.6 kB", "states have a fixed size"),  # 12 x 512; x 2
        ("gpt-oss-120b", 2, "18.4 kB", "36.9 kB", "windows have a fixed maximum"),  # 18 x 128 x 4; x 2
    ],
)
def test_the_cache_of_a_token_is_explained_by_what_is_kept(
    model: str, tensor: int, on_each: str, on_all: str, because: str
) -> None:
    pool = {"tensor_parallel_size": tensor, "quantization": "fp8" if model != "gpt-oss-120b" else "mxfp4"}
    if model == "qwen3-235b-a22b":
        pool["enable_expert_parallel"] = "true"
    step = steps_of(model, max_model_len=8192, **pool)["KV cache of one token"]
    assert step.result.startswith(f"{on_each} = ")
    assert f"sovctl computes {on_all} = " in step.instead
    assert because in step.instead


def test_weights_are_explained_in_parts_that_add_up() -> None:
    step = steps_of("gpt-oss-120b", tensor_parallel_size=2, max_model_len=8192)["weights"]
    found = [float(each) for text in step.inputs[1:] for each in re.findall(r"([\d.]+)(?: x 10| B each| times)", text)]
    stored, each, padded, whole, _ = found
    total = stored * each * padded + whole * 2
    assert f"{total:,.1f} GB = " in step.result


def test_a_pipeline_keeps_a_stage_of_a_tokens_cache() -> None:
    pool = {"tensor_parallel_size": 8, "pipeline_parallel_size": 2, "max_model_len": 8192}
    step = steps_of("llama-3.1-405b", **pool)["KV cache of one token"]
    assert step.result.startswith("32.3 kB = ")  # 126 / 2 layers x 256 numbers x 1 head x 2 B
    assert "sovctl computes 516.1 kB = " in step.instead


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0 ms"), (0.000412, "0.41 ms"), (0.00833, "8.33 ms"), (0.0412, "41.2 ms"), (0.127, "127 ms"),
     (2.5, "2.50 s"), (17.46, "17.5 s"), (1220, "1,220 s")],
)  # fmt: skip
def test_times_are_written_in_digits_that_can_be_added(value: float, said: str) -> None:
    assert seconds(value) == said


@examples(30)
@given(
    users=st.integers(1, 30_000),
    itl_p95_ms=st.none() | st.floats(15, 200),
    ttft_p95_ms=st.none() | st.floats(200, 20_000),
    input_tokens=st.integers(100, 20_000),
    spare_replicas=st.integers(0, 2),
    model=st.sampled_from(["llama-70b", "qwen-32b", "qwen-8b"]),
)
def test_what_sizing_chose_passes_sizing_or_says_why_nothing_can(
    users: int,
    itl_p95_ms: float | None,
    ttft_p95_ms: float | None,
    input_tokens: int,
    spare_replicas: int,
    model: str,
) -> None:
    auto = dict.fromkeys(("tensor_parallel_size", "replicas", "max_model_len", "max_num_seqs"), "auto")
    workload = asked(users, input_tokens=input_tokens, itl_p95_ms=itl_p95_ms, ttft_p95_ms=ttft_p95_ms)
    try:
        loaded = site(pool={**auto, "model": model}, workload=workload, reserve={"spare_replicas": spare_replicas})
    except SpecError as error:
        said = [each.message for each in error.problems]
        event("refused")
    else:
        said = []
    if said:
        assert all("got" in message for message in said)
        return
    found = sized(loaded)
    assert found.verdict is Verdict.PASS, found.reason
    assert found.point is not None
    assert found.need is not None
    assert found.need.replicas + spare_replicas <= found.case.pool.replicas


def test_the_plan_runs_the_numbers_that_sizing_chose() -> None:
    auto = dict.fromkeys(("tensor_parallel_size", "max_model_len", "max_num_seqs"), "auto")
    loaded = site(pool={**auto, "replicas": 2}, workload=asked(1500, itl_p95_ms=60))
    context = context_of(loaded.spec, Path())
    pool = loaded.spec.pools[0]
    for replica in context.replicas:
        told = flags(context, replica, replica.ranks[0])
        assert told["max-model-len"] == pool.max_model_len >= 1024
        assert told["max-num-seqs"] == pool.max_num_seqs >= 1
        assert told["tensor-parallel-size"] == len(replica.ranks[0].gpus) >= 2
