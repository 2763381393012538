"""The fit of the sizing model's constants: it finds the least, keeps to the ranges, and few odd rows do not lead it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bench.sized.least_squares import Term, minimise, tangent


def line(x: float, y: float) -> Term:
    return Term(lambda at: [at[0] + at[1] * x - y], (0, 1))


@given(st.floats(-3, 3), st.floats(-3, 3))
def test_a_line_through_points_is_found_in_spite_of_an_odd_one(height: float, slope: float) -> None:
    points = [line(x / 10, height + slope * x / 10) for x in range(20)] + [line(0.5, height + 40)]
    found = minimise(points, [0, 0], [-9, -9], [9, 9], scale=0.1, enough=1e-9)
    assert abs(found[0] - height) < 0.1
    assert abs(found[1] - slope) < 0.1


def test_an_unknown_stays_within_its_range() -> None:
    found = minimise([line(x, 5 + 2 * x) for x in range(5)], [0, 0], [0, 0], [9, 1], scale=0.1, enough=1e-9)
    assert found[1] == 1
    assert 5 < found[0] < 9


@given(st.floats(0.2, 3), st.floats(-1, 1))
def test_a_tangent_is_the_term_where_it_touches_and_straight_elsewhere(at: float, by: float) -> None:
    curve = Term(lambda x: [x[0] ** 2, 3 * x[0]], (0,))
    touching = tangent(curve, [at])
    assert touching.residuals([at]) == curve.residuals([at])
    bent, straight = touching.residuals([at + by])
    assert abs(bent - (at**2 + 2 * at * by)) < 2e-3
    assert abs(straight - 3 * (at + by)) < 1e-6


@given(st.floats(-3, 3), st.floats(-3, 3))
def test_straight_terms_and_their_tangents_have_one_least(height: float, slope: float) -> None:
    points = [line(x / 10, height + slope * x / 10 + 0.01 * (x % 3)) for x in range(20)]
    found = [
        minimise(terms, [0, 0], [-9, -9], [9, 9], scale=0.1, enough=1e-9)
        for terms in (points, [tangent(each, [1.0, -1.0]) for each in points])
    ]
    assert max(abs(one - other) for one, other in zip(*found, strict=True)) < 1e-6
