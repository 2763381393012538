"""Limits of answers and log probabilities of one request."""

from __future__ import annotations

from typing import Any

import pytest

from sovctl.gateway.policy.request_amounts import excessive_field


def field(**body: Any) -> str | None:
    return excessive_field(body, max_answers=16, max_logprobs=20)


@pytest.mark.parametrize("name", ["n", "best_of"])
@pytest.mark.parametrize("value", [17, 10**9, -1, "17", 17.0, float("nan"), [1], {"a": 1}])
def test_more_answers_than_the_limit_are_refused(name: str, value: Any) -> None:
    assert field(**{name: value}) == name


@pytest.mark.parametrize("name", ["logprobs", "top_logprobs", "prompt_logprobs"])
@pytest.mark.parametrize("value", [21, -1, "5", float("inf")])
def test_more_log_probabilities_than_the_limit_are_refused(name: str, value: Any) -> None:
    assert field(**{name: value}) == name


@pytest.mark.parametrize("value", [None, 0, 1, 16])
def test_numbers_within_the_limit_are_accepted(value: Any) -> None:
    assert field(n=value, best_of=value, top_logprobs=value, prompt_logprobs=value, logprobs=True) is None
    assert field(model="assistant", max_tokens=100_000) is None
