"""Pieces of a stream that are one event of a known form go their short way; the client gets what it gets anyhow."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.pipeline.restored_events import RestoredEvents
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.tokens.restore import RestoreCounts
from sovctl.gateway.tokens.token import TokenIssuer

VALUE = "an.example@example.com"
TOKEN = TokenIssuer(bytes(32), tenant="t", conversation="c").token(EntityType.EMAIL, VALUE, VALUE)


def made(path: str = "/v1/chat/completions", **more: Any) -> RestoredEvents:
    stream = SURFACES[path].stream(Restoration({TOKEN: VALUE}, "assistant", RestoreCounts()))
    return RestoredEvents(stream, **{"max_event_bytes": 4096} | more)


def chunk(text: str, **more: Any) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return b"data: " + orjson.dumps({"id": "x", "model": "big", "choices": [choice], **more}) + b"\n\n"


def delta(text: str) -> bytes:
    said = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return b"event: content_block_delta\ndata: " + orjson.dumps(said) + b"\n\n"


@examples(200)
@given(st.data(), st.sampled_from([chunk, delta]))
def test_events_are_the_same_however_their_bytes_come(data: st.DataObject, made_of: Any) -> None:
    texts = data.draw(st.lists(st.sampled_from(["To ", TOKEN, TOKEN[:9], TOKEN[9:], ".", '"', "data: "]), max_size=9))
    raw = b"".join(map(made_of, texts))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=9)))
    path = "/v1/chat/completions" if made_of is chunk else "/v1/messages"
    ones, cut = made(path), made(path)
    one_by_one = b"".join(ones.feed(made_of(text)) for text in texts)
    assert one_by_one == b"".join(cut.feed(raw[a:b]) for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True))


def test_what_looks_like_a_known_event_inside_another_one_is_no_event() -> None:
    restored = made()
    assert restored.feed(chunk("a")) == chunk("a").replace(b"big", b"assistant")
    begun = b'data: {"id":"x","model":"big","choices":[],"note":"\\\n'
    assert restored.feed(begun) == b""
    with pytest.raises(Exception, match="protocol"):
        restored.feed(chunk("b"))


@pytest.mark.parametrize("odd", [b'"', b"\\x", b'b","b', b'b",\n"b', b"\n", b"\xff", b'b"},{"a":"b'])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_no_string_of_json_is_none_among_events_that_come_together(odd: bytes, place: int) -> None:
    restored = made()
    restored.feed(chunk("a"))
    events = [chunk(text) for text in ("b", "c", "d")]
    events[place] = events[place].replace(b'"content":"', b'"content":"' + odd)
    with pytest.raises(Exception, match="protocol"):
        restored.feed(b"".join(events))


def test_an_event_of_a_known_form_behind_the_end_is_none() -> None:
    restored = made()
    restored.feed(chunk("a"))
    assert restored.feed(b"data: [DONE]\n\n" + chunk("b")) == restored.feed(chunk("c")) == b""


def test_usage_is_counted_also_in_events_of_a_known_form() -> None:
    told: list[int] = []

    def note(data: bytes) -> bool:
        told.append(orjson.loads(data)["usage"]["completion_tokens"])
        return False

    restored = made(is_left_out=note)
    events = [chunk(text, usage={"prompt_tokens": 1, "completion_tokens": 1}) for text in "abc"]
    assert [restored.feed(each) for each in events] == [each.replace(b"big", b"assistant") for each in events]
    assert told == [1, 1, 1]
