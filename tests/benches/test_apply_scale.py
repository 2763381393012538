"""The simulated apply keeps floors and budget, and stops where the budget is used up."""

from __future__ import annotations

from bench.apply_scale import problems_of, simulate, site_of


def test_floors_hold_and_the_other_nodes_are_done_within_the_budget() -> None:
    found = simulate(site_of(128, budget=10), failures=0.04, seed=1)
    assert found["simulated"] is True
    assert 0 < found["failed_nodes"] <= 10
    assert found["outcome"] == "applied except failed nodes"
    assert found["waves_started"] == found["waves_planned"]
    assert problems_of(found) == []


def test_the_run_stops_over_the_budget() -> None:
    found = simulate(site_of(128, budget=0), failures=0.04, seed=1)
    assert found["outcome"] == "stopped"
    assert found["waves_started"] < found["waves_planned"]


def test_a_broken_floor_is_a_problem() -> None:
    found = simulate(site_of(128, budget=10), failures=0.0, seed=1)
    assert found["outcome"] == "applied"
    assert found["still_drained"] == 0
    found["least_serving"]["chat"] = found["floors"]["chat"] - 1
    assert problems_of(found) == [f"chat had {found['floors']['chat'] - 1} servers, floor {found['floors']['chat']}"]
