"""The heuristic in shadow mode: what it sees, and that it only names what the plan holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.routing.complexity import complexity_of, shadow_of
from sovctl.gateway.routing.demand import Demand
from sovctl.gateway.settings import Capability, ShadowSettings, SurfaceName

SETTINGS = ShadowSettings(simple="small", complex="large")


def points(content: str, *, turns: int = 1, tokens: int = 10, needs: frozenset[Capability] = frozenset()) -> int:
    body = {"messages": [{"role": "user", "content": content}] * turns}
    demand = Demand(SurfaceName.CHAT, needs, tokens, tokens)
    return complexity_of(json.dumps(body, ensure_ascii=False).encode(), body, demand).points


@pytest.mark.parametrize(
    ("expected", "content", "more"),
    [
        (0, "Hello, how are you?", {}),
        (1, "Why? When? Who?", {}),
        (1, "```x = 1```", {}),
        (1, r"Show that \frac{a}{b} is rational", {}),
        (1, "What is ∑ n", {}),
        (1, "Hello", {"turns": 7}),
        (1, "Hello", {"tokens": 1001}),
        (2, "Hello", {"tokens": 8001}),
        (1, "Hello", {"needs": frozenset({Capability.TOOLS})}),
        (3, "```x``` Why? When? Who?", {"tokens": 2000}),
    ],
)
def test_complexity_points_of_a_request(expected: int, content: str, more: dict[str, Any]) -> None:
    assert points(content, **more) == expected


@given(st.integers(0, 9), st.lists(st.sampled_from(["small", "large", "other"]), min_size=1, unique=True))
def test_shadow_choice_is_an_upstream_of_the_plan(count: int, upstreams: list[str]) -> None:
    shadow = shadow_of(
        type(complexity_of(b"", {}, Demand(SurfaceName.CHAT, frozenset(), 0, 0)))(count), SETTINGS, upstreams
    )
    assert shadow.upstream in upstreams
    assert shadow.complexity == ("complex" if count >= 2 else "simple")
    wanted = "large" if count >= 2 else "small"
    assert (shadow.upstream == wanted) is (wanted in upstreams or upstreams[0] == wanted)
