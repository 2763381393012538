"""Robust nonlinear least squares in plain Python, for residuals that each depend on few of the unknowns.

Levenberg-Marquardt steps on a soft L1 loss: above `scale` the cost of a residual is linear instead of quadratic, which
limits the effect of outliers. Unknowns stay within their ranges. Same cost, up to rounding, as
`scipy.optimize.least_squares(loss="soft_l1", f_scale=scale)`.

    found = minimise(terms, start, least, most, scale=0.15, enough=1e-4)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import sqrt

_STEP = 1e-3  # of a finite difference
_ROUNDS = 40


@dataclass(frozen=True)
class Term:
    """Residuals computed together, and the indexes of the unknowns that they depend on."""

    residuals: Callable[[Sequence[float]], list[float]]
    unknowns: Collection[int]
    slopes: Sequence[Sequence[float]] | None = None
    """Derivatives of each residual, by unknown in index order; None if they are not constant."""


def tangent(term: Term, x: Sequence[float]) -> Term:
    """A term as straight lines that touch it at `x`."""
    at, unknowns = list(x), sorted(term.unknowns)
    middle, slopes = term.residuals(at), _slopes(term, at)

    def residuals(y: Sequence[float]) -> list[float]:
        moved = [y[index] - at[index] for index in unknowns]
        return [
            still + sum(slope[place] * by for slope, by in zip(slopes, moved, strict=True))
            for place, still in enumerate(middle)
        ]

    return Term(residuals, unknowns, slopes)


def minimise(
    terms: Sequence[Term],
    start: Sequence[float],
    least: Sequence[float],
    most: Sequence[float],
    *,
    scale: float,
    enough: float,
) -> list[float]:
    """Where the sum of losses is least, near `start`.

    Args:
        least: of each unknown; `most` likewise.
        scale: of a residual, up to which it counts by its square.
        enough: share of the cost that a round must gain to go on.
    """
    x = [min(max(value, low), high) for value, low, high in zip(start, least, most, strict=True)]
    cost, damping = _cost(terms, x, scale), 1e-3
    for _ in range(_ROUNDS):
        hessian, gradient = _normal(terms, x, scale)
        before = cost
        while damping < 1e6:
            step = _solved(hessian, gradient, damping, x, least, most)
            tried = [min(max(value + by, low), high) for value, by, low, high in zip(x, step, least, most, strict=True)]
            tried_cost = _cost(terms, tried, scale)
            if tried_cost < cost:
                x, cost, damping = tried, tried_cost, damping / 5
                break
            damping *= 4
        if before - cost < enough * before:
            break
    return x


def _cost(terms: Sequence[Term], x: Sequence[float], scale: float) -> float:
    return sum(sqrt(1 + (each / scale) ** 2) - 1 for term in terms for each in term.residuals(x))


def _normal(terms: Sequence[Term], x: list[float], scale: float) -> tuple[list[list[float]], list[float]]:
    """Gauss and Newton's matrix and the gradient of the loss."""
    number = len(x)
    hessian, gradient = [[0.0] * number for _ in range(number)], [0.0] * number
    for term in terms:
        middle, unknowns = term.residuals(x), sorted(term.unknowns)
        slopes = _slopes(term, x) if term.slopes is None else term.slopes
        for place, residual in enumerate(middle):
            weight = 1 / sqrt(1 + (residual / scale) ** 2)
            for row, i in enumerate(unknowns):
                by = weight * slopes[row][place]
                if by:
                    gradient[i] += by * residual
                    by *= weight * weight  # the loss bends less where it is far from its least
                    line = hessian[i]
                    for column in range(row + 1):
                        line[unknowns[column]] += by * slopes[column][place]
    for i in range(number):
        for j in range(i):
            hessian[j][i] = hessian[i][j]
    return hessian, gradient


def _slopes(term: Term, x: list[float]) -> list[list[float]]:
    """By unknown, of each residual."""
    middle, slopes = term.residuals(x), []
    for index in sorted(term.unknowns):
        held = x[index]
        x[index] = held + _STEP
        slopes.append([(moved - still) / _STEP for moved, still in zip(term.residuals(x), middle, strict=True)])
        x[index] = held
    return slopes


def _solved(
    hessian: Sequence[Sequence[float]],
    gradient: Sequence[float],
    damping: float,
    x: Sequence[float],
    least: Sequence[float],
    most: Sequence[float],
) -> list[float]:
    """The damped step; an unknown at the end of its range that would leave it stays."""
    free = [
        i
        for i, slope in enumerate(gradient)
        if hessian[i][i] > 0 and not (x[i] <= least[i] and slope > 0) and not (x[i] >= most[i] and slope < 0)
    ]
    rows = [[hessian[i][j] * (1 + damping if i == j else 1) for j in free] + [-gradient[i]] for i in free]
    for k, pivot in enumerate(rows):  # symmetric and positive: no pivoting needed
        for row in rows[k + 1 :]:
            by = row[k] / pivot[k]
            if by:
                for j in range(k, len(row)):
                    row[j] -= by * pivot[j]
    step = [0.0] * len(x)
    for k in range(len(free) - 1, -1, -1):
        rest = sum(rows[k][j] * step[free[j]] for j in range(k + 1, len(free)))
        step[free[k]] = (rows[k][-1] - rest) / rows[k][k]
    return step
