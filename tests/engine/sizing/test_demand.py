"""From people to calls in flight: Little's law holds, more people never need less, and reserve is really left over."""

from __future__ import annotations

from math import inf, isclose, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.sizing.demand.classes import HABITS, RULES_OF_THUMB, ClassDemand
from sovctl.engine.sizing.demand.lengths import MAX_P95_RATIO, Lengths
from sovctl.engine.sizing.demand.pool_demand import PoolDemand
from sovctl.engine.sizing.demand.reserve import growth_factor, lost, replicas_with_reserve
from sovctl.engine.spec.workload import Reserve, RuleOfThumb, WorkloadClass, WorkloadKind

seconds = st.floats(0.01, 1000)
classes = st.builds(
    WorkloadClass,
    name=st.just("work"),
    pool=st.just("chat"),
    kind=st.sampled_from(WorkloadKind),
    users=st.integers(1, 10**6),
    online_percent=st.floats(0.1, 100),
    peak_factor=st.floats(1, 10),
    requests_per_user_hour=st.none() | st.floats(0.01, 1000),
)


def work(**said: object) -> WorkloadClass:
    return WorkloadClass.model_validate({"name": "work", "pool": "chat", "users": 1000, **said})


@given(classes, seconds)
def test_in_flight_is_rate_times_time(workload: WorkloadClass, e2e_s: float) -> None:
    demand = ClassDemand.of(workload)
    assert isclose(demand.in_flight(e2e_s), demand.rate_per_s(e2e_s) * e2e_s, rel_tol=1e-9)


@given(classes, seconds, st.integers(1, 1000))
def test_more_people_have_more_in_flight(workload: WorkloadClass, e2e_s: float, more: int) -> None:
    crowd = workload.model_copy(update={"users": workload.users + more})
    assert ClassDemand.of(crowd).in_flight(e2e_s) > ClassDemand.of(workload).in_flight(e2e_s)


@given(seconds, st.floats(0, 600))
def test_people_who_think_are_never_in_flight_more_than_once(e2e_s: float, think_s: float) -> None:
    demand = ClassDemand.of(work(think_time_s=think_s))
    assert demand.in_flight(e2e_s) <= 1000 * (1 + 1e-9)


def test_people_who_never_think_are_always_in_flight() -> None:
    assert ClassDemand.of(work(think_time_s=0)).in_flight(7.0) == pytest.approx(1000)


@given(st.floats(1, 1e6), st.floats(1, MAX_P95_RATIO))
def test_one_in_a_hundred_is_longer_than_one_in_twenty(mean: float, spread: float) -> None:
    lengths = Lengths(mean, mean * spread)
    assert lengths.p95 * (1 - 1e-9) <= lengths.p99 <= 20 * mean


def test_equal_lengths_have_no_tail() -> None:
    assert Lengths(100, 100).p99 == pytest.approx(100)


# Reference rows F10 and F11: 5,000 users are 112 in flight; 75,000 users are 6,000 in flight, or 781 requests a second.
@pytest.mark.parametrize(
    ("rule", "users", "in_flight", "rate"),
    [
        (RuleOfThumb.SHARE_OF_A_SHARE, 5_000, 112.5, None),
        (RuleOfThumb.EIGHT_IN_FLIGHT, 75_000, 6_000, None),
        (RuleOfThumb.WORKING_DAY, 75_000, None, 781.25),
    ],
)
def test_rules_of_thumb_give_what_their_authors_say(
    rule: RuleOfThumb, users: int, in_flight: float | None, rate: float | None
) -> None:
    demand = ClassDemand.of(work(users=users, rule_of_thumb=rule))
    if in_flight is not None:
        assert demand.in_flight(1.0) == demand.in_flight(99.0) == pytest.approx(in_flight)
    if rate is not None:
        assert demand.rate_per_s(1.0) == pytest.approx(rate)


def test_every_kind_and_rule_is_in_its_table() -> None:
    assert set(HABITS) == set(WorkloadKind)
    assert set(RULES_OF_THUMB) == set(RuleOfThumb)


def test_agents_call_the_model_more_often_than_they_are_asked() -> None:
    once = ClassDemand.of(work(requests_per_user_hour=1, calls_per_request=1)).rate_per_s(1)
    assert ClassDemand.of(work(requests_per_user_hour=1, calls_per_request=9)).rate_per_s(1) == pytest.approx(9 * once)


def test_a_pool_keeps_the_strictest_limit_and_averages_by_calls() -> None:
    demand = PoolDemand.of(
        [
            work(requests_per_user_hour=30, input_tokens=1000, output_tokens=100, ttft_p95_ms=900),
            work(requests_per_user_hour=10, input_tokens=5000, output_tokens=500, ttft_p95_ms=400, itl_p95_ms=50),
        ]
    )
    assert demand is not None
    assert (demand.input_tokens, demand.output_tokens) == pytest.approx((2000, 200))
    assert (demand.ttft_s, demand.itl_s, demand.e2e_s) == (0.4, 0.05, None)


def test_a_pool_that_nobody_names_has_no_demand() -> None:
    assert PoolDemand.of([]) is None


def pool(*workload: WorkloadClass) -> PoolDemand:
    demand = PoolDemand.of(workload)
    assert demand is not None
    return demand


@given(classes, seconds)
def test_calls_at_a_rate_fluctuate_like_poisson_arrivals(workload: WorkloadClass, e2e_s: float) -> None:
    demand, each = pool(workload), ClassDemand.of(workload)
    mean = demand.in_flight(lambda *_: e2e_s)
    assert each.max_in_flight == inf
    assert demand.peak_in_flight(lambda *_: e2e_s) == pytest.approx(mean + 1.6449 * sqrt(mean))


@given(st.integers(1, 10_000), st.floats(0, 600) | st.none(), st.floats(0.1, 100), seconds)
def test_people_who_wait_are_never_more_than_there_are(
    users: int, think_s: float | None, percent: float, e2e_s: float
) -> None:
    how = {"in_flight_percent": percent} if think_s is None else {"think_time_s": think_s}
    demand = pool(work(users=users, **how))
    mean, peak = demand.in_flight(lambda *_: e2e_s), demand.peak_in_flight(lambda *_: e2e_s)
    assert mean * (1 - 1e-9) <= peak <= users * (1 + 1e-9)


def test_everybody_waiting_is_everybody_and_no_more() -> None:
    assert pool(work(users=10, in_flight_percent=100)).peak_in_flight(lambda *_: 5.0) == pytest.approx(10)
    half = pool(work(users=100, in_flight_percent=50))
    assert half.deviation(lambda *_: 5.0) == pytest.approx(5)  # root of 100 x 0.5 x 0.5


def test_classes_fluctuate_independently_and_a_rate_has_no_most() -> None:
    demand = pool(work(users=100, in_flight_percent=50), work(users=36, requests_per_user_hour=720))
    assert demand.deviation(lambda *_: 5.0) == pytest.approx(sqrt(25 + 36))
    assert demand.peak_in_flight(lambda *_: 5.0) == pytest.approx(50 + 36 + 1.6449 * sqrt(61))


@given(classes, seconds, st.floats(0, 1))
def test_a_share_of_the_people_asks_a_share(workload: WorkloadClass, e2e_s: float, share: float) -> None:
    demand = pool(workload)
    part = demand.scaled(share)
    assert part.in_flight(lambda *_: e2e_s) == pytest.approx(share * demand.in_flight(lambda *_: e2e_s))
    assert part.peak_in_flight(lambda *_: e2e_s) >= part.in_flight(lambda *_: e2e_s)


def test_growth_compounds() -> None:
    assert growth_factor(Reserve(growth_percent_per_year=20, growth_years=3)) == pytest.approx(1.728)
    assert growth_factor(Reserve()) == 1


reserves = st.builds(
    Reserve,
    spare_replicas=st.integers(0, 4),
    failed_nodes=st.integers(0, 3),
    maintenance_nodes=st.integers(0, 3),
)


@given(st.integers(1, 60), reserves, st.integers(1, 20), st.integers(0, 8))
def test_what_is_needed_is_left_when_nodes_are_away(needed: int, reserve: Reserve, nodes: int, per_node: int) -> None:
    wanted = replicas_with_reserve(needed, reserve, nodes=nodes, replicas_per_node=per_node)
    away = reserve.failed_nodes + reserve.maintenance_nodes
    if wanted is None:
        assert away >= nodes or per_node == 0
        return
    assert wanted >= needed + reserve.spare_replicas
    assert wanted - lost(wanted, nodes, away, per_node) >= needed
    if wanted > needed + reserve.spare_replicas:  # the fewest
        assert wanted - 1 - lost(wanted - 1, nodes, away, per_node) < needed


def test_the_reserve_of_a_crowd_is_found_as_fast_as_of_a_few() -> None:
    reserve = Reserve(spare_replicas=1, failed_nodes=1)
    wanted = replicas_with_reserve(10**12, reserve, nodes=4, replicas_per_node=1)
    assert wanted is not None
    assert wanted - lost(wanted, 4, 1, 1) == 10**12
