"""vLLM's metrics: what is read from them, and that nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vllm_metrics import metrics

from sovctl.gateway.upstream.load import Load, load_of


def load(text: bytes, in_flight: int = 0) -> Load | None:
    return load_of(text, now_s=7.0, in_flight=in_flight)


def test_the_four_figures_are_read() -> None:
    assert load(metrics(waiting=3, running=8, kv_usage=0.25, blocks=1000), 2) == Load(3, 8, 0.25, 16_000, 7.0, 2)
    assert load(metrics(kv_usage=0.25, blocks=1000)).free_kv_tokens == 12_000  # type: ignore[union-attr]


def test_the_older_name_of_the_cache_is_known_too() -> None:
    text = metrics(kv_usage=0.5).replace(b"vllm:kv_cache_usage_perc", b"vllm:gpu_cache_usage_perc")
    assert load(text).kv_usage == 0.5  # type: ignore[union-attr]


def test_the_engines_of_one_server_are_added() -> None:
    both = load(metrics(waiting=1, running=2, kv_usage=0.2) + metrics(waiting=3, running=4, kv_usage=0.6, engine=1))
    assert both == Load(4, 6, 0.4, 2 * 16_000, 7.0, 0)


def test_a_server_that_does_not_say_its_cache_size_has_none() -> None:
    text = metrics().replace(b"num_gpu_blocks", b"blocks")
    assert load(text).free_kv_tokens is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"nothing",
        b"<html></html>",
        metrics().replace(b"vllm:", b"other:"),
        metrics().replace(b"num_requests_waiting{", b"num_requests_waiting_by_reason{"),
        metrics().replace(b"} 0.0", b"} NaN"),
        metrics().replace(b"} 0.0", b"} -1.0"),
        metrics().replace(b"} 0.0", b"} "),
    ],
)
def test_invalid_metrics_give_no_load(text: bytes) -> None:
    assert load(text) is None


@given(st.binary(max_size=300) | st.lists(st.sampled_from(metrics().split(b"\n"))).map(b"\n".join))
def test_any_bytes_are_a_load_or_none(text: bytes) -> None:
    found = load(text)
    assert found is None or (found.waiting >= 0 and 0 <= found.kv_usage <= 1)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_what_we_sent_since_counts(waiting: int, running: int, before: int, now: int) -> None:
    seen = Load(waiting, running, 0.0, None, 0.0, before)
    assert seen.outstanding(now) >= now
    assert seen.outstanding(now + 1) - seen.outstanding(now) in (0, 1)
    assert seen.queue(now) == (max(0, waiting + now - before) if waiting else 0)
