"""Marks of an evaluation, and its comparison with a pass mark and with an earlier evaluation.

obstacle(evaluation, baseline=earlier)      # None, or the reason for which it does not pass
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..facts.unreadable import MALFORMED, Unreadable

ASKED = ("gateway", "node")
Z_95 = 1.96
"""Standard deviations of a two-sided interval of 95 %."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Result of one evaluation. It contains ids of questions, and no question and no answer.

    Args:
        model_sha256: digest of the model's manifest in site.yaml.
        questions_sha256: digest of the file.
        wrong: ids of the questions without a correct answer.
        pass_mark: smallest fraction of correct answers.
        tokens: generated for all answers.
        seconds: spent on answers.
        time: UTC, ISO 8601.
        asked: `gateway`: model and engine are those of site.yaml; `node`: the node of a replica reported them.
    """

    pool: str
    model: str
    model_sha256: str
    engine_version: str
    questions_sha256: str
    total: int
    wrong: tuple[str, ...]
    pass_mark: float
    tokens: int
    seconds: float
    time: str
    asked: str = "gateway"

    @property
    def correct(self) -> int:
        """Number of correct answers."""
        return self.total - len(self.wrong)

    @property
    def score(self) -> float:
        """Fraction of correct answers."""
        return self.correct / self.total

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> Evaluation:
        """Return the result of `to_json`.

        Raises:
            Unreadable: the value has another form.
        """
        try:
            found = cls(**{**value, "wrong": tuple(value["wrong"])})
            texts = (found.pool, found.model, found.model_sha256, found.engine_version, found.questions_sha256)
            if not all(isinstance(each, str) and each for each in (*texts, found.time, *found.wrong)):
                raise ValueError("text")
            if found.asked not in ASKED:
                raise ValueError("asked")
            if not 0 <= len(found.wrong) <= found.total or found.total < 1 or not 0 < found.pass_mark <= 1:
                raise ValueError("numbers")
        except MALFORMED:
            raise Unreadable("a result of an evaluation", "another form", where="evaluation") from None
        return found


def binomial_error(score: float, total: int) -> float:
    """Return half the width of the 95 % interval of a fraction.

    Source: Agresti and Coull, The American Statistician 52 (1998).
    """
    count = total + Z_95**2
    center = (score * total + Z_95**2 / 2) / count
    return Z_95 * math.sqrt(center * (1 - center) / count)


def obstacle(found: Evaluation, *, baseline: Evaluation | None) -> str | None:
    """Return the reason for which an evaluation does not pass; None if it passes. See `shortfall`."""
    missed = shortfall(found, baseline=baseline)
    return None if missed is None else f"expected {missed[0]}, got {missed[1]}"


def shortfall(found: Evaluation, *, baseline: Evaluation | None) -> tuple[str, str] | None:
    """Return the expected and the reached mark of an evaluation that does not pass; None if it passes.

    Args:
        baseline: an earlier evaluation; one by other questions is not compared.
    """
    got = f"{found.score:.1%} ({found.correct} of {found.total})"
    if found.score < found.pass_mark:
        return f"at least {found.pass_mark:.1%} correct answers", got
    if baseline is None or baseline.questions_sha256 != found.questions_sha256:
        return None
    error = binomial_error(baseline.score, found.total)
    if found.score < baseline.score - error:
        wanted = f"{baseline.score - error:.1%} (baseline {baseline.score:.1%} of {baseline.time}, error {error:.1%})"
        return f"at least {wanted}", got
    return None


def baseline_of(found: Evaluation, earlier: Sequence[Evaluation]) -> Evaluation | None:
    """Return the best earlier evaluation by the same questions, asked alike, that reached its pass mark; None without
    one."""
    passed = [
        each
        for each in earlier
        if (each.questions_sha256, each.asked) == (found.questions_sha256, found.asked) and each.score >= each.pass_mark
    ]
    return max(passed, key=lambda each: each.score, default=None)
