"""Streams that wait for their sentences: nothing goes too early, nothing is lost, everything is in order."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from release_givens import BODY, CHAT, IBAN, OTHER_IBAN, chunk, content, events, framed, judge_of

from examples import examples
from sovctl.gateway.release.stream import StreamGate
from sovctl.gateway.surfaces import SURFACES, Surface
from sovctl.gateway.surfaces.answers.model_strings import Voice

MASK = {"identifiers": {"default": "mask"}}
CITED = {"citations": {"on_failure": "refuse"}}
DONE = b"data: [DONE]\n\n"


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def gate_of(
    release: dict[str, Any], body: dict[str, Any] = BODY, *, surface: Surface = CHAT, clock: Any = None
) -> StreamGate:
    return StreamGate(judge_of(release, body), surface, clock=clock or Clock(), observe=lambda _: None)


def test_text_goes_when_its_sentence_has_passed() -> None:
    gate = gate_of(CITED)
    assert gate.feed(chunk({"role": "assistant", "content": ""})) == chunk({"role": "assistant", "content": ""})
    first = [chunk({"content": piece}) for piece in ("Deposits", " earn 4", " %.", " [1", "]")]
    assert [gate.feed(each) for each in first] == [b""] * 5
    assert gate.feed(chunk({"content": " Early"})) == b"".join(first)
    rest = [chunk({"content": " withdrawal costs 50 euro [1]."}), chunk({}, finish="stop")]
    assert gate.feed(rest[0]) == b""
    assert gate.feed(rest[1]) == chunk({"content": " Early"}) + b"".join(rest)
    assert gate.feed(DONE) + gate.flush() == DONE


def test_a_sentence_that_fails_and_what_is_behind_it_never_go() -> None:
    gate = gate_of(CITED)
    gate.feed(chunk({"content": "Deposits earn 4 %. [1] "}))
    gate.feed(chunk({"content": "They earn 9 % abroad. And so on"}))
    assert str(gate.blocked) == "citations:missing"


@examples(150)
@given(st.data())
def test_what_is_released_is_the_same_however_the_text_was_cut(data: st.DataObject) -> None:
    piece = st.sampled_from(
        [
            "Hello there. ",
            f"My {IBAN} is fine. ",
            f" Not {OTHER_IBAN}. ",
            "a\n\n",
            "- b ",
            "Dr. X ",
            f" {OTHER_IBAN} ",
            "?",
            " [1] ",
        ]
    )
    text = "".join(data.draw(st.lists(piece, max_size=6)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    judge = judge_of(MASK)
    gate = StreamGate(judge, CHAT, clock=Clock(), observe=lambda _: None)
    released = b""
    for each in pieces:
        released += gate.feed(chunk({"content": each}))
        assert OTHER_IBAN.encode() not in released
    released += gate.feed(chunk({}, finish="stop")) + gate.feed(DONE) + gate.flush()
    assert content(released) == judge_of(MASK).whole(text, Voice.PROSE)
    assert len(events(released)) >= len(pieces) + 1
    assert released.endswith(chunk({}, finish="stop") + DONE)


def test_a_masked_sentence_keeps_its_events_and_loses_its_logprobs() -> None:
    gate = gate_of(MASK)
    spelled = {"logprobs": {"content": [{"token": OTHER_IBAN[:6]}]}}
    released = gate.feed(chunk({"content": f"Use {OTHER_IBAN[:6]}"}, **spelled))
    released += gate.feed(chunk({"content": f"{OTHER_IBAN[6:]} now."})) + gate.feed(chunk({}, finish="stop"))
    assert [event["choices"][0]["delta"].get("content") for event in events(released)] == ["Use [IBAN] now.", "", None]
    assert OTHER_IBAN[:6].encode() not in released


def test_an_event_with_two_sentences_is_parted() -> None:
    gate = gate_of(CITED)
    spelled = {"logprobs": {"content": [{"token": "x"}]}}
    released = gate.feed(chunk({"content": "Deposits earn 4 %. [1] They earn 9"}, **spelled))
    assert content(released) == "Deposits earn 4 %. [1] "
    assert events(released)[0]["choices"][0]["logprobs"] is None
    gate.feed(chunk({}, finish="stop"))
    assert gate.blocked is not None
    gate = gate_of(CITED)
    released = gate.feed(chunk({"content": "Deposits earn 4 %. [1] So. Is it"}, **spelled)) + gate.flush()
    assert [event["choices"][0]["delta"]["content"] for event in events(released)] == [
        "Deposits earn 4 %. [1] So. ",
        "Is it",
    ]
    assert events(released)[1]["choices"][0]["logprobs"] == spelled["logprobs"]


def test_choices_and_strings_are_judged_apart_and_stay_in_order() -> None:
    gate = gate_of(MASK)
    sent = [
        chunk({"reasoning_content": f"I think {OTHER_IBAN[:9]}"}),
        chunk({"content": "Hello"}, index=1),
        chunk({"reasoning_content": OTHER_IBAN[9:]}),
        chunk({"content": f"It is {IBAN}"}),
        chunk({"content": " there."}, index=1),
        chunk({}, finish="stop"),
        chunk({}, index=1, finish="stop"),
    ]
    released = b"".join(map(gate.feed, sent)) + gate.flush()
    assert content(released, field="reasoning_content") == "I think [IBAN]"
    assert content(released) == f"It is {IBAN}"
    assert content(released, 1) == "Hello there."
    order = [event["choices"][0]["index"] for event in events(released)]
    assert order == [event["choices"][0]["index"] for each in sent for event in events(each)]


def test_tool_arguments_are_judged_when_they_are_whole() -> None:
    schema = {"type": "object", "required": ["to"]}
    tools = [{"type": "function", "function": {"name": "send", "strict": True, "parameters": schema}}]

    def call(arguments: str, index: int = 0, **more: Any) -> bytes:
        return chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments, **more}}]})

    gate = gate_of({**MASK, "json_schema": {}}, {**BODY, "tools": tools})
    head = call("", name="send")
    assert gate.feed(head) == b""  # the name may not be whole
    assert gate.feed(call('{"to": "FR14')) == head
    assert gate.feed(call('20041010050500013M02606"}')) == b""
    released = gate.feed(call('{"x"', index=1, name="other"))
    assert json.loads(
        "".join(c["function"]["arguments"] for e in events(released) for c in e["choices"][0]["delta"]["tool_calls"])
    ) == {"to": "[IBAN]"}
    gate.feed(call("{}", index=2, name="send"))  # the arguments before the name
    gate.feed(chunk({}, finish="tool_calls"))
    assert str(gate.blocked) == "json_schema:invalid"


def test_what_waits_too_long_is_judged_as_it_is_but_for_its_end() -> None:
    clock = Clock()
    gate = gate_of({**MASK, "max_hold_s": 2}, clock=clock)
    assert gate.deadline is None
    long = "word " * 30
    gate.feed(chunk({"content": long}))
    gate.feed(chunk({"content": f"and {OTHER_IBAN[:8]}"}))
    assert gate.deadline == 102
    clock.now = 102
    released = gate.force()
    assert 0 < len(content(released)) <= len(long) - 40  # the last characters are held back
    assert gate.deadline == 104
    released += gate.feed(chunk({"content": f"{OTHER_IBAN[8:]} " + "word " * 20}))
    clock.now = 104
    released += gate.force()
    assert "word and [IBAN]" in content(released + gate.flush())


def test_what_is_too_long_is_judged_as_it_is_or_blocked_where_sentences_are_needed() -> None:
    gate = gate_of({**MASK, "max_hold_chars": 200})
    assert gate.feed(chunk({"content": "word " * 30})) == b""
    assert 100 < len(content(gate.feed(chunk({"content": "word " * 30})))) <= 240
    gate = gate_of({**CITED, "max_hold_chars": 200})
    gate.feed(chunk({"content": "word " * 60}))
    assert str(gate.blocked) == "citations:hold-exceeded"
    gate = gate_of(CITED)
    assert gate.feed(chunk({"content": "word " * 60})) == b""
    gate.force()
    assert str(gate.blocked) == "citations:hold-exceeded"


def test_how_long_events_waited_is_told() -> None:
    clock, waited = Clock(), list[float]()
    gate = StreamGate(judge_of(MASK), CHAT, clock=clock, observe=waited.append)
    gate.feed(chunk({"content": "One."}))
    clock.now += 0.5
    gate.feed(chunk({"content": " Two"}))
    clock.now += 0.25
    gate.feed(chunk({}, finish="stop"))
    assert waited == [0.5, 0.25, 0.0]


def test_a_response_is_judged_in_deltas_in_done_events_and_at_its_end() -> None:
    gate = gate_of(MASK, surface=SURFACES["/v1/responses"])
    text = f"Use {OTHER_IBAN}."
    place = {"item_id": "m", "output_index": 0, "content_index": 0}
    item = {"type": "message", "content": [{"type": "output_text", "text": text, "logprobs": [1]}]}
    sent = [
        framed("response.created", response={"output": [], "instructions": f"See {OTHER_IBAN}"}),
        framed("response.output_text.delta", delta=text[:9], **place),
        framed("response.output_text.delta", delta=text[9:], **place),
        framed("response.output_text.done", text=text, **place),
        framed("response.output_item.done", item=item, output_index=0),
        framed("response.completed", response={"output": [item], "instructions": f"See {OTHER_IBAN}"}),
    ]
    released = b"".join(map(gate.feed, sent)) + gate.flush()
    assert [event["type"] for event in events(released)] == [event["type"] for each in sent for event in events(each)]
    assert released.count(b"Use [IBAN].") == 4
    assert released.count(OTHER_IBAN.encode()) == 2  # the request's own instructions
    assert events(released)[-1]["response"]["output"][0]["content"][0]["logprobs"] == []
    assert released.count(b"event: response.output_text.done\n") == 1


def test_a_message_is_judged_block_by_block_and_signed_thinking_is_never_changed() -> None:
    surface = SURFACES["/v1/messages"]
    gate = gate_of(MASK, surface=surface)
    sent = [
        framed("message_start", message={"content": [], "model": "x"}),
        framed("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        framed("content_block_delta", index=0, delta={"type": "text_delta", "text": f"Use {OTHER_IBAN}"}),
        framed("content_block_stop", index=0),
        framed("content_block_start", index=1, content_block={"type": "tool_use", "name": "send", "input": {}}),
        framed("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": '{"to": "FR1420041'}),
        framed(
            "content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": '010050500013M02606"}'}
        ),
        framed("content_block_stop", index=1),
        framed("message_delta", delta={"stop_reason": "tool_use"}),
    ]
    released = b"".join(map(gate.feed, sent)) + gate.flush()
    deltas = [event["delta"] for event in events(released) if event["type"] == "content_block_delta"]
    assert deltas[0]["text"] == "Use [IBAN]"
    assert json.loads(deltas[1]["partial_json"] + deltas[2]["partial_json"]) == {"to": "[IBAN]"}
    gate = gate_of(MASK, surface=surface)
    gate.feed(framed("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": f"No: {OTHER_IBAN}"}))
    gate.feed(framed("content_block_stop", index=0))
    assert str(gate.blocked) == "identifiers:signed"
