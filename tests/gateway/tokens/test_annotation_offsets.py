"""Annotations speak of the same words once values stand in a text, streamed or not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.tokens.annotation_offsets import Offsets
from sovctl.gateway.tokens.restore import RestoreCounts, Restorer, restore
from sovctl.gateway.tokens.token import TokenIssuer

MINT = TokenIssuer(bytes(32), tenant="t", conversation="c")
VALUES = ["a@b.example", "a.very.long.name.of.somebody@example.com"]
ISSUED = {MINT.token(EntityType.EMAIL, value, value): value for value in VALUES}
SHORT, LONG = ISSUED
TEXT = f"Write to {SHORT}, then to **{LONG.lower()}** [1]; {SHORT} knows."
MARK = TEXT.index("[1]")
PIECES = [SHORT, LONG, LONG.lower(), " [1] ", "x ", "é", " EMAIL_7", "_"]


def cited(text: str, mark: int) -> dict[str, Any]:
    return {"start_index": mark, "end_index": mark + 3, "title": f"About {SHORT}", "url": "https://e.example/1"}


@given(st.lists(st.sampled_from(PIECES), max_size=10), st.integers(1, 30))
def test_a_place_outside_of_tokens_has_the_same_text_behind_it(pieces: list[str], size: int) -> None:
    text = " ".join(pieces)
    restorer = Restorer(ISSUED)
    made = "".join(restorer.feed(text[at : at + size]) for at in range(0, len(text), size)) + restorer.flush()
    for at in range(len(text) + 1):
        if text[at : at + 5] == " [1] ":
            assert made[restorer.offsets.place(at) :].startswith(" [1] ")
            assert made[restorer.offsets.place(at) :] == restore(text[at:], ISSUED)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 30), st.integers(0, 30)), max_size=8))
def test_places_keep_their_order_whatever_they_are(changes: list[tuple[int, int, int]]) -> None:
    offsets, end = Offsets(), 0
    for gap, length, becomes in changes:
        offsets.add(end + gap, end + gap + length, becomes)
        end += gap + length
    moved = [offsets.place(at) for at in range(-2, end + 9)]
    assert moved == sorted(moved)
    assert offsets.place(-2) == -2


@pytest.mark.parametrize("annotations", [None, "x", [None, 3, {"start_index": "1"}, {"start_index": True}, {}]])
def test_annotations_of_another_form_stay_as_they_are(annotations: Any) -> None:
    offsets, before = Offsets(), json.dumps(annotations)
    offsets.add(0, 5, 1)
    offsets.move(annotations)
    assert json.dumps(annotations) == before


def words(text: str, annotation: dict[str, Any]) -> str:
    return text[annotation["start_index"] : annotation["end_index"]]


def restoration(counts: RestoreCounts | None = None) -> Restoration:
    return Restoration(ISSUED, "assistant", counts or RestoreCounts())


def test_in_a_whole_chat_and_a_whole_response_they_speak_of_the_same_words() -> None:
    annotation = {"type": "url_citation", "url_citation": cited(TEXT, MARK)}
    message = {"role": "assistant", "content": TEXT, "annotations": [annotation]}
    counts = RestoreCounts()
    chat: Any = SURFACES["/v1/chat/completions"].whole(
        {"choices": [{"index": 0, "message": message}]}, restoration(counts)
    )
    made = chat["choices"][0]["message"]
    assert words(made["content"], made["annotations"][0]["url_citation"]) == "[1]"
    assert counts.restored == 4  # three in the text, one in the title: none a second time
    part = {"type": "output_text", "text": TEXT, "annotations": [{"type": "url_citation", **cited(TEXT, MARK)}]}
    response: Any = SURFACES["/v1/responses"].whole({"output": [{"type": "message", "content": [part]}]}, restoration())
    made = response["output"][0]["content"][0]
    assert words(made["text"], made["annotations"][0]) == "[1]"


def fed(path: str, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    stream = SURFACES[path].stream(restoration())
    out = [piece for event in events for piece in stream.feed(json.dumps(event).encode())]
    return [json.loads(line[6:]) for piece in out for line in piece.splitlines() if line.startswith(b"data: {")]


@pytest.mark.parametrize("size", [1, 7, 500])
def test_in_streams_they_do_too(size: int) -> None:
    cut = [TEXT[at : at + size] for at in range(0, len(TEXT), size)]

    def delta(**said: Any) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": said, "finish_reason": None}]}

    annotation = {"type": "url_citation", "url_citation": cited(TEXT, MARK)}
    chunks = fed("/v1/chat/completions", [*(delta(content=piece) for piece in cut), delta(annotations=[annotation])])
    text = "".join(each["choices"][0]["delta"].get("content", "") for each in chunks)
    assert words(text, chunks[-1]["choices"][0]["delta"]["annotations"][0]["url_citation"]) == "[1]"

    place = {"item_id": "m", "output_index": 0, "content_index": 0}
    deltas = [{"type": "response.output_text.delta", "delta": piece, **place} for piece in cut]
    added = {"type": "response.output_text.annotation.added", "annotation_index": 0, **place}
    events = fed("/v1/responses", [*deltas, {**added, "annotation": {"type": "url_citation", **cited(TEXT, MARK)}}])
    text = "".join(each["delta"] for each in events if each["type"].endswith(".delta"))
    assert words(text, events[-1]["annotation"]) == "[1]"
