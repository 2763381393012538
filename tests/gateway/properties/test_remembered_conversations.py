"""A conversation is answered the same with and without the memory of what was found in its earlier turns."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from identifier_strategies import texts

from examples import examples
from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.detect.findings_memory import FindingsMemory
from sovctl.gateway.inspection.inspector import Inspection, Inspector
from sovctl.gateway.policy.decision import decide
from sovctl.gateway.policy.permissions import Policy
from sovctl.gateway.settings import Action, DetectSettings, PolicySettings, RouteSettings
from sovctl.gateway.surfaces import SURFACES
from sovctl.gateway.tokenization.body import IdentifierLeak, tokenize_body
from sovctl.gateway.tokens.token import TokenIssuer

CHAT = SURFACES["/v1/chat/completions"]
DETECTOR = make_detector(DetectSettings(phone_regions=["DE", "US"]))
POLICY = PolicySettings(default=Action.TOKENIZE, name_languages=["en"])
PERMISSIONS = Policy.compile(POLICY, [RouteSettings(model="m", pool="chat", cloud="cloud")]).of("retail", "m")

_sentences = st.sampled_from(
    [
        "Dear Mr. Jan Kowalski, thank you for your letter.",
        "Dear Mrs. Anna Kowalska, the card was sent.",
        "Kowalski called again, and A. Kowalska wrote to him.",
        "Уважаемая Анна Ковальская, письмо отправлено.",
        "My name is Ola Nordmann.",
        "Nordmann wants an answer by Monday. O.N. signed it.",
        "The money was sent from DE89 3704 0044 0532 0130 00 last week.",
        "DE89370400440532013000 is the account of nordmann.",
        "Write to anna@example.com or call +49 30 901820.",
        "Please confirm the transfer, and keep the answer short.",
        "Bitte bestätigen Sie die Überweisung an Frau Kowalska.",
        "What is your account number?",
        "20481632",
        "The customer number is 20481632, and the PIN is 4821.",
        "card 4111 1111 1111 1111",
        "1. first point\n2. second point",
        "Name\tCity\nAnna\tQuandt\nOla\tNordmann",
    ]
)
_words = st.lists(st.one_of(_sentences, _sentences, texts), min_size=1, max_size=4).map(" ".join)
_values = st.one_of(_sentences, st.sampled_from(["20481632", "Ola Nordmann", "4821", "anna@example.com", "1981-05-03"]))
_objects = st.dictionaries(
    st.sampled_from(["customer_name", "account", "pin", "date_of_birth", "note", "email", "Anna_Kowalska"]),
    st.one_of(_values, st.lists(_values, max_size=3), st.integers(0, 10**12)),
    max_size=4,
)


def _call(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    function = {"name": "find", "arguments": json.dumps(arguments)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}
    ]


_messages = st.one_of(
    _words.map(lambda text: [{"role": "user", "content": text}]),
    _words.map(lambda text: [{"role": "assistant", "content": text}]),
    st.lists(_words, min_size=2, max_size=3).map(
        lambda parts: [{"role": "user", "content": [{"type": "text", "text": text} for text in parts]}]
    ),
    _objects.map(_call),
    _objects.map(lambda result: [{"role": "tool", "tool_call_id": "1", "content": json.dumps(result)}]),
    st.builds(lambda name, text: [{"role": "user", "name": name, "content": text}], _values, _words),
)
_conversations = st.lists(
    st.tuples(st.lists(_messages, min_size=1, max_size=3), st.sampled_from(["", "", "", "restart", "forget first"])),
    min_size=2,
    max_size=5,
)


def answered(body: dict[str, Any], finder: CachedFinder) -> tuple[Any, ...]:
    """Everything that a request's findings determine: findings, verdict, body for a cloud, values of tokens."""
    inspector = Inspector(finder, CHAT, max_depth=64)
    inspection: Inspection = inspector.inspect(body)
    found: list[list[Finding]] = [
        inspector.findings(leaf) for leaf in (*inspector.leaves.texts, *inspector.leaves.numbers)
    ]
    issuer = TokenIssuer(bytes(32), tenant="retail", conversation="c")
    try:
        sent = tokenize_body(body, inspector, PERMISSIONS, issuer, model="big", dropped=CHAT.dropped)
    except IdentifierLeak as leak:
        return inspection, found, decide(inspection, PERMISSIONS), str(leak)
    about = {token: issuer.about.get(token) for token in sent.issued}
    return inspection, found, decide(inspection, PERMISSIONS), sent.data, dict(sent.issued), about


@examples(300, deadline=None)
@given(_conversations)
def test_every_turn_is_answered_the_same_with_and_without_memory(conversation: list[tuple[Any, str]]) -> None:
    def with_empty_memory() -> CachedFinder:
        return CachedFinder(DETECTOR, FindingsMemory(max_bytes=1 << 20, max_age_s=3600))

    finder, history = with_empty_memory(), []
    for messages, event in conversation:
        if event == "restart":
            finder = with_empty_memory()
        elif event == "forget first":
            history = history[1:]
        history += [message for some in messages for message in some]
        body = {"model": "m", "messages": history}
        expected = answered(copy.deepcopy(body), CachedFinder(DETECTOR))
        assert answered(copy.deepcopy(body), finder.of("retail")) == expected
        assert answered(copy.deepcopy(body), finder.of("retail")) == expected, "the same request again"
