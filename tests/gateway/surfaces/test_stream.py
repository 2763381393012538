"""Streams of chat completions: any framing, any split of a token, the right order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.body.sse import EventTooLarge, Framer
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.domain.errors import UpstreamFailed
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.surfaces.chat import FIELDS
from sovctl.gateway.surfaces.streams.choices import ChoiceStream
from sovctl.gateway.tokens.restore import RestoreCounts
from sovctl.gateway.tokens.token import TokenIssuer

CHAT = SURFACES["/v1/chat/completions"]
MINT = TokenIssuer(bytes(32), tenant="t", conversation="c")
VALUE = 'an "odd"\nvalue@example.com'
TOKEN = MINT.token(EntityType.EMAIL, VALUE, VALUE)
ISSUED = {TOKEN: VALUE}


def chunk(delta: dict[str, Any], index: int = 0, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "big", "choices": [choice], **more}


def run(*chunks: dict[str, Any]) -> list[dict[str, Any]]:
    stream = ChoiceStream(Restoration(ISSUED, "assistant", RestoreCounts()), payload="delta", fields=FIELDS)
    events = [event for each in chunks for event in stream.feed(json.dumps(each).encode())]
    return [json.loads(event.removeprefix(b"data: ")) for event in [*events, *stream.feed(b"[DONE]")]]


def joined(events: list[dict[str, Any]], index: int = 0, field: str = "content") -> str:
    return "".join(c["delta"].get(field, "") for e in events for c in e["choices"] if c["index"] == index)


@examples(200)
@given(st.lists(st.text(max_size=20).map(lambda t: t.replace("\r", "").replace("\n", "")), max_size=6), st.data())
def test_events_are_the_same_however_the_bytes_are_cut(payloads: list[str], data: st.DataObject) -> None:
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    raw = "".join(f": comment{end}{end}id: 1{end}data: {payload}{end}{end}" for payload in payloads).encode()
    raw = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + raw
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    framer = Framer(max_event_bytes=4096)
    found = [e for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True) for e in framer.feed(raw[a:b])]
    assert found == [payload.encode() for payload in payloads]


def test_a_mark_of_the_byte_order_costs_no_event() -> None:
    framer = Framer(max_event_bytes=100)
    assert framer.feed(b"\xef\xbb\xbfdata: a\n\n") == [b"a"]
    assert framer.feed(b"data: b\n\n") == [b"b"]


def test_an_endless_event_is_refused() -> None:
    framer = Framer(max_event_bytes=100)
    with pytest.raises(EventTooLarge):
        framer.feed(b"data: " + b"x" * 200)


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_a_token_split_over_events_is_restored_and_nothing_else_waits(size: int) -> None:
    text = f"To {TOKEN}, thank you"
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    events = run(*[chunk({"content": piece}) for piece in pieces], chunk({}, finish="stop"))
    assert joined(events) == f"To {VALUE}, thank you"
    assert joined(events[:3]).startswith("To "[: min(3, 3 * size)])
    assert all(event["model"] == "assistant" and event["id"] == "x" for event in events)


def test_what_is_held_comes_out_before_the_finish() -> None:
    events = run(chunk({"content": f"ends with {TOKEN[:9]}"}), chunk({}, finish="length"))
    assert joined(events) == f"ends with {TOKEN[:9]}"
    assert [e["choices"][0]["finish_reason"] for e in events] == [None, None, "length"]


def test_held_text_joins_a_last_delta_that_carries_the_finish() -> None:
    events = run(chunk({"content": f"ends with {TOKEN[:9]}"}, finish="length"))
    assert len(events) == 1
    assert joined(events) == f"ends with {TOKEN[:9]}"


def test_choices_and_fields_are_channels_of_their_own() -> None:
    half, rest = TOKEN[:8], TOKEN[8:]
    events = run(
        chunk({"content": half}, 0),
        chunk({"content": half}, 1),
        chunk({"reasoning_content": half}, 0),
        chunk({"content": rest}, 1),
        chunk({"reasoning_content": "!"}, 0),
        chunk({"content": rest}, 0),
        chunk({}, 0, "stop"),
        chunk({}, 1, "stop"),
    )
    assert joined(events, 0) == joined(events, 1) == VALUE
    assert joined(events, 0, "reasoning_content") == half + "!"


def _tool(index: int, arguments: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"arguments": arguments}, **more}]}


def test_tool_arguments_are_restored_as_json_call_by_call() -> None:
    arguments = json.dumps({"to": TOKEN, "note": f"for {TOKEN}"})
    deltas = [_tool(0, "", id="call_1", type="function")]
    deltas += [_tool(0, arguments[i : i + 5]) for i in range(0, len(arguments), 5)]
    deltas += [_tool(1, TOKEN[:4]), _tool(2, "{}")]
    events = run(*[chunk(delta) for delta in deltas], chunk({}, finish="tool_calls"))
    calls: dict[int, str] = {}
    order = []
    for event in events:
        for call in event["choices"][0]["delta"].get("tool_calls", []):
            calls[call["index"]] = calls.get(call["index"], "") + call["function"]["arguments"]
            order.append(call["index"])
    assert json.loads(calls[0]) == {"to": VALUE, "note": f"for {VALUE}"}
    assert calls[1] == TOKEN[:4]
    assert order == sorted(order)  # what call 1 held came before call 2
    assert calls[2] == "{}"


@given(st.data())
def test_tool_calls_that_take_turns_are_restored_each(data: st.DataObject) -> None:
    arguments = {call: json.dumps({"to": TOKEN, "call": call}) for call in range(3)}
    left = {**arguments}
    deltas = [_tool(call, "", id=f"call_{call}") for call in left]
    while left:
        call = data.draw(st.sampled_from(sorted(left)))
        size = data.draw(st.integers(1, 12))
        deltas.append(_tool(call, left[call][:size]))
        if not (rest := left.pop(call)[size:]):
            continue
        left[call] = rest
    calls = dict.fromkeys(arguments, "")
    for event in run(*map(chunk, deltas), chunk({}, finish="tool_calls")):
        for call in event["choices"][0]["delta"].get("tool_calls", []):
            calls[call["index"]] += call["function"]["arguments"]
    assert {call: json.loads(text) for call, text in calls.items()} == {
        call: {"to": VALUE, "call": call} for call in arguments
    }


def test_usage_logprobs_and_unknown_fields_pass() -> None:
    logprobs = {"content": [{"token": TOKEN[:4], "logprob": -0.1, "bytes": None, "top_logprobs": []}]}
    first = chunk({"role": "assistant", "content": "hi", "odd": [f"about {TOKEN} x"]}, service_tier="x")
    first["choices"][0]["logprobs"] = logprobs
    last = {**chunk({}), "choices": [], "usage": {"prompt_tokens": 3, "total_tokens": 4}}
    events = run(first, chunk({}, finish="stop"), last)
    assert events[0]["choices"][0]["logprobs"] == logprobs
    assert events[0]["service_tier"] == "x"
    assert events[0]["choices"][0]["delta"]["odd"] == [f"about {VALUE} x"]
    assert events[-1]["usage"] == {"prompt_tokens": 3, "total_tokens": 4}


@pytest.mark.parametrize("data", [b"", b"nonsense", b"[]", b"{}", b'{"error": {"message": "text of the prompt"}}'])
def test_what_is_no_chunk_of_a_completion_ends_the_stream(data: bytes) -> None:
    stream = ChoiceStream(Restoration(ISSUED, "assistant", RestoreCounts()), payload="delta", fields=FIELDS)
    with pytest.raises(UpstreamFailed) as caught:
        stream.feed(data)
    assert "prompt" not in str(caught.value)


def test_a_whole_answer_is_restored_everywhere_but_in_ids() -> None:
    counts = RestoreCounts()
    call = {"id": TOKEN, "type": "function", "function": {"name": "send", "arguments": json.dumps({"to": TOKEN})}}
    message = {"role": "assistant", "content": f"sent to {TOKEN.lower()}", "refusal": None, "tool_calls": [call]}
    answer = {"id": "x", "model": "big", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    restored = CHAT.whole(answer, Restoration(ISSUED, "assistant", counts))["choices"][0]["message"]
    assert restored["content"] == f"sent to {VALUE}"
    assert restored["tool_calls"][0]["id"] == TOKEN
    assert json.loads(restored["tool_calls"][0]["function"]["arguments"]) == {"to": VALUE}
    assert counts == RestoreCounts(restored=2)


@pytest.mark.parametrize("made", [chunk({"content": "a"}), {**chunk({}), "choices": []}, chunk({}, finish="stop")])
def test_what_stands_beside_a_choice_is_restored(made: dict[str, Any]) -> None:
    found = [{"prompt_index": 0, "content_filter_results": {"custom": {"text": f"of {TOKEN}", "id": TOKEN}}}]
    plain = run(made)[0]
    for _ in range(2):  # nothing of it becomes a form
        seen, again = run({**made, "prompt_filter_results": found}, {**made, "prompt_filter_results": found})
        expected = {"custom": {"text": f"of {VALUE}", "id": TOKEN}}
        assert (
            seen
            == again
            == {**plain, "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": expected}]}
        )
    for choice in made["choices"]:
        (seen,) = run({**made, "choices": [{**choice, "content_filter_results": f"of {TOKEN}"}]})
        assert seen["choices"] == [{**plain["choices"][0], "content_filter_results": f"of {VALUE}"}]
