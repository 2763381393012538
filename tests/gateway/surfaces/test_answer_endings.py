"""What ends a stream instead of its answer: well formed behind any beginning that a client has got."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.surfaces.answers.replacement_answer import (
    ChoicesEnding,
    Ending,
    MessageEnding,
    ReplacementAnswer,
    ResponseEnding,
)

INSTEAD = ReplacementAnswer("ho-" + "1" * 32, "A person looks at it.", "assistant", "r" * 32, 1_790_000_000)


def events(ending: Ending, sent: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The whole stream: what went out, and what ends it."""
    for event in sent:
        ending.sent(event)
    framed = b"".join(ending.events(INSTEAD))
    lines = [line[6:] for line in framed.split(b"\n") if line.startswith(b"data: {")]
    return [*sent, *map(orjson.loads, lines)]


def message_events(blocks: int) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [{"type": "message_start", "message": {"content": []}}, {"type": "ping"}]
    for index in range(blocks):
        told.append({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}})
        told += [{"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": "a"}}] * 2
        told.append({"type": "content_block_stop", "index": index})
    return told


@given(st.integers(0, 3), st.integers(0, 14))
def test_a_message_opens_and_closes_every_block_in_order(blocks: int, got: int) -> None:
    stream = events(MessageEnding(), message_events(blocks)[:got])
    is_open, count = False, 0
    for event in stream:
        kind = event["type"]
        if kind == "content_block_start":
            assert not is_open
            assert event["index"] == count
            is_open, count = True, count + 1
        elif kind in ("content_block_delta", "content_block_stop"):
            assert is_open
            assert event["index"] == count - 1
            is_open = kind != "content_block_stop"
    kinds = [event["type"] for event in stream]
    assert kinds.count("message_start") == 1
    assert kinds[0] == "message_start"
    assert not is_open
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert stream[-2]["sovctl"]["handoff_id"] == INSTEAD.handoff_id


def response_events(items: int) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": "resp_1"}}]
    for place in range(items):
        item = {"id": f"msg_{place}", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        told.append({"type": "response.output_item.added", "output_index": place, "item": item})
        told += [{"type": "response.output_text.delta", "output_index": place, "delta": "ab"}] * 2
        done = {**item, "status": "completed", "content": [{"type": "output_text", "text": "abab"}]}
        told.append({"type": "response.output_item.done", "output_index": place, "item": done})
    return [{**event, "sequence_number": number} for number, event in enumerate(told)]


@given(st.integers(0, 3), st.integers(0, 13))
def test_a_response_is_numbered_through_and_ends_with_all_that_was_said(items: int, got: int) -> None:
    sent = response_events(items)[:got]
    stream = events(ResponseEnding(), sent)
    assert [event["sequence_number"] for event in stream] == list(range(len(stream)))
    assert stream[0]["type"] == "response.created"
    final = stream[-1]["response"]
    assert (stream[-1]["type"], final["status"]) == ("response.incomplete", "incomplete")
    assert final["id"] == ("resp_1" if sent else f"resp_{INSTEAD.request_id}")
    text = "".join(part["text"] for item in final["output"] for part in item["content"])
    assert text == "".join(event["delta"] for event in stream if event["type"] == "response.output_text.delta")
    places = [event["output_index"] for event in stream if event["type"] == "response.output_item.added"]
    assert places == list(range(len(places)))


@given(st.integers(1, 4), st.data())
def test_every_choice_that_is_not_over_is_ended_once(count: int, data: st.DataObject) -> None:
    over = data.draw(st.sets(st.integers(0, count - 1)))
    sent: list[dict[str, Any]] = [
        {
            "id": "x",
            "created": 5,
            "choices": [{"index": n, "delta": {}, "finish_reason": "stop" if n in over else None}],
        }
        for n in range(count)
    ]
    stream = events(ChoicesEnding("chat.completion", choices=count), sent)
    ended = [choice["index"] for event in stream for choice in event["choices"] if choice["finish_reason"] is not None]
    assert sorted(ended) == list(range(count))
    assert {event["id"] for event in stream} == {"x"}


@given(st.text(min_size=1), st.booleans())
def test_a_whole_answer_says_the_text_and_where_it_is(text: str, is_final: bool) -> None:
    instead = ReplacementAnswer("ho-" + "1" * 32, text, "assistant", "r", 5, is_final=is_final)
    for ending in (ChoicesEnding("chat.completion", choices=1), MessageEnding(), ResponseEnding()):
        made = orjson.loads(orjson.dumps(ending.whole(instead)))
        assert made["sovctl"] == {"handoff_id": instead.handoff_id, "state": "resolved" if is_final else "waiting"}
        assert orjson.dumps(text) in orjson.dumps(made)
