"""An upstream that dies, stalls or talks nonsense: the client is told so, in the shape it expects, and gets none of it.

The pool is not there, so nothing else can answer in its place.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest
from loopback_gateway import LoopbackGateway, running_gateway, say, write_loopback_config
from raw_upstream import END_OF_STREAM, GATE, HOLD, RESET, RawUpstream, stream, whole
from waiting import until

VALUE = "DE89370400440532013000"
PROMPT = f"Please confirm the transfer to {VALUE} today."
WORDS = b"what the upstream said"


def event(content: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "x", "model": "big", "choices": [choice]}).encode() + b"\n\n"


def answer(content: str) -> bytes:
    message = {"role": "assistant", "content": content}
    return json.dumps({"id": "x", "model": "big", "choices": [{"index": 0, "message": message}]}).encode()


def deep(levels: int) -> bytes:
    """JSON that is well-formed, and nests."""
    return b'{"a":' * levels + b"1" + b"}" * levels


FIRST = event("Dear customer, ")
DONE = b"data: [DONE]\n\n"
HUGE = b"data: " + b"x" * (2 << 20)
HTML = b"<html>" + WORDS + b"</html>"


def after_first(*pieces: bytes) -> list[Any]:
    """A good beginning, which the client has seen, then these and a good end."""
    first, *rest = stream(*pieces, DONE)
    return [first, *stream(FIRST)[1:], GATE, *rest, END_OF_STREAM]


# What it does; whether the client has got words before, so that it is told by an event instead of a status.
STREAMS: dict[str, tuple[list[Any], bool]] = {
    "dies before a word": ([RESET], False),
    "dies after the head": ([*stream(), RESET], False),
    "dies mid-stream": ([*stream(FIRST), GATE, RESET], True),
    "dies inside an event": ([*stream(FIRST, FIRST[:20]), GATE, RESET], True),
    "closes without saying so": ([*stream(FIRST), GATE, END_OF_STREAM], True),
    "closes inside a chunk": ([*stream(FIRST), GATE, b"ff\r\ndata: {"], True),
    "stalls before a word": ([*stream(), HOLD], False),
    "stalls mid-stream": ([*stream(FIRST), HOLD], True),
    "says nothing at all": ([HOLD], False),
    "is no HTTP": ([WORDS * 100], False),
    "has a head without end": ([b"HTTP/1.1 200 OK\r\n", b"x-a: " + b"b" * 200_000], False),
    "is HTML": (whole(HTML, kind=b"text/html"), False),
    "is no JSON": (after_first(b"data: {" + WORDS + b"}\n\n"), True),
    "is another JSON": (after_first(b'data: ["' + WORDS + b'"]\n\n'), True),
    "says an error": ([*stream(b'data: {"error": {"message": "' + WORDS + b'"}}\n\n'), END_OF_STREAM], False),
    "says an error in the middle": (after_first(b'data: {"error": "' + WORDS + b'"}\n\n'), True),
    "has an event without end": (after_first(HUGE), True),
    "has half a UTF-8 sequence": (after_first(event("caf\u00e9").replace(b"\\u00e9", b"\xc3")), True),
    "has bytes that are no UTF-8": (after_first(b'data: {"choices": "\xff\xfe\x00"}\n\n'), True),
    "nests without end": (after_first(b'data: {"choices": ' + b"[" * 100_000 + b"\n\n"), True),
    "nests deeper than can be written": (
        after_first(event("x").replace(b'"content": "x"', b'"content": ' + deep(300))),
        True,
    ),
    "nests deeper than can be read": (
        after_first(event("x").replace(b'"content": "x"', b'"content": ' + deep(900))),
        True,
    ),
    "has a choice that is none": (after_first(b'data: {"choices": [null]}\n\n'), True),
    "has a bad chunk length": ([*stream(FIRST), GATE, b"zz\r\n" + WORDS], True),
}
WHOLES: dict[str, list[Any]] = {
    "dies before a word": [RESET],
    "dies inside the body": [*whole(answer("x"), length=10_000), RESET],
    "closes inside the body": whole(answer("x"), length=10_000),
    "stalls inside the body": [*whole(answer("x"), length=10_000), HOLD],
    "says nothing at all": [HOLD],
    "is no HTTP": [WORDS * 100],
    "is HTML": whole(HTML, kind=b"text/html"),
    "is empty": whole(b""),
    "is another JSON": whole(b'["' + WORDS + b'"]'),
    "has half a UTF-8 sequence": whole(answer("caf\u00e9").replace(b"\\u00e9", b"\xc3")),
    "nests without end": whole(b'{"choices": ' + b"[" * 100_000),
    "nests deeper than can be written": whole(answer("x").replace(b'"content": "x"', b'"content": ' + deep(300))),
    "nests deeper than can be read": whole(answer("x").replace(b'"content": "x"', b'"content": ' + deep(900))),
    "redirects": [b"HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:9/" + WORDS + b"\r\ncontent-length: 0\r\n\r\n"],
    "switches protocols": [b"HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n" + WORDS],
    "is longer than allowed": [
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4194304\r\n\r\n" + b" " * 4_194_304
    ],
}


@pytest.fixture(scope="module")
def upstream() -> Iterator[RawUpstream]:
    with RawUpstream() as found:
        yield found


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, upstream: RawUpstream) -> Iterator[LoopbackGateway]:
    folder = tmp_path_factory.mktemp("faults")
    limits = {"max_answer_bytes": 1 << 20}
    config = write_loopback_config(folder, cloud_port=upstream.port, patience_s=2, limits=limits)
    with running_gateway(config) as found:
        yield found


def ending(gateway: LoopbackGateway, request_id: str) -> dict[str, Any]:
    """The last record of a request; nobody waits for that of a stream which broke off."""

    def found() -> list[dict[str, Any]]:
        return [r for r in gateway.records() if (r["type"], r.get("id")) == ("gateway.answer", request_id)]

    return until(found, "the record of the answer")[-1]


@pytest.mark.parametrize("fault", STREAMS)
def test_a_stream_ends_with_an_error_and_none_of_its_words(
    gateway: LoopbackGateway, upstream: RawUpstream, fault: str
) -> None:
    upstream.plan, has_begun = STREAMS[fault]
    upstream.gate.clear()
    status, headers, said = gateway.post(say(PROMPT, stream=True), begun=upstream.gate.set)
    assert status == (200 if has_begun else 502), said
    assert WORDS not in said
    assert b"[DONE]" not in said
    last = json.loads(said.strip().rpartition(b"data: ")[2]) if has_begun else json.loads(said)
    assert last["error"]["sovctl"]["reason"] == "upstream_failed"
    assert last["error"]["sovctl"]["request_id"] == headers["x-sovctl-request-id"]
    assert (b"Dear customer" in said) == has_begun
    assert ending(gateway, headers["x-sovctl-request-id"])["reason"] == "upstream_failed"
    assert WORDS.decode() not in gateway.log()


@pytest.mark.parametrize("fault", WHOLES)
def test_an_answer_that_is_none_is_a_502(gateway: LoopbackGateway, upstream: RawUpstream, fault: str) -> None:
    upstream.plan = WHOLES[fault]
    status, headers, said = gateway.post(say(PROMPT))
    assert (status, json.loads(said)["error"]["sovctl"]["reason"]) == (502, "upstream_failed")
    assert WORDS not in said
    assert ending(gateway, headers["x-sovctl-request-id"])["status"] == 502
    assert WORDS.decode() not in gateway.log()


def test_an_answer_with_half_a_character_comes_through(gateway: LoopbackGateway, upstream: RawUpstream) -> None:
    upstream.plan = whole(answer("Dear \ud83d customer"))
    status, _, said = gateway.post(say(PROMPT))
    assert (status, json.loads(said)["choices"][0]["message"]["content"]) == (200, "Dear \ufffd customer")
    upstream.plan = [*stream(FIRST, event("\ud83d"), event("bye", "stop"), DONE), END_OF_STREAM]
    status, _, said = gateway.post(say(PROMPT, stream=True))
    events = [json.loads(line[6:]) for line in said.splitlines() if line.startswith(b"data: {")]
    assert "".join(each["choices"][0]["delta"]["content"] for each in events) == "Dear customer, \ufffdbye"
    assert said.rstrip().endswith(b"[DONE]")


def test_compressed_answers_are_understood_or_refused(gateway: LoopbackGateway, upstream: RawUpstream) -> None:
    packed = gzip.compress(answer("plain words"))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n"
    upstream.plan = [head % len(packed) + packed]
    status, _, said = gateway.post(say(PROMPT))
    assert status in (200, 502)
    assert status == 502 or json.loads(said)["choices"][0]["message"]["content"] == "plain words"


def test_a_compressed_bomb_does_not_unfold(gateway: LoopbackGateway, upstream: RawUpstream) -> None:
    packed = gzip.compress(b" " * (64 << 20))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n"
    upstream.plan = [head % len(packed) + packed]
    status, _, said = gateway.post(say(PROMPT))
    assert (status, json.loads(said)["error"]["sovctl"]["reason"]) == (502, "upstream_failed")


def test_a_token_cut_off_by_the_end_is_never_guessed(gateway: LoopbackGateway, upstream: RawUpstream) -> None:
    upstream.plan = [*stream(FIRST, event("see IBAN_7K2M")), RESET]
    _, _, said = gateway.post(say(PROMPT, stream=True))
    assert VALUE.encode() not in said


def test_afterwards_it_serves_as_before_and_nothing_was_a_mistake(
    gateway: LoopbackGateway, upstream: RawUpstream
) -> None:
    upstream.plan = [*stream(FIRST, event("", "stop"), DONE), END_OF_STREAM]
    status, _, said = gateway.post(say(PROMPT, stream=True))
    assert (status, b"[DONE]" in said) == (200, True)
    assert VALUE.encode() not in b"".join(upstream.raw)
    events = [json.loads(line) for line in gateway.log().splitlines()]
    assert not [each for each in events if each["event"] in ("internal error", "unhandled error")], events
    until(lambda: b"sovctl_gateway_in_flight_requests 0" in gateway.get("/metrics")[1], "nothing is in flight")
