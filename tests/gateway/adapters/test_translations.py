"""Translations of requests and answers: no text is lost or invented, and streams equal whole answers."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.adapters.anthropic_on_bedrock import MESSAGES_ON_CONVERSE
from sovctl.gateway.adapters.anthropic_on_bedrock.events import ConverseEvents
from sovctl.gateway.adapters.anthropic_on_openai import MESSAGES_ON_CHAT
from sovctl.gateway.adapters.anthropic_on_openai.events import MessageEvents
from sovctl.gateway.adapters.openai_on_anthropic import CHAT_ON_MESSAGES
from sovctl.gateway.adapters.openai_on_anthropic.events import ChatEvents
from sovctl.gateway.adapters.translation import (
    DONE_EVENT,
    AnswerOptions,
    Inexpressible,
    RequestOptions,
    Translation,
    chained,
)
from sovctl.gateway.body import exact_json
from sovctl.gateway.domain.errors import UpstreamFailed

OPTIONS = RequestOptions("eu.anthropic.claude-9", 4096)
ANSWER = AnswerOptions("sovctl-1", 1, True)
CHAT_ON_CONVERSE = chained(CHAT_ON_MESSAGES, MESSAGES_ON_CONVERSE)
USER = {"role": "user", "content": "hi"}

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
NUMBER = st.one_of(
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.just(exact_json.loads(b"61109010140000071219812874")),
    st.floats(allow_nan=False, allow_infinity=False),
)
JSON = st.recursive(
    st.one_of(TEXT, NUMBER, st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(TEXT, JSON, max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> dict[str, Any]:
    """Requests of chat completions whose calls all have results, in which every text is different."""
    texts = (f"{draw(TEXT)}#{number}" for number in itertools.count())
    ids = itertools.count()

    def content() -> Any:
        parts = [{"type": "text", "text": next(texts)} for _ in range(draw(st.integers(1, 3)))]
        return parts if draw(st.booleans()) else parts[0]["text"]

    messages: list[Any] = [{"role": "system", "content": content()}] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 3))):
        messages.append({"role": "user", "content": content()})
        calls = [
            {
                "id": f"call_{next(ids)}",
                "type": "function",
                "function": {"name": "tool", "arguments": exact_json.dumps(draw(ARGUMENTS)).decode()},
            }
            for _ in range(draw(st.integers(0, 2)))
        ]
        messages.append({"role": "assistant", "content": content(), **({"tool_calls": calls} if calls else {})})
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": content()} for call in calls]
    messages.append({"role": "user", "content": content()})
    tool = {"name": "tool", "description": next(texts), "parameters": {"type": "object", "title": next(texts)}}
    return {"model": "x", "messages": messages, "tools": [{"type": "function", "function": tool}]}


def strings_in(value: Any, *, arguments: bool = True) -> Iterator[str]:
    """All strings, those in JSON strings of arguments too."""
    if isinstance(value, dict):
        for key, each in value.items():
            if arguments and key == "arguments" and isinstance(each, str):
                yield from strings_in(exact_json.loads(each or "{}"))
            else:
                yield from strings_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings_in(each)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("translation", [CHAT_ON_MESSAGES, CHAT_ON_CONVERSE])
@examples(100)
@given(conversations())
def test_no_text_of_a_request_is_lost_or_invented(translation: Translation, body: dict[str, Any]) -> None:
    made = [*strings_in(translation.request(body, OPTIONS))]
    given = [*strings_in(body)]
    assert sorted(text for text in given if "#" in text) == sorted(text for text in made if "#" in text)
    fixed = {"text", "user", "assistant", "tool_use", "tool_result", "object", "x", OPTIONS.model}
    assert set(made) <= set(given) | fixed


@examples(100)
@given(conversations())
def test_a_request_comes_back_from_anthropics_api(body: dict[str, Any]) -> None:
    back = MESSAGES_ON_CHAT.request(CHAT_ON_MESSAGES.request(body, OPTIONS), OPTIONS)
    assert texts_by_role(back) == texts_by_role(body)
    assert calls_of(back) == calls_of(body)
    assert back["tools"] == body["tools"]


def texts_by_role(body: dict[str, Any]) -> list[tuple[str, str]]:
    """Role and text of each message."""
    found = []
    for message in body["messages"]:
        content = message["content"]
        text = content if isinstance(content, str) else "".join(part["text"] for part in content)
        found.append((message["role"], text))
    return found


def calls_of(body: dict[str, Any]) -> list[tuple[str, str, bytes]]:
    return [
        (call["id"], call["function"]["name"], exact_json.dumps(exact_json.loads(call["function"]["arguments"])))
        for message in body["messages"]
        for call in message.get("tool_calls", [])
    ]


@st.composite
def answers(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Blocks of an answer of Anthropic's messages."""
    text = st.builds(lambda text: {"type": "text", "text": text}, TEXT)
    call = st.builds(lambda given: {"type": "tool_use", "name": "tool", "input": given}, ARGUMENTS)
    blocks = draw(st.lists(st.one_of(text, call), min_size=1, max_size=4))
    return [
        {**block, "id": f"call_{number}"} if block["type"] == "tool_use" else block
        for number, block in enumerate(blocks)
    ]


def message_of(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    reason = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    usage = {"input_tokens": 3, "output_tokens": 4}
    return {"type": "message", "model": "m", "content": blocks, "stop_reason": reason, "usage": usage}


def cut(text: str, every: int) -> list[str]:
    return [text[start : start + every] for start in range(0, len(text), every)] or [""]


def events_of(message: dict[str, Any], every: int) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**message, "content": []}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start, kind, name, text = {"type": "text", "text": ""}, "text_delta", "text", block["text"]
        else:
            start, kind, name = {**block, "input": {}}, "input_json_delta", "partial_json"
            text = exact_json.dumps(block["input"]).decode()
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for part in cut(text, every):
            yield {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: part}}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"]}, "usage": message["usage"]}
    yield {"type": "message_stop"}


def chat_from(chunks: list[dict[str, Any]]) -> tuple[str, list[tuple[str, str, bytes]], str, Any]:
    """Text, calls, finish reason and usage of a stream of chat completions."""
    text, calls, reason, usage = "", {}, "", None
    assert chunks[-1] is DONE_EVENT
    for chunk in chunks[:-1]:
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            text += choice["delta"].get("content") or ""
            for call in choice["delta"].get("tool_calls", []):
                known = calls.setdefault(call["index"], {"arguments": ""})
                known |= {"id": call["id"], "name": call["function"]["name"]} if "id" in call else {}
                known["arguments"] += call["function"].get("arguments", "")
            reason = choice["finish_reason"] or reason
    made = [(c["id"], c["name"], exact_json.dumps(exact_json.loads(c["arguments"]))) for c in calls.values()]
    return text, made, reason, usage


@examples(100)
@given(answers(), st.integers(1, 9))
def test_a_streamed_chat_equals_the_whole_one(blocks: list[dict[str, Any]], every: int) -> None:
    message = message_of(blocks)
    whole = CHAT_ON_MESSAGES.answer(message, ANSWER)
    stream = ChatEvents(ANSWER)
    text, calls, reason, usage = chat_from([made for e in events_of(message, every) for made in stream.feed(e)])
    choice = whole["choices"][0]
    assert (text, reason, usage) == (choice["message"]["content"] or "", choice["finish_reason"], whole["usage"])
    assert calls == calls_of({"messages": [choice["message"]]})


def message_from(events: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str, Any]:
    """Blocks, stop reason and usage of a stream of messages."""
    assert (events[0]["type"], events[-1]["type"]) == ("message_start", "message_stop")
    blocks: list[dict[str, Any]] = []
    last = None
    for event in events[1:-1]:
        if event["type"] == "content_block_start":
            assert event["index"] == len(blocks)
            blocks.append({**event["content_block"], "json": ""})
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            blocks[event["index"]]["text" if "text" in delta else "json"] += delta.get(
                "text", delta.get("partial_json")
            )
        elif event["type"] == "message_delta":
            last = event
    assert last is not None
    for block in blocks:
        if (arguments := block.pop("json")) or block["type"] == "tool_use":
            block["input"] = exact_json.loads(arguments or "{}")
    return blocks, last["delta"]["stop_reason"], last["usage"]


@examples(100)
@given(answers(), st.integers(1, 9))
def test_a_streamed_message_equals_the_whole_one(blocks: list[dict[str, Any]], every: int) -> None:
    """From chat completions, which have one text and then the calls."""
    chat = CHAT_ON_MESSAGES.answer(message_of(blocks), ANSWER)
    choice, usage = chat["choices"][0], chat["usage"]
    whole = MESSAGES_ON_CHAT.answer(chat, ANSWER)
    deltas = [{"content": part} for part in cut(choice["message"]["content"] or "", every)]
    for number, call in enumerate(choice["message"].get("tool_calls", [])):
        deltas.append({"tool_calls": [{**call, "index": number, "function": {"name": "tool", "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": number, "function": {"arguments": part}}]}
            for part in cut(call["function"]["arguments"], every)
        ]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks += [{"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}]
    chunks += [{"choices": [], "usage": usage}, DONE_EVENT]
    stream = MessageEvents(ANSWER)
    made, reason, counted = message_from([event for chunk in chunks for event in stream.feed(chunk)])
    assert (made, reason, counted) == (whole["content"], whole["stop_reason"], whole["usage"])


@examples(100)
@given(answers(), st.integers(1, 9))
def test_a_stream_of_bedrock_equals_the_whole_answer(blocks: list[dict[str, Any]], every: int) -> None:
    content: list[dict[str, Any]] = []
    frames: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            content.append({"text": block["text"]})
            deltas: list[Any] = [{"text": part} for part in cut(block["text"], every)]
        else:
            use = {"toolUseId": block["id"], "name": block["name"]}
            content.append({"toolUse": {**use, "input": block["input"]}})
            frames.append({"contentBlockStart": {"start": {"toolUse": use}, "contentBlockIndex": index}})
            text = exact_json.dumps(block["input"]).decode()
            deltas = [{"toolUse": {"input": part}} for part in cut(text, every)]
        frames += [{"contentBlockDelta": {"delta": delta, "contentBlockIndex": index}} for delta in deltas]
        frames.append({"contentBlockStop": {"contentBlockIndex": index}})
    usage = {"inputTokens": 3, "outputTokens": 4, "cacheReadInputTokens": 5}
    reason = message_of(blocks)["stop_reason"]
    frames += [{"messageStop": {"stopReason": reason}}, {"metadata": {"usage": usage}}]
    answer = {"output": {"message": {"content": content}}, "stopReason": reason, "usage": usage}
    whole = MESSAGES_ON_CONVERSE.answer(answer, ANSWER)
    stream = ConverseEvents(ANSWER)
    made, stop, counted = message_from([event for frame in frames for event in stream.feed(frame)])
    assert (made, stop, counted) == (whole["content"], whole["stop_reason"], whole["usage"])


ODD = st.recursive(
    st.one_of(st.none(), st.integers(-1, 2), st.sampled_from(["", "text", "tool_use", "x"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    *("type", "index", "delta", "content_block", "message", "usage", "choices", "tool_calls", "id"),
                    *("function", "name", "arguments", "content", "finish_reason", "contentBlockIndex", "start"),
                    *("toolUse", "toolUseId", "input", "text", "stopReason", "partial_json", "stop_reason"),
                ]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=8,
)
KINDS = ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"]
FRAMES = ["messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"]


@pytest.mark.parametrize(
    ("events", "shape"),
    [
        (ChatEvents, lambda kind, odd: {"type": KINDS[kind % 5], **(odd if isinstance(odd, dict) else {})}),
        (MessageEvents, lambda _, odd: odd if isinstance(odd, dict) else {"choices": [odd]}),
        (MessageEvents, lambda _, odd: {"choices": [{"index": 0, "delta": odd}]}),
        (ConverseEvents, lambda kind, odd: {FRAMES[kind % 6]: odd}),
    ],
    ids=["messages", "chat", "deltas", "converse"],
)
@examples(300)
@given(st.lists(st.tuples(st.integers(0, 5), ODD), max_size=5))
def test_an_odd_event_is_an_invalid_answer_and_no_crash(
    events: Callable[[AnswerOptions], Any], shape: Callable[[int, Any], Any], odd: list[tuple[int, Any]]
) -> None:
    stream = events(ANSWER)
    starts = {ChatEvents: {"type": "message_start", "message": {}}, ConverseEvents: {"messageStart": {}}}
    if events in starts:
        stream.feed(starts[events])
    with contextlib.suppress(UpstreamFailed):
        for kind, each in odd:
            for made in stream.feed(shape(kind, each)):
                json.dumps(made)


@pytest.mark.parametrize("translation", [CHAT_ON_MESSAGES, MESSAGES_ON_CHAT, MESSAGES_ON_CONVERSE])
@examples(300)
@given(ODD)
def test_an_odd_answer_is_invalid_and_no_crash(translation: Translation, odd: Any) -> None:
    with contextlib.suppress(UpstreamFailed):
        translation.answer(odd if isinstance(odd, dict) else {"choices": odd, "content": odd, "output": odd}, ANSWER)


@pytest.mark.parametrize("translation", [CHAT_ON_MESSAGES, CHAT_ON_CONVERSE, MESSAGES_ON_CHAT, MESSAGES_ON_CONVERSE])
@examples(300)
@given(ODD, ODD, ODD)
def test_an_odd_request_is_refused_and_no_crash(translation: Translation, odd: Any, tools: Any, more: Any) -> None:
    body = {"messages": odd, "tools": tools, "tool_choice": more, "stop": odd, "output_config": more, "system": odd}
    with contextlib.suppress(Inexpressible):
        translation.request({"model": "x", **body}, OPTIONS)


DEEP: Any = {}
for _ in range(300):
    DEEP = {"a": DEEP}
ODD_FIELDS = [{}, {"a": 1}, ["x"], [{}], "x", 7, True, DEEP]


@pytest.mark.parametrize("translation", [CHAT_ON_MESSAGES, CHAT_ON_CONVERSE, MESSAGES_ON_CHAT, MESSAGES_ON_CONVERSE])
@pytest.mark.parametrize("odd", ODD_FIELDS, ids=lambda odd: type(odd).__name__)
def test_an_odd_value_of_any_field_is_no_crash(translation: Translation, odd: Any) -> None:
    names = ["reasoning_effort", "thinking", "output_config", "output_format", "response_format", "tool_choice"]
    names += ["stop", "stop_sequences", "temperature", "max_tokens", "n", "modalities", "system", "tools", "top_k"]
    bodies = [{name: odd} for name in names]
    bodies += [{"output_config": {"effort": odd}}, {"output_config": {"format": {"schema": odd}}}]
    bodies += [{"tool_choice": {"type": odd}}, {"thinking": {"type": odd}}, {"thinking": {"budget_tokens": odd}}]
    bodies += [{"tools": [{"type": odd}]}, {"tools": [{"type": "function", "function": {"name": odd}}]}]
    use = {"type": "tool_use", "id": "c", "name": "f", "input": odd}
    bodies += [{"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": odd}, use]}]}]
    bodies += [{"messages": [{"role": "assistant", "content": [use]}]}]
    for kind in ("text", "image", "image_url", "file", "document", "tool_result", "thinking", odd):
        part = {"type": kind, "text": odd, "source": odd, "image_url": odd, "file": odd, "content": odd}
        bodies += [{"messages": [{"role": role, "content": [part]}]} for role in ("user", "assistant", "system", odd)]
    for body in bodies:
        with contextlib.suppress(Inexpressible):
            translation.request({"model": "x", "max_tokens": 9, "messages": [USER], **body}, OPTIONS)


@pytest.mark.parametrize("odd", ODD_FIELDS, ids=lambda odd: type(odd).__name__)
def test_an_odd_type_of_an_event_is_no_crash(odd: Any) -> None:
    started = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for last in (
        {"type": odd, "index": 0},
        {"type": "content_block_delta", "index": 0, "delta": {"type": odd}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": odd}},
        {"type": "message_delta", "delta": {"stop_reason": odd}, "usage": odd},
    ):
        stream = ChatEvents(ANSWER)
        for event in ({"type": "message_start", "message": {}}, started):
            stream.feed(event)
        with contextlib.suppress(UpstreamFailed):
            stream.feed(last)
    for answer in (
        {"type": "message", "content": [{"type": odd}], "stop_reason": odd, "usage": odd},
        {"choices": [{"message": {"content": odd, "tool_calls": odd}, "finish_reason": odd}], "usage": odd},
        {"output": {"message": {"content": [odd]}}, "stopReason": odd, "usage": odd},
        {"output": {"message": {"content": []}}, "stopReason": odd, "usage": odd},
    ):
        for translation in (CHAT_ON_MESSAGES, MESSAGES_ON_CHAT, MESSAGES_ON_CONVERSE):
            with contextlib.suppress(UpstreamFailed):
                translation.answer(answer, ANSWER)


REFUSED_OF_CHAT: list[tuple[dict[str, Any], str]] = [
    ({"n": 2}, "n"),
    ({"logprobs": True}, "logprobs"),
    ({"logit_bias": {"7": 1}}, "logit_bias"),
    ({"frequency_penalty": 0.5}, "frequency_penalty"),
    ({"temperature": 1.5}, "temperature"),
    ({"response_format": {"type": "json_object"}}, "response_format"),
    ({"modalities": ["text", "audio"]}, "modalities"),
    ({"service_tier": "flex"}, "service_tier"),
    ({"functions": [{"name": "f"}]}, "functions"),
    ({"tools": [{"type": "custom", "custom": {"name": "f"}}]}, "tools[0].type"),
    ({"tool_choice": {"type": "allowed_tools"}}, "tool_choice"),
    ({"reasoning_effort": "some"}, "reasoning_effort"),
    ({"max_tokens": "many"}, "max_tokens"),
    ({"stop": [1]}, "stop"),
    ({"invented@example.com": 1}, ""),
    ({"messages": [{"role": "function", "name": "f", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "messages[0].content[0].type"),
    (
        {
            "messages": [
                USER,
                {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "["}}]},
            ]
        },
        "messages[1].tool_calls[0].function.arguments",
    ),
    ({"messages": [{"role": "system", "content": "x"}]}, "messages"),
]
REFUSED_OF_MESSAGES: list[tuple[dict[str, Any], str]] = [
    ({"top_k": 5}, "top_k"),
    ({"thinking": {"type": "between_tools"}}, "thinking"),
    ({"container": "c"}, "container"),
    ({"inference_geo": "us"}, "inference_geo"),
    ({"speed": "fast"}, "speed"),
    ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools[0].type"),
    ({"output_config": {"effort": "huge"}}, "output_config.effort"),
    ({"messages": [{"role": "user", "content": [{"type": "search_result"}]}]}, "messages[0].content[0].type"),
    (
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]}]},
        "messages[0].content[0].source",
    ),
    (
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "image"}]}],
                }
            ]
        },
        "messages[0].content[0].content[0].type",
    ),
]
REFUSED_OF_CONVERSE: list[tuple[dict[str, Any], str]] = [
    ({"tools": [{"name": "f"}], "tool_choice": {"type": "none"}}, "tool_choice"),
    (
        {"tools": [{"name": "f"}], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        "tool_choice.disable_parallel_tool_use",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://x"}}]}]},
        "messages[0].content[0].source",
    ),
    ({"messages": [{"role": "system", "content": "x"}]}, "messages[0].role"),
    (
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"type": "tool_result"}]}]}]},
        "messages[0].content[0].content[0].type",
    ),
]


@pytest.mark.parametrize(
    ("translation", "fields", "named"),
    [
        *((CHAT_ON_MESSAGES, fields, named) for fields, named in REFUSED_OF_CHAT),
        *((MESSAGES_ON_CHAT, fields, named) for fields, named in REFUSED_OF_MESSAGES),
        *((MESSAGES_ON_CONVERSE, fields, named) for fields, named in REFUSED_OF_CONVERSE),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refuses_what_the_upstream_cannot_express(translation: Translation, fields: dict[str, Any], named: str) -> None:
    body = {"model": "x", "max_tokens": 9, "messages": [USER], **fields}
    with pytest.raises(Inexpressible) as raised:
        translation.request(body, OPTIONS)
    assert raised.value.field == named


def test_models_of_others_take_no_parameters_of_anthropic_on_bedrock() -> None:
    body = {"model": "x", "max_tokens": 9, "messages": [USER], "top_k": 5}
    sent = MESSAGES_ON_CONVERSE.request(body, OPTIONS)
    assert sent["additionalModelRequestFields"] == {"top_k": 5}
    with pytest.raises(Inexpressible, match="top_k"):
        MESSAGES_ON_CONVERSE.request(body, RequestOptions("meta.llama9", 4096))


SCHEMA = {"type": "object", "properties": {"iban": {"type": "string"}}, "required": ["iban"]}


@pytest.mark.parametrize(
    ("translation", "fields", "expected"),
    [
        (CHAT_ON_MESSAGES, {}, {"max_tokens": 4096}),
        (CHAT_ON_MESSAGES, {"max_completion_tokens": 7, "max_tokens": 9}, {"max_tokens": 7}),
        (CHAT_ON_MESSAGES, {"stop": "END", "top_p": 0.5}, {"stop_sequences": ["END"], "top_p": 0.5}),
        (CHAT_ON_MESSAGES, {"reasoning_effort": "minimal"}, {"output_config": {"effort": "low"}}),
        (CHAT_ON_MESSAGES, {"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}),
        (
            CHAT_ON_MESSAGES,
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}},
            {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        ),
        (CHAT_ON_MESSAGES, {"tool_choice": "required"}, {"tool_choice": {"type": "any"}}),
        (
            CHAT_ON_MESSAGES,
            {"parallel_tool_calls": False, "tools": [{"type": "function", "function": {"name": "f"}}]},
            {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        ),
        (
            CHAT_ON_MESSAGES,
            {"tool_choice": {"type": "function", "function": {"name": "f"}}},
            {"tool_choice": {"type": "tool", "name": "f"}},
        ),
        (CHAT_ON_MESSAGES, {"seed": 7, "user": "u", "n": 1, "logprobs": False, "frequency_penalty": 0}, {}),
        (
            CHAT_ON_MESSAGES,
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}
                        ],
                    }
                ]
            },
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
                        ],
                    }
                ]
            },
        ),
        (MESSAGES_ON_CHAT, {"max_tokens": 9}, {"max_completion_tokens": 9}),
        (
            MESSAGES_ON_CHAT,
            {"stream": True},
            {"stream": True, "stream_options": {"include_usage": True}},
        ),
        (MESSAGES_ON_CHAT, {"thinking": {"type": "enabled", "budget_tokens": 2048}}, {"reasoning_effort": "medium"}),
        (
            MESSAGES_ON_CHAT,
            {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
            {"tool_choice": "required", "parallel_tool_calls": False},
        ),
        (
            MESSAGES_ON_CHAT,
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "document",
                                "title": "t",
                                "source": {"type": "text", "data": "d", "media_type": "text/plain"},
                            },
                            {"type": "image", "source": {"type": "url", "url": "https://x/i.png"}},
                        ],
                    }
                ]
            },
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "text", "text": "t"},
                            {"type": "text", "text": "d"},
                            {"type": "image_url", "image_url": {"url": "https://x/i.png"}},
                        ],
                    }
                ]
            },
        ),
        (
            MESSAGES_ON_CONVERSE,
            {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
            {
                "outputConfig": {
                    "textFormat": {
                        "type": "json_schema",
                        "structure": {"jsonSchema": {"name": "answer", "schema": '{"type":"object"}'}},
                    }
                }
            },
        ),
        (
            MESSAGES_ON_CONVERSE,
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": True}],
                    }
                ]
            },
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "no"}], "status": "error"}}],
                    }
                ]
            },
        ),
    ],
)
def test_translates_fields(translation: Translation, fields: dict[str, Any], expected: dict[str, Any]) -> None:
    made = translation.request({"model": "x", "messages": [USER], **fields}, OPTIONS)
    assert {name: made.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("pause_turn", "stop"),
    ],
)
def test_finish_reasons(stop: str, finish: str) -> None:
    message = {"type": "message", "content": [{"type": "text", "text": "x"}], "stop_reason": stop}
    assert CHAT_ON_MESSAGES.answer(message, ANSWER)["choices"][0]["finish_reason"] == finish


@pytest.mark.parametrize(
    ("finish", "message", "stop"),
    [
        ("stop", {"content": "x"}, "end_turn"),
        ("length", {"content": "x"}, "max_tokens"),
        ("content_filter", {"content": "x"}, "refusal"),
        ("stop", {"refusal": "No."}, "refusal"),
        ("stop", {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": ""}}]}, "tool_use"),
    ],
)
def test_stop_reasons(finish: str, message: dict[str, Any], stop: str) -> None:
    answer = {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    assert MESSAGES_ON_CHAT.answer(answer, ANSWER)["stop_reason"] == stop


def test_thinking_is_reasoning_of_a_chat() -> None:
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "x"}]
    made = CHAT_ON_MESSAGES.answer({"type": "message", "content": blocks, "stop_reason": "end_turn"}, ANSWER)
    assert made["choices"][0]["message"]["reasoning_content"] == "hm"
