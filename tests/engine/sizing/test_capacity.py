"""What one replica carries: stricter limits never allow more, and every figure lies inside its band."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.engine.catalog.gpus import load_gpus
from sovctl.engine.catalog.models import load_models
from sovctl.engine.sizing.demand.pool_demand import PoolDemand
from sovctl.engine.sizing.performance.capacity import Binding, Limit, Performance
from sovctl.engine.sizing.pool.server import Server
from sovctl.engine.spec import Pool
from sovctl.engine.spec.workload import WorkloadClass

POOL = {
    "name": "chat",
    "model": "m",
    "node_group": "g",
    "tensor_parallel_size": 2,
    "max_model_len": 32768,
    "quantization": "fp8",
}


@cache
def server(max_num_seqs: int = 256) -> Server:
    pool = Pool.model_validate({**POOL, "max_num_seqs": max_num_seqs})
    return Server.of(load_models()["llama-3.3-70b"], load_gpus()["H100-80GB-SXM"], pool, engine_version="0.32.0")


def demand(users: int = 1000, **said: object) -> PoolDemand:
    made = PoolDemand.of([WorkloadClass.model_validate({"name": "w", "pool": "chat", "users": users, **said})])
    assert made is not None
    return made


def carried(asked: PoolDemand, max_num_seqs: int = 256) -> tuple[Performance, Limit]:
    performance = server(max_num_seqs).performance(asked)
    return performance, performance.limit(asked)


@examples(40)
@given(st.floats(5, 300), st.floats(5, 300))
def test_a_stricter_limit_between_tokens_never_allows_more(one: float, other: float) -> None:
    strict, loose = sorted((one, other))
    _, few = carried(demand(itl_p95_ms=strict))
    _, many = carried(demand(itl_p95_ms=loose))
    assert few.point.in_flight <= many.point.in_flight * (1 + 1e-9)
    assert many.is_held or not few.is_held


@examples(40)
@given(st.floats(10, 300), st.floats(100, 20_000), st.integers(50, 20_000))
def test_what_is_carried_keeps_every_limit_and_a_little_more_does_not(
    itl_p95_ms: float, ttft_p95_ms: float, input_tokens: int
) -> None:
    asked = demand(itl_p95_ms=itl_p95_ms, ttft_p95_ms=ttft_p95_ms, input_tokens=input_tokens)
    performance, limit = carried(asked)
    if not limit.is_held:
        assert performance.exceeded(performance.at(1, asked), asked) is not None
        return
    assert performance.exceeded(limit.point, asked) is None
    if limit.binding in (Binding.TTFT, Binding.ITL, Binding.E2E):
        more = performance.at(limit.point.in_flight * 1.01 + 0.01, asked)
        assert performance.exceeded(more, asked) is not None


@examples(40)
@given(st.floats(0.01, 0.85), st.floats(0.01, 0.85))
def test_more_in_flight_is_slower_and_delivers_more_until_requests_are_preempted(one: float, other: float) -> None:
    asked = demand()
    performance, _ = carried(asked)
    few, many = sorted(share * performance.serving.kv_max_concurrency for share in (one, other))
    quiet, busy = performance.at(few, asked), performance.at(many, asked)
    assert quiet.itl.middle <= busy.itl.middle * (1 + 1e-9)
    assert quiet.ttft.high <= busy.ttft.high * (1 + 1e-9)
    assert quiet.tokens_per_s.middle <= busy.tokens_per_s.middle * (1 + 1e-9)
    for value in (busy.ttft, busy.itl, busy.tokens_per_s):
        assert value.low < value.middle < value.high


def test_a_prefix_cache_saves_time_and_no_room() -> None:
    (cold, _), (warm, _) = carried(demand()), carried(demand(prefix_hit_percent=80))
    assert warm.serving.prefill_s(1500) < 0.4 * cold.serving.prefill_s(1500)
    assert warm.max_in_flight == cold.max_in_flight


def test_long_prompts_bind_by_cache_and_short_ones_by_max_num_seqs() -> None:
    assert carried(demand(input_tokens=20_000))[1].binding is Binding.KV_CACHE
    assert carried(demand(input_tokens=200), max_num_seqs=8)[1].binding is Binding.MAX_NUM_SEQS


@examples(30)
@given(st.integers(1, 50_000), st.integers(1, 40))
def test_replicas_come_to_rest_where_they_carry_what_is_asked(users: int, replicas: int) -> None:
    asked = demand(users, itl_p95_ms=60)
    performance, limit = carried(asked)
    point = performance.converged(replicas, asked, limit.point.in_flight)
    if point is None:
        assert performance.needed_in_flight(limit.point, asked) > replicas * limit.point.in_flight * (1 - 1e-9)
    else:
        assert point.in_flight <= limit.point.in_flight * (1 + 1e-9)
        assert performance.needed_in_flight(point, asked) == pytest.approx(replicas * point.in_flight, rel=1e-2)
