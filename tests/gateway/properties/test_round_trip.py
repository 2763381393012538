"""What was tokenized comes back exactly: any text, any nesting, any cut, through the real walk and the real streams."""

from __future__ import annotations

import json
from typing import Any

import orjson
from hypothesis import assume, given
from hypothesis import strategies as st
from identifier_strategies import nested, texts

from examples import examples
from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.inspection.inspector import Inspector
from sovctl.gateway.pipeline.restored_events import RestoredEvents
from sovctl.gateway.policy.permissions import Policy
from sovctl.gateway.settings import DetectSettings, PolicySettings, RouteSettings
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.tokenization.body import IdentifierLeak, TokenizedBody, tokenize_body
from sovctl.gateway.tokens.restore import RestoreCounts
from sovctl.gateway.tokens.token import TokenIssuer

CHAT = SURFACES["/v1/chat/completions"]
ROUTE = RouteSettings(model="assistant", pool="chat", cloud="cloud")
PERMISSIONS = Policy.compile(PolicySettings(), [ROUTE]).of("t", "assistant")
DETECTOR = make_detector(DetectSettings(phone_regions=["DE", "US"]))
PERMISSIONS = Policy.compile(PolicySettings(), [RouteSettings(model="m", pool="chat", cloud="cloud")]).of("t", "m")
KEYS = ("anna@example.com", "to:DE89370400440532013000", "Anna_Kowalska", "Anna Kowalska", 'Anna "Kowalska"')


def leave(body: dict[str, Any]) -> TokenizedBody:
    """The body as a cloud gets it; what the second look keeps at home is no example."""
    inspector = Inspector(CachedFinder(DETECTOR), CHAT, max_depth=64)
    inspector.inspect(body)
    issuer = TokenIssuer(bytes(32), tenant="t", conversation="c")
    try:
        return tokenize_body(body, inspector, PERMISSIONS, issuer, model="big", dropped=CHAT.dropped)
    except IdentifierLeak:
        assume(False)
        raise


@st.composite
def pieces(draw: st.DrawFn, whole: Any) -> list[Any]:
    """A text or bytes, cut anywhere."""
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    return [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


def event(delta: dict[str, Any], index: int = 0, finish: str | None = None) -> bytes:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return b"data: " + orjson.dumps({"id": "x", "model": "big", "choices": [choice]}) + b"\n\n"


def streamed(raw: list[bytes], issued: Any, counts: RestoreCounts | None = None) -> list[dict[str, Any]]:
    """The client's view of a stream that came in these pieces."""
    stream = CHAT.stream(Restoration(issued, "assistant", counts or RestoreCounts()))
    restored = RestoredEvents(stream, max_event_bytes=1 << 20)
    out = b"".join(map(restored.feed, raw))
    assert stream.is_finished
    return [json.loads(each.removeprefix(b"data: ")) for each in out.split(b"\n\n")[:-1]]


@examples(400)
@given(st.data(), texts)
def test_a_streamed_echo_is_the_prompt_whatever_the_cuts(data: st.DataObject, text: str) -> None:
    outgoing = leave({"model": "assistant", "messages": [{"role": "user", "content": text}]})
    content = orjson.loads(outgoing.data)["messages"][0]["content"]
    raw = b"".join(event({"content": piece}) for piece in data.draw(pieces(content)))
    raw += event({}, finish="stop") + b"data: [DONE]\n\n"
    events = streamed(data.draw(pieces(raw)), outgoing.issued)
    assert "".join(e["choices"][0]["delta"].get("content", "") for e in events) == text
    assert not events[-1]["choices"][0]["delta"]


@examples(300)
@given(st.data(), st.lists(texts, min_size=1, max_size=3))
def test_choices_that_stream_at_once_do_not_mix(data: st.DataObject, prompts: list[str]) -> None:
    messages = [{"role": "user", "content": text} for text in prompts]
    outgoing = leave({"model": "assistant", "messages": messages})
    contents = [message["content"] for message in orjson.loads(outgoing.data)["messages"]]
    queues = [[event({"content": p}, index) for p in data.draw(pieces(c))] for index, c in enumerate(contents)]
    queues = [[*queue, event({}, index, "stop")] for index, queue in enumerate(queues)]
    raw = b""
    while any(queues):
        raw += data.draw(st.sampled_from([queue for queue in queues if queue])).pop(0)
    events = streamed(data.draw(pieces(raw + b"data: [DONE]\n\n")), outgoing.issued)
    for index, text in enumerate(prompts):
        said = [c["delta"].get("content", "") for e in events for c in e["choices"] if c["index"] == index]
        assert "".join(said) == text


@examples(300)
@given(st.data(), st.dictionaries(st.sampled_from(["to", "note", "rows", *KEYS]), nested(texts), max_size=5))
def test_tool_arguments_come_back_as_the_same_json_whatever_the_nesting(
    data: st.DataObject, arguments: dict[str, Any]
) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": json.dumps(arguments)}}
    outgoing = leave({"model": "assistant", "messages": [{"role": "assistant", "tool_calls": [call]}]})
    sent = orjson.loads(outgoing.data)["messages"][0]["tool_calls"][0]["function"]["arguments"]
    raw = event({"tool_calls": [{"index": 0, "id": "1", "function": {"name": "f", "arguments": ""}}]})
    for piece in data.draw(pieces(sent)):
        raw += event({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    raw += event({}, finish="tool_calls") + b"data: [DONE]\n\n"
    counts = RestoreCounts()
    events = streamed(data.draw(pieces(raw)), outgoing.issued, counts)
    back = "".join(
        each["function"]["arguments"] for e in events for c in e["choices"] for each in c["delta"].get("tool_calls", [])
    )
    answer = given_back({"arguments": back}, outgoing, counts)
    assert decoded(answer) == {"arguments": decoded(arguments)}


@examples(300)
@given(nested(texts))
def test_a_whole_answer_that_repeats_any_json_is_that_json(anything: Any) -> None:
    outgoing = leave({"model": "assistant", "messages": [{"role": "user", "content": "hi", "extra": anything}]})
    said = orjson.loads(outgoing.data)["messages"][0]
    answer = {"choices": [{"index": 0, "message": {"role": "assistant", "extra": said.get("extra")}}]}
    counts = RestoreCounts()
    back = CHAT.whole(answer, Restoration(outgoing.issued, "assistant", counts))["choices"][0]["message"]["extra"]
    assert decoded(given_back(back, outgoing, counts)) == decoded(anything)


def given_back(answer: Any, outgoing: TokenizedBody, counts: RestoreCounts) -> Any:
    """`answer`, withheld tokens put back by hand.

    In a string in a string, where one ends is not told, so what may be a link there is taken for one. Elsewhere nothing
    that the user wrote is withheld.
    """
    if not counts.withheld:
        return answer
    assert documents_deep(answer) > 1

    def put_back(value: Any, *, is_json: bool = False) -> Any:
        if isinstance(value, str):
            for token, surface in outgoing.issued.items():
                value = value.replace(token, json.dumps(surface)[1:-1] if is_json else surface)
        elif isinstance(value, list):
            value = [put_back(item) for item in value]
        elif isinstance(value, dict):
            value = {key: put_back(item, is_json=key == "arguments") for key, item in value.items()}
        return value

    return put_back(answer)


def documents_deep(value: Any) -> int:
    """How many strings that hold JSON stand in each other."""
    if isinstance(value, str):
        inner = decoded(value)
        return 0 if isinstance(inner, str) else 1 + documents_deep(json.loads(value))
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max(map(documents_deep, items), default=0)


def decoded(value: Any) -> Any:
    """JSON in strings read as JSON, since a document that was rewritten may have other white space."""
    if isinstance(value, str):
        try:
            inner = json.loads(value)
        except (json.JSONDecodeError, RecursionError):
            return value
        return decoded(inner) if isinstance(inner, dict | list) else value
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if isinstance(value, dict):
        return {key: decoded(item) for key, item in value.items()}
    return value
