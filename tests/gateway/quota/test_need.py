"""What a request may use at most, and what it did use."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.quota.need import Nano, Usage, max_usage, may_report_usage, need_of, reported_usage, usage_in
from sovctl.gateway.quota.size import Size, size_of
from sovctl.gateway.settings import Price, QuotaSettings
from sovctl.gateway.settings.base.surface import SurfaceName

PRICES = st.builds(Nano, st.integers(0, 100_000), st.integers(0, 100_000))


@given(
    st.integers(2, 300_000),
    st.integers(0, 10_000),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(16, 20_000),
    st.lists(PRICES, min_size=1, max_size=3),
    st.data(),
)
def test_no_request_uses_more_than_was_reserved(
    body_bytes: int, asked: int, answers: int, prompts: int, max_model_len: int, prices: list[Nano], data: Any
) -> None:
    size = Size(body_bytes, prompts, answers * prompts)
    bounds = max_usage(size, asked=asked, max_model_len=max_model_len, settings=QuotaSettings())
    need = need_of(bounds, prices)
    said = Usage(0, 0)
    left = body_bytes
    for _ in range(prompts):
        prompt = data.draw(st.integers(0, min(left, max_model_len)))
        left -= prompt
        longest = min(asked or max_model_len, max_model_len - prompt)
        answer = sum(data.draw(st.integers(0, longest)) for _ in range(answers))
        said = Usage(said.prompt + prompt, said.completion + answer)
    assert said.tokens <= need.tokens
    assert all(said.cost(price) <= need.cost for price in prices)


def test_a_reservation_is_no_larger_than_it_must_be() -> None:
    def tokens(**changes: Any) -> int:
        request = {"body_bytes": 2000, "asked": 100, "answers": 1, "settings": QuotaSettings(), **changes}
        size = Size(request.pop("body_bytes"), 1, request.pop("answers"))
        return need_of(max_usage(size, **request, max_model_len=8192), []).tokens

    assert tokens() == 2100
    assert tokens(settings=QuotaSettings(bytes_per_token=4)) == 600
    assert tokens(asked=0) == 8192
    assert tokens(asked=0, settings=QuotaSettings(completion_tokens=500)) == 2500
    assert tokens(body_bytes=1_000_000) == 8192
    assert tokens(answers=3) == 2300


@given(st.decimals(0, 1000, places=3))
def test_a_price_is_whole_and_exact_to_a_thousandth(price: Any) -> None:
    listed = Price(input_price_per_million=float(price), output_price_per_million=0)
    assert Nano.of(listed) == (int(price * 1000), 0)


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}, Usage(5, 7)),
        ({"prompt_tokens": 5, "total_tokens": 5}, Usage(5, 0)),
        ({"input_tokens": 3, "output_tokens": 4}, Usage(3, 4)),
        (
            {"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 4},
            Usage(123, 4),
        ),
        ({"input_tokens": 3, "cache_read_input_tokens": None, "output_tokens": 4}, Usage(3, 4)),
        (None, None),
        ([], None),
        ({}, None),
        ({"prompt_tokens": -1}, None),
        ({"prompt_tokens": "5"}, None),
        ({"prompt_tokens": True}, None),
        ({"prompt_tokens": 1 << 60}, None),
    ],
)
def test_only_usage_that_makes_sense_is_believed(said: Any, usage: Usage | None) -> None:
    assert reported_usage(said) == usage


@pytest.mark.parametrize(
    ("family", "body", "size"),
    [
        ("chat.completions", {"messages": [{}, {}], "n": 3}, (1000, 1, 3)),
        ("chat.completions", {"messages": [], "n": "many"}, (1000, 1, 1)),
        ("chat.completions.batch", {"messages": [[{}], [{}]], "n": 2}, (1000, 2, 4)),
        ("completions", {"prompt": "a", "best_of": 5, "n": 2}, (1000, 1, 5)),
        ("completions", {"prompt": ["a", "b", "c"], "n": 2}, (1000, 3, 6)),
        ("completions", {"prompt": [1, 2, 3]}, (1000, 1, 1)),
        ("embeddings", {"input": ["a"] * 9}, (1000, 0, 0)),
        ("rerank", {"query": "äb", "documents": ["x"] * 10}, (1030, 0, 0)),
        ("score", {"text_1": ["a"] * 4, "text_2": "bb"}, (1008, 0, 0)),
    ],
)
def test_each_surface_says_how_large_a_request_is(family: str, body: Any, size: tuple[int, int, int]) -> None:
    assert size_of(body, SurfaceName(family), body_bytes=1000) == size


@pytest.mark.parametrize(
    ("event", "usage"),
    [
        ({"choices": [], "usage": {"prompt_tokens": 2, "completion_tokens": 3}}, Usage(2, 3)),
        ({"choices": [{}], "usage": None}, None),
        ({"type": "response.completed", "response": {"usage": {"input_tokens": 2, "output_tokens": 3}}}, Usage(2, 3)),
        ({"type": "message_start", "message": {"usage": {"input_tokens": 2, "output_tokens": 1}}}, Usage(2, 1)),
        ({"type": "message_delta", "usage": {"output_tokens": 9}}, Usage(0, 9)),
        ([], None),
    ],
)
def test_events_of_every_surface_say_what_was_used(event: Any, usage: Usage | None) -> None:
    assert usage_in(event) == usage


def test_later_events_count_from_the_beginning() -> None:
    assert Usage(2, 1).later(Usage(0, 9)) == Usage(2, 9)


_USAGE = {"prompt_tokens": 3, "completion_tokens": 4}
_NESTED = st.recursive(
    st.one_of(
        st.none(), st.just(_USAGE), st.sampled_from(['"usage":null', "usage", 'x","usage":null', ""]), st.integers(0, 9)
    ),
    lambda inner: st.dictionaries(st.sampled_from(["usage", "response", "message", "text"]), inner, max_size=3),
    max_leaves=8,
)


@examples(400)
@given(_NESTED)
def test_no_event_that_tells_its_usage_is_passed_over(event: object) -> None:
    if usage_in(event) is not None:
        assert may_report_usage(orjson.dumps(event))


def test_an_event_without_usage_is_known_without_reading_it() -> None:
    for data in (b'{"choices":[]}', b'{"choices":[],"usage":null}', b'{"text":"\\"usage\\":{}"}'):
        assert not may_report_usage(data)
    assert may_report_usage(orjson.dumps({"usage": _USAGE}))
