"""Quality of two models by the site's own questions: the evaluations to compare, and the conclusion. Pure.

    first, second = comparable(of_first, of_second)
    conclusion(first, second)        # "6.0 points apart, within the error of 8.3 points"

Marks by different questions are not compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .marks import Evaluation, binomial_error

NOT_MEASURED = "not measured"


def comparable(
    first: Sequence[Evaluation], second: Sequence[Evaluation]
) -> tuple[Evaluation | None, Evaluation | None]:
    """Return one evaluation of each model: the newest by the same questions, else the newest of each.

    Args:
        first: of one model, the oldest first.
        second: of the other model, the oldest first.

    Returns:
        None for a model without an evaluation.
    """
    both = {each.questions_sha256 for each in first} & {each.questions_sha256 for each in second}
    if both:
        newest = max((each for each in (*first, *second) if each.questions_sha256 in both), key=lambda each: each.time)
        first = [each for each in first if each.questions_sha256 == newest.questions_sha256]
        second = [each for each in second if each.questions_sha256 == newest.questions_sha256]
    return first[-1] if first else None, second[-1] if second else None


def conclusion(first: Evaluation | None, second: Evaluation | None) -> str:
    """Return the difference of the marks with its error, or why they are not compared."""
    if first is None or second is None:
        return "not compared: " + ("neither was measured" if first is second else "one was not measured")
    if first.questions_sha256 != second.questions_sha256:
        return "not compared: the questions are different"
    apart, error = abs(first.score - second.score) * 100, difference_error(first, second) * 100
    if apart <= error:
        return f"{apart:.1f} points apart, within the error of {error:.1f} points"
    return f"{apart:.1f} points apart, more than the error of {error:.1f} points"


def difference_error(first: Evaluation, second: Evaluation) -> float:
    """Return half the width of the 95 % interval of the difference of two marks, as a fraction.

    The marks count as independent. The same questions make them dependent, so that the interval is too wide rather
    than too narrow.
    """
    return math.hypot(*(binomial_error(each.score, each.total) for each in (first, second)))
