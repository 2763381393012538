"""What a recording says is checked before a client reads it, in every format, also where it is cut into pieces."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from release_givens import detector, events, framed, judge_of

from examples import examples
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.inspection.inspector import Inspector
from sovctl.gateway.release.judge import ReleaseCheckRun
from sovctl.gateway.release.stream import StreamGate
from sovctl.gateway.release.verdict import AnswerWithheld
from sovctl.gateway.release.whole import release_whole
from sovctl.gateway.surfaces import SURFACES

AUDIO = SURFACES["/v1/audio/transcriptions"]
IBAN = "DE89 3704 0044 0532 0130 00"
FIRST, SECOND = "Good morning, please pay to DE89 3704 0044", "0532 0130 00 today. Thank you very much."
TEXT = f"{FIRST} {SECOND}"
MASKED = "Good morning, please pay to [IBAN] today. Thank you very much."
BODY = {"model": "scribe", "prompt": "A call about a payment.", "file": ["call.wav"], "response_format": "verbose_json"}
SRT = f"1\n00:00:00,000 --> 00:00:02,000\n{FIRST}\n\n2\n00:00:02,000 --> 00:00:04,000\n{SECOND}\n"
WORDS = [{"word": word, "start": 0.0, "end": 0.1} for word in TEXT.split()]
SEGMENTS = [{"id": n, "start": n, "tokens": [1, 2], "text": text} for n, text in enumerate((" " + FIRST, " " + SECOND))]
LONG = {"task": "transcribe", "language": "en", "text": TEXT, "segments": SEGMENTS, "words": WORDS}
MASK = {"identifiers": {"default": "mask"}}


def judge(release: dict[str, Any], **changes: Any) -> ReleaseCheckRun:
    return judge_of(release, {**BODY, **changes})


def released(answer: bytes, release: dict[str, Any], **changes: Any) -> str:
    """What a client gets of what an upstream sent."""
    said = AUDIO.whole(AUDIO.parsed(answer), None)  # type: ignore[arg-type]  # without a model's name nothing is put in
    release_whole(judge(release, **changes), AUDIO, said)
    return AUDIO.written(said).decode()


def test_the_specimens_are_found_whole_but_not_in_their_pieces() -> None:
    assert [each.entity_type.value for each in detector().find(TEXT)] == ["IBAN"]
    kinds = {each.entity_type.value for text in (FIRST, SECOND) for each in detector().find(text)}
    assert "IBAN" not in kinds


def test_text_and_json_are_masked() -> None:
    assert released(TEXT.encode(), MASK) == MASKED
    assert json.loads(released(json.dumps({"text": TEXT}).encode(), MASK)) == {"text": MASKED}


def test_an_identifier_that_is_cut_by_captions_is_masked_and_the_captions_stay() -> None:
    assert released(SRT.encode(), MASK) == (
        "1\n00:00:00,000 --> 00:00:02,000\nGood morning, please pay to [IBAN] today. \n\n"
        "2\n00:00:02,000 --> 00:00:04,000\nThank you very much.\n"
    )


def test_segments_are_masked_as_one_text_and_what_spells_it_out_is_left_out() -> None:
    answer = json.loads(released(json.dumps(LONG).encode(), MASK))
    assert answer["text"] == MASKED
    assert "".join(segment["text"] for segment in answer["segments"]).strip() == MASKED
    assert answer["words"] == []
    assert [segment["tokens"] for segment in answer["segments"]] == [[], []]


@pytest.mark.parametrize("place", ["text", "segments", "words"])
def test_no_place_is_forgotten(place: str) -> None:
    good = {"text": "Good morning.", "segments": [{"text": "Good morning."}], "words": [{"word": "Good"}]}
    with pytest.raises(AnswerWithheld, match="identifiers:refuse:IBAN"):
        released(json.dumps({**good, place: LONG[place]}).encode(), {"identifiers": {"default": "refuse"}})


@pytest.mark.parametrize(
    "answer", [TEXT, SRT, "0123", '"quoted"', "1e5", "true", "[1, 2]", "", "a\r\nb\r", json.dumps(LONG)]
)
def test_what_passes_comes_as_it_was(answer: str) -> None:
    release = {"identifiers": {"default": "hand-off", "known": [IBAN]}, "json_schema": {}, "citations": {}}
    said = released(answer.encode(), release)
    assert said == answer or json.loads(said) == json.loads(answer)
    assert AUDIO.content_type(said.encode()).startswith(b"application/json") == answer.startswith("{")


def test_what_the_prompt_named_is_known_and_citations_are_not_asked_of_a_recording() -> None:
    checked = judge({"identifiers": {"default": "refuse"}, "citations": {}}, prompt=f"The account is {IBAN}.")
    release_whole(checked, AUDIO, AUDIO.parsed(SRT.encode()))
    assert checked.verdicts.plain() == {"verdicts": {"identifiers": "PASS"}, "reasons": {}}


def vllms(text: str) -> bytes:
    chunk = {"object": "transcription.chunk", "choices": [{"delta": {"content": text}, "finish_reason": None}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


@examples(40)
@given(st.lists(st.integers(1, len(TEXT) - 1), max_size=12, unique=True))
def test_a_stream_is_masked_however_it_is_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(TEXT)]
    pieces = [TEXT[start:end] for start, end in pairwise(edges)]
    gate = StreamGate(judge({**MASK, "citations": {}}), AUDIO, clock=lambda: 0.0, observe=lambda _: None)
    said = events(b"".join([*(gate.feed(vllms(piece)) for piece in pieces), gate.flush()]))
    assert "".join(each["choices"][0]["delta"]["content"] for each in said) == MASKED
    gate = StreamGate(judge(MASK), AUDIO, clock=lambda: 0.0, observe=lambda _: None)
    out = [gate.feed(framed("transcript.text.delta", delta=piece, logprobs=[{"token": piece}])) for piece in pieces]
    out += [gate.feed(framed("transcript.text.done", text=TEXT)), gate.flush()]
    *deltas, done = events(b"".join(out))
    assert "".join(each["delta"] for each in deltas) == done["text"] == MASKED
    assert not any(IBAN[:4] in json.dumps(each) for each in deltas)


def test_segments_of_a_stream_are_one_text() -> None:
    gate = StreamGate(judge(MASK), AUDIO, clock=lambda: 0.0, observe=lambda _: None)
    segments = [
        framed("transcript.text.segment", id=str(n), text=text, speaker="A")
        for n, text in enumerate((FIRST, " " + SECOND))
    ]
    said = events(b"".join([*map(gate.feed, segments), gate.flush()]))
    assert "".join(each["text"] for each in said) == MASKED


def test_inspection_of_a_form_gives_its_prompt_as_known_text() -> None:
    inspector = Inspector(CachedFinder(detector()), AUDIO, max_depth=8)
    inspector.inspect({**BODY, "prompt": IBAN})
    assert IBAN in [leaf.text for leaf in inspector.leaves.texts]
