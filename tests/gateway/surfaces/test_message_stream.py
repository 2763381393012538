"""Streams of messages without a network: any text in any pieces, thinking untouched, blocks in order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from surface_upstream import message_events

from examples import examples
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.domain.errors import UpstreamFailed
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.tokens.restore import RestoreCounts, restore
from sovctl.gateway.tokens.token import TokenIssuer

MESSAGES = SURFACES["/v1/messages"]
MINT = TokenIssuer(bytes(32), tenant="t", conversation="c")
VALUE = 'an "odd"\nvalue@example.com'
TOKEN = MINT.token(EntityType.EMAIL, VALUE, VALUE)
ISSUED = {TOKEN: VALUE}


def run(events: list[bytes]) -> list[dict[str, Any]]:
    stream = MESSAGES.stream(Restoration(ISSUED, "assistant", RestoreCounts()))
    framed = [each for event in events for each in stream.feed(event.partition(b"data: ")[2].strip())]
    assert stream.is_finished
    said = []
    for each in [*framed, *stream.last()]:
        head, data = each.decode().rstrip("\n").split("\n")
        said.append(json.loads(data.removeprefix("data: ")))
        assert head == f"event: {said[-1]['type']}"
    return said


def joined(said: list[dict[str, Any]], index: int, field: str) -> str:
    deltas = [each["delta"] for each in said if each["type"] == "content_block_delta" and each["index"] == index]
    return "".join(delta.get(field, "") for delta in deltas)


_TEXTS = st.lists(st.sampled_from([TOKEN, TOKEN[:9], "EMAIL", "_", " ", '"', "\\", "x", "é\n"]), max_size=8).map(
    "".join
)


@examples(150)
@given(_TEXTS, st.integers(1, 40))
def test_every_block_comes_back_whatever_the_pieces(text: str, size: int) -> None:
    tool = {"name": "send"}
    ask = {"model": "big", "messages": [{"role": "user", "content": text}], "tools": [tool, tool], "thinking": {"x": 1}}
    said = run(message_events(ask, size))
    whole = restore(text, ISSUED)
    assert joined(said, 0, "thinking") == f"The user says: {text}"
    assert joined(said, 1, "text") == whole
    for index in (2, 3):
        assert json.loads(joined(said, index, "partial_json")) == {"said": whole, "deep": [{"said": whole}]}
    open_blocks: list[int] = []  # nothing comes for a block that is not begun, or has stopped
    for each in said:
        match each["type"]:
            case "content_block_start":
                open_blocks.append(each["index"])
            case "content_block_delta":
                assert open_blocks[-1] == each["index"]
                assert each["delta"]["type"].endswith("_delta")
            case "content_block_stop":
                assert open_blocks.pop() == each["index"]


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense",
        b"[]",
        b"{}",
        b'{"type": "a b"}',
        b'{"type": "error", "error": {"type": "overloaded_error", "message": "text of the prompt"}}',
        b"[DONE]",
    ],
)
def test_what_is_no_event_of_a_message_ends_the_stream(data: bytes) -> None:
    stream = MESSAGES.stream(Restoration(ISSUED, "assistant", RestoreCounts()))
    with pytest.raises(UpstreamFailed) as caught:
        stream.feed(data)
    assert "prompt" not in str(caught.value)
