"""Answers with characters cut in two come through; those that nest too deep to be written again do not."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.domain.errors import UpstreamFailed
from sovctl.gateway.pipeline.restored_events import RestoredEvents
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.surfaces.answers.answer_json import read_json, without_lone_surrogates
from sovctl.gateway.tokens.restore import RestoreCounts

HALF, WHOLE = "\ud83d", "\U0001f600"
PIECES = [  # what JSON says, and how
    *(("\ud83d", "\\ud83d"), ("\ud83d", "\\uD83D"), ("\ude00", "\\ude00"), ("\ude00", "\\uDE00"), ("\\", "\\\\")),
    *(('"', '\\"'), ("\ufffd", "\\ufffd"), ("\ud7ff", "\\ud7ff"), (WHOLE, WHOLE), ("ud83d", "ud83d")),
]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_halves_of_characters_are_replaced_and_nothing_else(pieces: list[tuple[str, str]]) -> None:
    said = "".join(each for each, _ in pieces)
    expected = said.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")  # two halves are a character
    data = f'{{"a":"{"".join(written for _, written in pieces)}"}}'.encode()
    assert read_json(data) == {"a": expected}
    assert orjson.loads(without_lone_surrogates(data)) == {"a": expected}


@pytest.mark.parametrize("issued", [{}, {"EMAIL_0000000000000000": "x"}])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
def test_a_stream_with_half_a_character_goes_on(path: str, issued: dict[str, str]) -> None:
    def event(text: str) -> bytes:
        said = {
            "/v1/chat/completions": {"choices": [{"index": 0, "delta": {"content": text}}]},
            "/v1/messages": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
            "/v1/responses": {"type": "response.output_text.delta", "output_index": 0, "delta": text},
        }[path]
        return f"data: {json.dumps(said)}\n\n".encode()

    stream = SURFACES[path].stream(Restoration(issued, "assistant", RestoreCounts()))
    restored = RestoredEvents(stream, max_event_bytes=4096)
    out = b"".join(restored.feed(event(text)) for text in ["a", "b", HALF, "\ude00!", "c", WHOLE]).decode()
    orders = [out.index(f'"{text}"') for text in ("a", "b", "c")]
    assert orders == sorted(orders)
    said = [json.loads(line[6:]) for line in out.splitlines() if line.startswith("data: ")]
    assert [str(each).count("\ufffd") for each in said] == [0, 0, 1, 1, 0, 0]
    assert WHOLE in str(said[-1])


@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"":', "}"), ('[{"":', "}]")])
def test_what_is_read_can_be_written(opened: str, closed: str) -> None:
    most = 254 // len(closed)  # levels: see answer_json
    data = f"{opened * most}0{closed * most}".encode()
    assert orjson.dumps(read_json(data)) == data
    with pytest.raises(UpstreamFailed, match="protocol"):
        read_json(f"{opened * (most + 1)}0{closed * (most + 1)}".encode())
