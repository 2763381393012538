"""Streams of responses without a network: any text in any pieces, what is held, how events are numbered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from surface_upstream import response_events

from examples import examples
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.domain.errors import UpstreamFailed
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.tokens.restore import RestoreCounts, restore
from sovctl.gateway.tokens.token import TokenIssuer

RESPONSES = SURFACES["/v1/responses"]
MINT = TokenIssuer(bytes(32), tenant="t", conversation="c")
VALUE = 'an "odd"\nvalue@example.com'
TOKEN = MINT.token(EntityType.EMAIL, VALUE, VALUE)
ISSUED = {TOKEN: VALUE}
TOOL = {"type": "function", "name": "send", "parameters": {}}


def run(events: list[bytes], counts: RestoreCounts | None = None) -> list[dict[str, Any]]:
    stream = RESPONSES.stream(Restoration(ISSUED, "assistant", counts or RestoreCounts()))
    framed = [each for event in events for each in stream.feed(event.partition(b"data: ")[2].strip())]
    assert stream.is_finished
    said = []
    for each in [*framed, *stream.last()]:
        head, data = each.decode().rstrip("\n").split("\n")
        said.append(json.loads(data.removeprefix("data: ")))
        assert head == f"event: {said[-1]['type']}"
    return said


def joined(said: list[dict[str, Any]], kind: str) -> str:
    return "".join(each["delta"] for each in said if each["type"] == f"response.{kind}.delta")


_TEXTS = st.lists(st.sampled_from([TOKEN, TOKEN[:9], "EMAIL", "_", " ", '"', "\\", "x", "é\n"]), max_size=8).map(
    "".join
)


@examples(150)
@given(_TEXTS, st.integers(1, 40))
def test_every_channel_says_the_same_in_pieces_and_whole(text: str, size: int) -> None:
    body = {"model": "big", "input": text, "tools": [TOOL, TOOL], "reasoning": {"summary": "auto"}}
    said = run(response_events(body, size=size))
    whole = restore(text, ISSUED)
    assert joined(said, "output_text") == whole
    assert joined(said, "reasoning_summary_text") == restore(f"The user says: {text}", ISSUED)
    output = said[-1]["response"]["output"]
    assert output[1]["content"][0]["text"] == whole
    for place in (2, 3):
        deltas = [e["delta"] for e in said if e["type"].endswith("arguments.delta") and e["output_index"] == place]
        (done,) = [e for e in said if e["type"].endswith("arguments.done") and e["output_index"] == place]
        assert "".join(deltas) == done["arguments"] == output[place]["arguments"]
        assert json.loads(done["arguments"]) == {"said": whole}
    assert [each["sequence_number"] for each in said] == list(range(len(said)))


def test_what_is_held_comes_out_as_one_more_delta_before_it_is_done() -> None:
    said = run(response_events({"model": "big", "input": f"ends with {TOKEN[:9]}"}, size=100))
    kinds = [each["type"] for each in said]
    done = kinds.index("response.output_text.done")
    assert kinds[done - 2 : done] == ["response.output_text.delta"] * 2
    assert (said[done - 1]["delta"], said[done - 1]["item_id"]) == (TOKEN[:9], "msg_1")


def test_a_server_that_leaves_out_done_events_loses_nothing() -> None:
    events = [
        event
        for event in response_events({"model": "big", "input": f"ends with {TOKEN[:9]}"}, size=100)
        if b".done" not in event.partition(b"\n")[0]
    ]
    assert joined(run(events), "output_text") == f"ends with {TOKEN[:9]}"


def test_what_is_said_three_times_is_counted_once() -> None:
    counts = RestoreCounts()
    run(response_events({"model": "big", "input": f"to {TOKEN}"}), counts)
    assert counts == RestoreCounts(restored=1)


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense",
        b"[]",
        b"{}",
        b'{"type": 3}',
        b'{"type": "a\\nevent: b"}',
        b'{"error": {"message": "text of the prompt"}}',
        b'{"type": "error", "code": "x", "message": "text of the prompt"}',
        b"[DONE]",
    ],
)
def test_what_is_no_event_of_a_response_ends_the_stream(data: bytes) -> None:
    stream = RESPONSES.stream(Restoration(ISSUED, "assistant", RestoreCounts()))
    with pytest.raises(UpstreamFailed) as caught:
        stream.feed(data)
    assert "prompt" not in str(caught.value)
