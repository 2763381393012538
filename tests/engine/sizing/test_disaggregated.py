"""Prefill and decode apart: the cache takes its time over the fabric, limits hold; speculation speeds up decoding."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.engine.catalog import load_catalog
from sovctl.engine.sizing.pool.disaggregated_prefill import DisaggregationGain, disaggregate_prefill
from sovctl.engine.sizing.pool.pool import PoolSizing, pool_cases, size_pool
from sovctl.engine.validation.load import parse
from sovctl.engine.validation.presets import FOLDER
from sovctl.support.errors import SpecError

SITE = yaml.safe_load((FOLDER / "closed-perimeter.yaml").read_text())


def general(tokens_per_step: dict[str, float] | None = None, **workload: Any) -> PoolSizing:
    """The pool `general` of a preset, with other work."""
    value = {
        **SITE,
        "workload": [{**SITE["workload"][0], **workload}],
        "sizing": {"tokens_per_step": tokens_per_step or {}},
    }
    text = yaml.safe_dump(value).encode()
    spec = parse(text, path=Path("site.yaml"), today=date(2026, 11, 21), catalog=load_catalog()).spec
    return next(size_pool(case) for case in pool_cases(spec, load_catalog()) if case.pool.name == "general")


def apart(sized: PoolSizing, link_gb_s: float = 50) -> DisaggregationGain | None:
    assert sized.performance is not None
    assert sized.limit is not None
    assert sized.server is not None
    assert sized.case.demand is not None
    return disaggregate_prefill(sized.performance, sized.limit, sized.server, sized.case.demand, link_gb_s=link_gb_s)


def test_the_cache_of_a_prompt_crosses_the_fabric_in_bytes_over_rate() -> None:
    sized = general()
    found = apart(sized, link_gb_s=50)
    assert found is not None
    assert sized.server is not None
    assert found.transfer_s == pytest.approx(sized.server.sequence_bytes(3000) / 50e9)


@examples(20)
@given(st.floats(0.5, 400), st.floats(20, 100), st.integers(100, 20_000))
def test_apart_keeps_the_limits_or_is_not_offered(link_gb_s: float, itl_p95_ms: float, input_tokens: int) -> None:
    sized = general(itl_p95_ms=itl_p95_ms, input_tokens=input_tokens, ttft_p95_ms=5000)
    if sized.limit is None or not sized.limit.is_held:
        return
    found = apart(sized, link_gb_s)
    if found is not None:
        assert found.itl_s <= itl_p95_ms / 1000 * 1.001
        assert found.ttft_s <= 5.0
        assert found.rate_per_gpu_s > 0


def test_a_slow_fabric_makes_the_first_token_late() -> None:
    sized = general()
    fast, slow = apart(sized, 50), apart(sized, 5)
    assert fast is not None
    assert slow is not None
    assert slow.ttft_s - fast.ttft_s == pytest.approx(slow.transfer_s - fast.transfer_s)


def test_answers_do_not_wait_for_prompts_of_others_apart() -> None:
    sized = general(input_tokens=12_000)
    found = apart(sized)
    assert found is not None
    assert sized.limit is not None
    assert found.decode_in_flight > sized.limit.point.in_flight


def test_speculation_speeds_up_tokens_and_not_prompts() -> None:
    plain, faster = general(), general({"general": 2.0})
    assert plain.performance is not None
    assert faster.performance is not None
    demand = plain.case.demand
    assert demand is not None
    one, two = plain.performance.at(1, demand), faster.performance.at(1, demand)
    assert two.itl.middle < 0.6 * one.itl.middle
    assert two.ttft.middle > 0.8 * one.ttft.middle


def test_speculation_is_stated_for_pools_that_there_are() -> None:
    with pytest.raises(SpecError) as caught:
        general({"generall": 2.0})
    (problem,) = caught.value.problems
    assert problem.where.endswith("sizing.tokens_per_step.generall")
    assert "did you mean `general`" in problem.hint
