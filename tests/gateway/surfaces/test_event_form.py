"""Events of a known form: what the client gets is the same as when each of them is read."""

from __future__ import annotations

import json
from typing import Any, Literal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.domain.errors import UpstreamFailed
from sovctl.gateway.surfaces import Restoration
from sovctl.gateway.surfaces.chat import FIELDS
from sovctl.gateway.surfaces.messages import FIELDS as MESSAGE_FIELDS
from sovctl.gateway.surfaces.streams.choices import ChoiceStream
from sovctl.gateway.surfaces.streams.event_form import EventForms
from sovctl.gateway.surfaces.streams.message_stream import MessageStream
from sovctl.gateway.tokens.restore import RestoreCounts
from sovctl.gateway.tokens.token import TokenIssuer

VALUE = 'an "odd"\nvalue@example.com'
TOKEN = TokenIssuer(bytes(32), tenant="t", conversation="c").token(EntityType.EMAIL, VALUE, VALUE)

Payload = Literal["delta", "text"]


class CountedForms(EventForms):
    """Counts the events that had a form."""

    known = 0

    def put(self, event: bytes) -> bytes | None:
        written = super().put(event)
        self.known += written is not None
        return written


def told(
    datas: list[bytes], forms: EventForms, *, payload: Payload | None, issued: dict[str, str], is_json: bool = False
) -> list[bytes]:
    """What the client gets, and why it gets nothing more; and what happened to the tokens.

    Args:
        payload: of a choice; None for Anthropic's messages.
    """
    counts = RestoreCounts()
    restoration = Restoration(issued, "assistant", counts, is_json=is_json)
    stream: ChoiceStream | MessageStream
    if payload is None:
        stream = MessageStream(restoration, MESSAGE_FIELDS, forms=forms)
    else:
        stream = ChoiceStream(restoration, payload=payload, fields=FIELDS, forms=forms)
    out: list[bytes] = []
    try:
        for data in [*datas, b'{"type":"message_stop"}' if payload is None else b"[DONE]"]:
            written = stream.put(b"data: " + data + b"\n\n")
            out += [written] if written is not None else stream.feed(data)
    except UpstreamFailed as error:
        out.append(error.cause.encode())
    return [*out, repr(counts).encode()]


_TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from([TOKEN, TOKEN[:9], TOKEN[9:], TOKEN.lower(), TOKEN.replace("_", "\\_"), "", '"', "\\", "\n", " i"]),
    st.sampled_from(
        ["https://x.example/?q=", "]", "outside", "7c1f0b5e9d", '"model":"big"', "stop", "model", "é€😀", "\u2028"]
    ),
)
_DELTAS = st.one_of(
    st.builds(lambda text: {"content": text}, _TEXTS),
    st.builds(lambda text: {"content": text}, _TEXTS),
    st.builds(lambda text: {"reasoning_content": text}, _TEXTS),
    st.builds(lambda text: {"role": "assistant", "content": text}, _TEXTS),
    st.builds(lambda text: {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}, _TEXTS),
    st.builds(lambda text: {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}, _TEXTS),
    st.builds(lambda text: {"tool_calls": [{"index": 1, "function": {"arguments": text}}]}, _TEXTS),
    st.builds(lambda text: {"tool_calls": [{"index": 1, "function": {"arguments": text}, "type": "x"}]}, _TEXTS),
    st.builds(lambda text: {"tool_calls": [{"index": 0, "function": {"name": text, "arguments": text}}]}, _TEXTS),
    st.builds(lambda text: {"id": text}, _TEXTS),
    st.builds(lambda text: {"name": text}, _TEXTS),
    st.just({}),
)


@st.composite
def _events(draw: st.DrawFn, payload: Payload) -> list[dict[str, Any]]:
    events = []
    more = draw(st.sampled_from([{}, {"usage": None}, {"content": "outside"}, {"system_fingerprint": "7c1f0b5e9d"}]))
    for _ in range(draw(st.integers(1, 12))):
        choice = {"index": draw(st.sampled_from([0, 0, 0, 1])), "logprobs": None, "finish_reason": None}
        choice[payload] = draw(_DELTAS) if payload == "delta" else draw(_TEXTS)
        if payload == "text" and draw(st.integers(0, 4)) == 0:
            choice["delta"] = draw(_DELTAS)
        if draw(st.integers(0, 9)) == 0:
            choice["finish_reason"] = "stop"
        head = {"id": "x", "object": "chunk", "created": draw(st.sampled_from([1, 1, 1, 2])), "model": "big"}
        events.append(
            {**head, "choices": [choice], **more} if draw(st.booleans()) else {**more, **head, "choices": [choice]}
        )
    return events


@examples(400)
@given(st.data())
def test_what_the_client_gets_is_the_same_to_the_byte(data: st.DataObject) -> None:
    payload: Payload = data.draw(st.sampled_from(["delta", "text"]))
    issued = data.draw(st.sampled_from([{TOKEN: VALUE}, {}]))
    is_json = data.draw(st.booleans())
    datas = [orjson.dumps(each) for each in data.draw(_events(payload))]
    quick = told(datas, EventForms(), payload=payload, issued=issued, is_json=is_json)
    assert quick == told(datas, EventForms(0), payload=payload, issued=issued, is_json=is_json)


_BLOCK_DELTAS = st.one_of(
    st.builds(lambda text: {"type": "text_delta", "text": text}, _TEXTS),
    st.builds(lambda text: {"type": "text_delta", "text": text}, _TEXTS),
    st.builds(lambda text: {"type": "input_json_delta", "partial_json": text}, _TEXTS),
    st.builds(lambda text: {"type": "thinking_delta", "thinking": text}, _TEXTS),
    st.builds(lambda text: {"type": "other_delta", "one": text, "two": "2"}, _TEXTS),
    st.builds(lambda text: {"type": "citations_delta", "citation": {"cited_text": text}}, _TEXTS),
)
_MESSAGE_EVENTS = st.one_of(
    *[st.builds(lambda d, i: {"type": "content_block_delta", "index": i, "delta": d}, _BLOCK_DELTAS, st.just(0))] * 3,
    st.builds(lambda d, x: {"type": "content_block_delta", "index": 1, "x": x, "delta": d}, _BLOCK_DELTAS, _TEXTS),
    st.just({"type": "content_block_stop", "index": 0}),
    st.just({"type": "message_start", "message": {"model": "big"}}),
    st.just({"type": "ping"}),
)


@examples(300)
@given(st.lists(_MESSAGE_EVENTS, max_size=14), st.sampled_from([{TOKEN: VALUE}, {}]), st.booleans())
def test_messages_are_the_same_to_the_byte(events: list[dict[str, Any]], issued: dict[str, str], is_json: bool) -> None:
    datas = [orjson.dumps(each) for each in events]
    quick = told(datas, EventForms(), payload=None, issued=issued, is_json=is_json)
    assert quick == told(datas, EventForms(0), payload=None, issued=issued, is_json=is_json)


@examples(200)
@given(st.data())
def test_however_an_upstream_writes_its_json_the_client_reads_the_same(data: st.DataObject) -> None:
    payload: Payload = data.draw(st.sampled_from(["delta", "text"]))
    is_ascii = data.draw(st.booleans())
    datas = [json.dumps(each, ensure_ascii=is_ascii).encode("utf-8", "replace") for each in data.draw(_events(payload))]
    quick = told(datas, EventForms(), payload=payload, issued={TOKEN: VALUE})
    slow = told(datas, EventForms(0), payload=payload, issued={TOKEN: VALUE})
    assert [_read(event) for event in quick] == [_read(event) for event in slow]


def _read(event: bytes) -> Any:
    return orjson.loads(event[6:]) if event.startswith(b"data: {") else event


@examples(200)
@given(st.data())
def test_garbage_in_a_known_form_is_what_it_would_be_without(data: st.DataObject) -> None:
    events = [orjson.dumps({"model": "big", "choices": [{"index": 0, "delta": {"content": "a b"}}]})] * 3
    garbage = data.draw(
        st.one_of(
            st.sampled_from([b'a","role":"x', b'a"', b"\\", b'\\"', b"\n", b"\xff", b"\\ud800", b'"b"', b' " ', b""]),
            st.binary(max_size=6),
        )
    )
    events[1] = events[1].replace(b"a b", garbage)
    quick = told(events, EventForms(), payload="delta", issued={TOKEN: VALUE})
    assert quick == told(events, EventForms(0), payload="delta", issued={TOKEN: VALUE})


@pytest.mark.parametrize("issued", [{TOKEN: VALUE}, {}])
@pytest.mark.parametrize(
    "odd",
    [
        b"null",
        b"1",
        b'["a"]',
        b'{"a":"b"}',
        b'"a","role":"b"',
        b' "a"',
        b'\n"a"',
        b'"a\n\nb"',
        b'"a"\n\n,"b"',
        b'"\\"',
        b"",
        b'"',
    ],
)
def test_several_events_together_have_a_known_form_when_each_has(odd: bytes, issued: dict[str, str]) -> None:
    stream = ChoiceStream(Restoration(issued, "assistant", RestoreCounts()), payload="delta", fields=FIELDS)
    usual = orjson.dumps({"model": "big", "choices": [{"index": 0, "delta": {"content": "a b"}}]})
    stream.feed(usual)
    framed = [b"data: " + usual.replace(b'"a b"', middle) + b"\n\n" for middle in (b'"a b"', odd, b'"a b"')]
    assert stream.put(framed[0] + framed[2]) == (framed[0] + framed[2]).replace(b"big", b"assistant")
    assert [stream.put(b"".join(framed)), stream.put(framed[1]), stream.put(b"".join(framed[:2]))] == [None] * 3


@pytest.mark.parametrize("issued", [{TOKEN: VALUE}, {}])
def test_nearly_all_events_of_a_stream_have_a_known_form(issued: dict[str, str]) -> None:
    forms = CountedForms()
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "big"}
    texts = ["Thinking ", "of ", *("it" * 20), "\n", '"', f"To {TOKEN[:5]}", f"{TOKEN[5:]}."]
    deltas = [
        {"role": "assistant", "content": ""},
        *({"reasoning": t} for t in texts),
        *({"content": t} for t in texts),
    ]
    events = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    told([orjson.dumps(event) for event in events], forms, payload="delta", issued=issued)
    assert forms.known == len(events) - 3  # the role, and the first of both fields


def test_pieces_of_a_tool_call_s_arguments_have_a_known_form_until_the_next_call() -> None:
    forms = CountedForms()
    texts = ['{"to":', f'"{TOKEN[:7]}', f'{TOKEN[7:]}"', "}"]
    calls = [{"index": n, "function": {"arguments": text}} for n in (0, 1) for text in texts]
    events = [{"model": "big", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]
    said = told([orjson.dumps(event) for event in events], forms, payload="delta", issued={TOKEN: VALUE})
    assert forms.known == 5  # the next call's first piece ends the call before, and what was known
    read = [_read(event)["choices"][0]["delta"]["tool_calls"][0] for event in said[:-1]]
    for n in (0, 1):
        arguments = "".join(call["function"]["arguments"] for call in read if call["index"] == n)
        assert json.loads(arguments) == {"to": VALUE}


def _chunk(text: str, **more: Any) -> dict[str, Any]:
    return {"id": "x", "model": "big", "choices": [{"index": 0, "delta": {"content": text}}], **more}


@pytest.mark.parametrize(
    "events",
    [
        [_chunk("outside", content="outside"), _chunk(TOKEN, content="outside"), _chunk("outside", content=TOKEN)],
        [_chunk("a", created=1), _chunk("b", created=2), _chunk(TOKEN[:5], created=1)],
    ],
    ids=["the same string stands elsewhere", "what is held back comes out in the form of the last event"],
)
def test_hard_cases_are_the_same_to_the_byte(events: list[dict[str, Any]]) -> None:
    datas = [orjson.dumps(event) for event in events]
    quick = told(datas, EventForms(), payload="delta", issued={TOKEN: VALUE})
    assert quick == told(datas, EventForms(0), payload="delta", issued={TOKEN: VALUE})


def test_a_stream_whose_events_are_all_different_is_read_and_nothing_is_remembered() -> None:
    forms = CountedForms()
    head = {"model": "big", "choices": [{"index": 0, "delta": {"content": "x"}}]}
    told([orjson.dumps({**head, "created": n}) for n in range(100)], forms, payload="delta", issued={TOKEN: VALUE})
    assert forms.known == 0
    assert len(forms._forms) <= 4
