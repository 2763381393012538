"""Messages of Amazon's event streams: split anywhere, with checked checksums.

The vector is the one of the aws-c-event-stream and Smithy tests (`content-type: application/json`, read 2026-11).
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from provider_servers import event_frame, frame

from examples import examples
from sovctl.gateway.adapters.anthropic_on_bedrock.event_stream import EventStreamFramer, _headers
from sovctl.gateway.body.sse import EventTooLarge
from sovctl.gateway.domain.errors import UpstreamFailed

VECTOR = bytes.fromhex(
    "0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e"
    "7b27666f6f273a27626172277d8d9c08b1"
)


def framer() -> EventStreamFramer:
    return EventStreamFramer(max_event_bytes=1 << 16)


def test_reads_the_published_vector() -> None:
    assert framer().feed(VECTOR) == [{"exception": {}}]  # complete and intact, without an event type
    assert _headers(VECTOR[12:44]) == {"content-type": "application/json"}


@examples(200)
@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3), max_size=4), st.data())
def test_messages_are_split_anywhere(payloads: list[dict[str, str]], data: st.DataObject) -> None:
    stream = b"".join(frame({":event-type": "x", ":message-type": "event"}, json.dumps(p).encode()) for p in payloads)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=4)))
    reader, found = framer(), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[start:end])
    assert found == [{"x": payload} for payload in payloads]


@examples(200)
@given(st.data())
def test_a_changed_byte_is_noticed(data: st.DataObject) -> None:
    stream = bytearray(event_frame("contentBlockDelta", {"delta": {"text": "hello"}}))
    place = data.draw(st.integers(0, len(stream) - 1))
    stream[place] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(UpstreamFailed, EventTooLarge):
        assert not framer().feed(bytes(stream))  # a longer length: the message never completes


def test_a_message_above_the_limit_is_refused() -> None:
    with pytest.raises(EventTooLarge):
        framer().feed(event_frame("x", {"text": "x" * (1 << 16)}))


@pytest.mark.parametrize("headers", [b"\x03a", b"\x01a\x0a", b"\x01a\x07\x00\xff", b"\x01\xff\x00", b"\x09a\x07"])
def test_invalid_headers_are_an_invalid_answer(headers: Any) -> None:
    with pytest.raises(UpstreamFailed):
        _headers(headers)


def test_headers_of_all_types_are_read_over() -> None:
    headers = (
        b"\x01a\x00" + b"\x01b\x02\x01" + b"\x01c\x04\0\0\0\1" + b"\x01d\x08" + bytes(8) + b"\x01e\x06\x00\x02xy"
        b"\x01f\x07\x00\x01z"
    )
    assert _headers(headers) == {"f": "z"}
