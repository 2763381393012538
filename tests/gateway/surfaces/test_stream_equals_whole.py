"""A stream restores to the text and the counts of the complete answer, for every API, kind of string and split."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.domain.entities import EntityType, Mark
from sovctl.gateway.pipeline.restored_events import RestoredEvents
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.tokens.restore import Issued, RestoreBounds, RestoreCounts
from sovctl.gateway.tokens.token import TokenIssuer

MINT = TokenIssuer(bytes(32), tenant="t", conversation="c")
OTHER = TokenIssuer(bytes(32), tenant="t", conversation="d").token(EntityType.EMAIL, "x@example.com", "x@example.com")
VALUES: dict[EntityType | Mark, str] = {
    EntityType.EMAIL: 'an "odd"\nvalue@example.com',
    EntityType.IBAN: "DE89 3704 0044 0532 0130 00",
    EntityType.PERSON: "a\\b",
    Mark.URL: "https://example.com/?q=1",
}
ISSUED = {MINT.token(label, value, value): value for label, value in VALUES.items()}
TOKENS = [*ISSUED, OTHER]

TEXTS = st.lists(
    st.one_of(
        st.sampled_from(TOKENS),
        st.sampled_from([TOKENS[0].lower(), TOKENS[0][:9], TOKENS[1][5:], TOKENS[0] + "X", TOKENS[1][:-1] + "A"]),
        st.sampled_from(["EMAIL", "_", " ", '"', "\\", "é\n", "[x](https://a.example/?q=", ")", "&", "x"]),
    ),
    min_size=1,
    max_size=7,
).map("".join)

Event = dict[str, Any]
Strings = dict[Any, Any]
"""The strings of an answer by their location."""


class Said(NamedTuple):
    """One answer in its two forms."""

    whole: dict[str, Any]
    events: list[Event]
    has_done: bool
    """The stream ends with `[DONE]`."""


def chat(texts: list[str], cut: Callable[[str], list[str]]) -> Said:
    content, refusal, reasoning, arguments, other = texts
    calls = [
        {"index": n, "id": f"call_{n}", "type": "function", "function": {"name": "send", "arguments": each}}
        for n, each in enumerate((arguments, other))
    ]
    notes = [{"type": "url_citation", "url_citation": {"start_index": len(content) // 2, "end_index": len(content)}}]
    message = {"content": content, "refusal": refusal, "reasoning": reasoning, "annotations": notes}
    whole = {"model": "big", "choices": [{"index": 0, "message": {**message, "tool_calls": calls}}]}

    def deltas() -> Iterator[Event]:
        for field, text in (("content", content), ("refusal", refusal), ("reasoning", reasoning)):
            yield from ({field: piece} for piece in cut(text))
        yield {"annotations": notes}
        for call in calls:
            yield {"tool_calls": [{**call, "function": {"name": "send", "arguments": ""}}]}
            for piece in cut(call["function"]["arguments"]):  # type: ignore[index]
                yield {"tool_calls": [{"index": call["index"], "function": {"arguments": piece}}]}

    events = [_choice(delta=delta) for delta in deltas()]
    return Said(whole, [*events, _choice(delta={}, finish_reason="stop")], has_done=True)


def completion(texts: list[str], cut: Callable[[str], list[str]]) -> Said:
    whole = {"model": "big", "choices": [{"index": 0, "text": texts[0], "finish_reason": "stop"}]}
    events = [_choice(text=piece) for piece in cut(texts[0])]
    return Said(whole, [*events, _choice(text="", finish_reason="stop")], has_done=True)


def _choice(*, finish_reason: str | None = None, **payload: Any) -> Event:
    return {"model": "big", "choices": [{"index": 0, **payload, "finish_reason": finish_reason}]}


def message(texts: list[str], cut: Callable[[str], list[str]]) -> Said:
    text, thinking, cited, said, _ = texts
    citation = {"type": "char_location", "cited_text": cited}
    blocks: list[tuple[Event, list[Event]]] = [
        ({"type": "thinking", "thinking": thinking}, [{"thinking": piece} for piece in cut(thinking)]),
        (
            {"type": "text", "text": text, "citations": [citation]},
            [*({"text": piece} for piece in cut(text)), {"citation": citation}],
        ),
        (
            {"type": "tool_use", "name": "send", "input": {"said": [said]}},
            [{"partial_json": piece} for piece in cut(json.dumps({"said": [said]}))],
        ),
    ]
    events: list[Event] = [{"type": "message_start", "message": {"model": "big", "content": []}}]
    for index, (_, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]
    return Said({"model": "big", "content": [block for block, _ in blocks]}, events, has_done=False)


def response(texts: list[str], cut: Callable[[str], list[str]]) -> Said:
    text, refusal, summary, arguments, reasoning = texts
    note = {"type": "url_citation", "start_index": len(text) // 2, "end_index": len(text)}
    part = {"type": "output_text", "text": text, "annotations": [note]}
    output: list[dict[str, Any]] = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": summary}]},
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": reasoning}]},
        {"type": "message", "content": [part]},
        {"type": "message", "content": [{"type": "refusal", "refusal": refusal}]},
        {"type": "function_call", "name": "send", "arguments": arguments},
    ]
    grown = [
        ("reasoning_summary_text", "text", summary),
        ("reasoning_text", "text", reasoning),
        ("output_text", "text", text),
        ("refusal", "refusal", refusal),
        ("function_call_arguments", "arguments", arguments),
    ]
    events: list[Event] = []
    for place, (kind, field, said) in enumerate(grown):
        at = {"output_index": place, "item_id": f"item_{place}", "content_index": 0}
        events += [{"type": f"response.{kind}.delta", **at, "delta": piece} for piece in cut(said)]
        if kind == "output_text":
            events.append({"type": "response.output_text.annotation.added", **at, "annotation": note})
        events.append({"type": f"response.{kind}.done", **at, field: said})
    whole = {"model": "big", "output": output}
    events.append({"type": "response.completed", "response": whole})
    return Said(whole, [{**event, "sequence_number": n} for n, event in enumerate(events)], has_done=False)


SAID = {
    "/v1/chat/completions": chat,
    "/v1/completions": completion,
    "/v1/messages": message,
    "/v1/responses": response,
}


def _of_choices(events: list[Event]) -> dict[str, Any]:
    """Join the chunks of one choice to the choice of a complete answer."""
    text, grown, calls = "", dict[str, Any](), dict[int, str]()
    for choice in (choice for event in events for choice in event["choices"]):
        text += choice.get("text", "")
        for key, value in choice.get("delta", {}).items():
            if key == "tool_calls":
                for call in value:
                    calls[call["index"]] = calls.get(call["index"], "") + call["function"]["arguments"]
            else:
                grown[key] = grown[key] + value if key in grown else value
    return {"text": text} if text else {**grown, "tool_calls": calls}


def _of_whole_choice(answer: dict[str, Any]) -> dict[str, Any]:
    (choice,) = answer["choices"]
    if "text" in choice:
        return {"text": choice["text"]}
    made = choice["message"]
    return {**made, "tool_calls": {call["index"]: call["function"]["arguments"] for call in made["tool_calls"]}}


def _of_message(events: list[Event]) -> list[Any]:
    blocks: dict[int, Strings] = {}
    for event in events:
        if event["type"] == "content_block_delta":
            block = blocks.setdefault(event["index"], {})
            for key, value in event["delta"].items():
                if key == "citation":
                    block["citations"] = [value]
                elif key != "type":
                    block[key] = block.get(key, "") + value
    *others, tool = [blocks[index] for index in sorted(blocks)]
    return [*others, {"name": "send", "input": json.loads(tool["partial_json"])}]


def _of_response(events: list[Event]) -> dict[str, Any]:
    grown: dict[str, Any] = {}
    for event in events:
        kind = event["type"].removeprefix("response.")
        if kind.endswith(".delta"):
            grown[kind[:-6]] = grown.get(kind[:-6], "") + event["delta"]
        elif kind.endswith(".done"):
            field = next(key for key in ("text", "refusal", "arguments") if key in event)
            assert event[field] == grown.get(kind[:-5], "")
        elif "annotation" in event:
            grown["annotation"] = event["annotation"]
    return grown


def _same(path: str, whole: dict[str, Any], events: list[Event]) -> None:
    if path == "/v1/messages":
        blocks = [{key: value for key, value in block.items() if key != "type"} for block in whole["content"]]
        assert _of_message(events) == blocks
    elif path == "/v1/responses":
        output, grown = whole["output"], _of_response(events)
        assert events[-1]["response"] == whole
        assert grown["reasoning_summary_text"] == output[0]["summary"][0]["text"]
        assert grown["reasoning_text"] == output[1]["content"][0]["text"]
        assert grown["output_text"] == output[2]["content"][0]["text"]
        assert grown["annotation"] == output[2]["content"][0]["annotations"][0]
        assert grown["refusal"] == output[3]["content"][0]["refusal"]
        assert grown["function_call_arguments"] == output[4]["arguments"]
    else:
        assert _of_choices(events) == _of_whole_choice(whole)


@pytest.mark.parametrize("path", SAID)
@examples(120)
@given(
    texts=st.lists(TEXTS, min_size=5, max_size=5),
    cuts=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    most=st.sampled_from([0, 1, 2, 4096]),
    is_json=st.booleans(),
    at_a_time=st.sampled_from([1, 3, 1000]),
)
def test_a_stream_restores_to_the_complete_answer(
    path: str, texts: list[str], cuts: list[int], most: int, is_json: bool, at_a_time: int
) -> None:
    surface, bounds = SURFACES[path], RestoreBounds(max_restores=most)
    said = SAID[path](texts, lambda text: _cut(text, cuts))

    whole_counts = RestoreCounts()
    restoration = Restoration(Issued(ISSUED, bounds), "assistant", whole_counts, is_json=is_json)
    whole = surface.whole(json.loads(json.dumps(said.whole)), restoration)

    counts = RestoreCounts()
    stream = surface.stream(Restoration(Issued(ISSUED, bounds), "assistant", counts, is_json=is_json))
    restored = RestoredEvents(stream, max_event_bytes=1 << 20)
    framed = [_framed(event) for event in said.events] + ([b"data: [DONE]\n\n"] if said.has_done else [])
    pieces = [b"".join(framed[at : at + at_a_time]) for at in range(0, len(framed), at_a_time)]
    out = b"".join([*map(restored.feed, pieces), *stream.last()])
    events = [each.partition(b"data: ")[2] for each in out.split(b"\n\n") if each and b"[DONE]" not in each]
    _same(path, whole, list(map(json.loads, events)))
    assert counts == whole_counts


def _cut(text: str, sizes: list[int]) -> list[str]:
    """Cut a text into pieces of these sizes, in turn."""
    pieces, at = [], 0
    while at < len(text):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(text[at : at + size])
        at += size
    return pieces


def _framed(event: Event) -> bytes:
    head = f"event: {event['type']}\n" if "type" in event else ""
    return f"{head}data: {json.dumps(event)}\n\n".encode()
