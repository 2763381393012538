"""A real gateway that traces into a real collector; and one whose collector is gone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from otlp_receiver import OtlpReceiver, Received
from waiting import until

from examples import examples

KEY = "test-key-of-the-branch-application"
IBAN = "DE89370400440532013000"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(name="receiver", scope="module")
def receiver_fixture() -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as receiver:
        yield receiver


@pytest.fixture(name="traced", scope="module")
def traced_fixture(start: Callable[..., Any], receiver: OtlpReceiver) -> Any:
    ways = {"pool": "chat", "cloud": "sovereign-cloud", "prefer": "cloud"}
    routes = [
        {"model": "assistant", **ways, "release": {"identifiers": {"default": "mask"}}},
        {"model": "inside", "pool": "chat"},
    ]
    return start(tracing={"endpoint": receiver.url, "sample_ratio": 1.0}, routes=routes)


def ask(gateway: Any, text: str, *, model: str = "assistant", stream: bool = False, **headers: str) -> int:
    body = {"model": model, "messages": [{"role": "user", "content": text}], "stream": stream}
    sent = {"authorization": f"Bearer {KEY}", "content-type": "application/json", **headers}
    status, _, _ = gateway.request("POST", "/v1/chat/completions", json.dumps(body).encode(), sent)
    return int(status)


def spans_of(receiver: OtlpReceiver, known: set[str]) -> list[Received]:
    """Those of the trace that came last, once its root is there."""

    def new() -> list[Received]:
        found = [each for each in receiver.spans() if each.trace_id not in known]
        return found if any(each.name == "request" for each in found) else []

    return until(new, "a new trace")


@pytest.mark.parametrize("stream", [False, True])
def test_request_trace_has_a_span_per_stage(traced: Any, receiver: OtlpReceiver, stream: bool) -> None:
    known = {each.trace_id for each in receiver.spans()}
    assert ask(traced, f"Please pay to {IBAN} today.", stream=stream) == 200
    spans = spans_of(receiver, known)
    (root,) = [each for each in spans if each.name == "request"]
    parts = [each.name for each in spans if each.parent_id == root.span_id]
    assert sorted(parts) == ["audit", "audit", "chat big", "detect", "release", "vault"]
    assert root.attributes["http.response.status_code"] == 200
    assert root.attributes["sovctl.reason"] == "answered"
    assert root.attributes["gen_ai.request.stream"] is stream
    assert root.attributes["gen_ai.operation.name"] == "chat"
    assert root.attributes["gen_ai.request.model"] == "assistant"
    assert root.attributes["gen_ai.response.model"] == "big"
    used = [root.attributes.get(f"gen_ai.usage.{name}_tokens") for name in ("input", "output")]
    assert used == ([None, None] if stream else [1, 2])  # this stream reports none
    assert root.attributes["sovctl.tokens"] == 1
    (upstream,) = [each for each in spans if each.name == "chat big"]
    assert upstream.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "big",
        "gen_ai.request.stream": stream,
        "sovctl.upstream": "sovereign-cloud",
        "sovctl.upstream_kind": "cloud",
        "sovctl.attempts": 1,
    }
    assert 0 < upstream.lasted_ns <= root.lasted_ns


def test_pools_hear_of_the_trace_and_clouds_never_do(
    traced: Any, receiver: OtlpReceiver, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    known = {each.trace_id for each in receiver.spans()}
    assert ask(traced, "Hello to the pool.", model="inside", traceparent=PARENT, tracestate="a=secret") == 200
    spans = spans_of(receiver, known)
    (upstream,) = [each for each in spans if each.name == "chat echo"]
    assert upstream.trace_id == PARENT[3:35]
    heard = b"".join(pool.raw).decode("latin-1").lower()
    assert f"00-{upstream.trace_id}-{upstream.span_id}-01" in heard
    assert "tracestate" not in heard
    assert ask(traced, "Hello to the cloud.", traceparent=PARENT) == 200
    assert cloud.raw
    assert b"traceparent" not in b"".join(cloud.raw).lower()
    assert PARENT[3:35].encode() not in b"".join(cloud.raw)


def test_a_refusal_ends_its_trace_with_the_code(traced: Any, receiver: OtlpReceiver) -> None:
    known = {each.trace_id for each in receiver.spans()}
    assert ask(traced, "My password: correct-horse-battery") == 403
    (root,) = [each for each in spans_of(receiver, known) if each.name == "request"]
    assert (root.attributes["http.response.status_code"], root.attributes["sovctl.reason"]) == (403, "policy_blocked")
    assert root.attributes["error.type"] == "policy_blocked"


_WORDS = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=12, max_size=30)


@given(st.lists(_WORDS, min_size=1, max_size=5), st.booleans())
@examples(12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_of_a_request_is_in_any_byte_that_is_exported(
    traced: Any, receiver: OtlpReceiver, words: list[str], stream: bool
) -> None:
    known = {each.trace_id for each in receiver.spans()}
    text = f"{' '.join(words)}, mail {words[0]}@example.com, account {IBAN}"
    assert ask(traced, text, stream=stream) == 200
    spans_of(receiver, known)
    exported = b"".join(receiver.raw)
    for word in (*words, IBAN, f"{words[0]}@example.com", KEY):
        assert word.encode() not in exported


def test_unreachable_collector_fails_no_request(start: Callable[..., Any]) -> None:
    with OtlpReceiver() as gone:
        url = gone.url
    gateway = start(tracing={"endpoint": url, "sample_ratio": 1.0})
    assert {ask(gateway, f"Request number {number}, please.", model="assistant") for number in range(20)} == {200}
    until(lambda: "traces rejected by the collector" in gateway.log(), "it is said")
    assert gateway.log().count("traces rejected by the collector") == 1
    began = time.monotonic()
    gateway.stop()
    assert '"stopped"' in gateway.log(), "in order, not by force"
    assert time.monotonic() - began < 40, "nobody waits for what will not come"
