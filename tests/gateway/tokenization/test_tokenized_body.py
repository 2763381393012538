"""The body that leaves: nothing found in it stays, whatever field it stands in, and a second scan makes sure."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.body.json_texts import TooDeep
from sovctl.gateway.detect import Finding, make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.detect.labels import is_cue
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.domain.obstacles import Obstacle
from sovctl.gateway.inspection.inspector import Inspection, Inspector
from sovctl.gateway.policy.permissions import Policy
from sovctl.gateway.settings import Action, DetectSettings, PolicyRule, PolicySettings, RouteSettings
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.tokenization.body import IdentifierLeak, TokenizedBody, tokenize_body
from sovctl.gateway.tokens.conversation import conversation_of
from sovctl.gateway.tokens.hmac_key import HmacKey
from sovctl.gateway.tokens.restore import RestoreCounts
from sovctl.gateway.tokens.token import TokenIssuer

CHAT = SURFACES["/v1/chat/completions"]
DETECTOR = make_detector(DetectSettings(phone_regions=["US"]))
IBAN, MAIL, CARD = "DE89370400440532013000", "anna@example.com", "4111111111111111"


def issuer() -> TokenIssuer:
    return TokenIssuer(bytes(32), tenant="t", conversation="c")


def inspect(body: dict[str, Any], finder: Any = DETECTOR) -> tuple[Inspection, Inspector]:
    inspector = Inspector(CachedFinder(finder), CHAT, max_depth=32)
    return inspector.inspect(body), inspector


def leave(body: dict[str, Any], policy: PolicySettings | None = None, finder: Any = DETECTOR) -> TokenizedBody:
    _, inspector = inspect(body, finder)
    route = RouteSettings(model="m", pool="chat", cloud="cloud")
    permissions = Policy.compile(policy or PolicySettings(), [route]).of("t", "m")
    return tokenize_body(body, inspector, permissions, issuer(), model="big", dropped=CHAT.dropped)


def sent_by(outgoing: TokenizedBody) -> Any:
    return orjson.loads(outgoing.data)


def say(content: Any, **more: Any) -> dict[str, Any]:
    return {"model": "assistant", "messages": [{"role": "user", "content": content}], **more}


_VALUES = st.sampled_from([IBAN, MAIL, CARD, "DE89 3704 0044 0532 0130 00", "+49 30 901820", "192.0.2.17"])
_TEXTS = st.lists(st.one_of(_VALUES, st.text(max_size=6), st.sampled_from(['"', "\\", "\n"])), max_size=5).map(" ".join)
_JSON = st.recursive(
    st.one_of(_TEXTS, st.integers(-5, 5), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "note", "arguments", "name"]), inner, max_size=3),
        st.dictionaries(st.just("arguments"), inner.map(json.dumps), max_size=1),
        st.dictionaries(st.sampled_from([MAIL, IBAN, f"to {CARD}", "a"]), inner, max_size=3).map(
            lambda keyed: {"arguments": json.dumps(keyed)}
        ),
    ),
    max_leaves=8,
)


@examples(300)
@given(_JSON, _TEXTS)
def test_no_value_leaves_in_any_field_at_any_depth(extra: Any, content: str) -> None:
    body = say(content, extra=extra)
    try:
        outgoing = leave(body)
    except IdentifierLeak:
        return  # it stays: that is a promise kept as well
    sent = outgoing.data
    plain = sent.replace(b"\\\\", b"").replace(b"\\", b"").replace(b" ", b"")
    for value in (IBAN, MAIL, CARD, "+4930901820", "192.0.2.17"):
        assert value.encode() not in plain
    answer = {"choices": [{"message": sent_by(outgoing)["messages"][0]}]}
    back = CHAT.whole(answer, Restoration(outgoing.issued, "m", RestoreCounts()))["choices"][0]["message"]["content"]
    assert back == content


def test_what_holds_nothing_leaves_as_it_was() -> None:
    body = say("Please write a letter", tools=[{"type": "function", "function": {"arguments": '{"a":  1}'}}], seed=7)
    outgoing = leave(body)
    assert sent_by(outgoing) == {**body, "model": "big"}
    assert not outgoing.issued


def test_fields_about_the_end_user_never_leave() -> None:
    outgoing = leave(say("hi", user="u", metadata={"a": "b"}, safety_identifier="x", prompt_cache_key="k", store=True))
    assert set(sent_by(outgoing)) == {"model", "messages"}


def test_a_value_found_once_is_found_everywhere() -> None:
    text = "Dear Mr. Ola Nordmann, hello.\nPlease ask Ola Nordmann, and then Nordmann alone."
    outgoing = leave(say(text))
    sent = sent_by(outgoing)["messages"][0]["content"]
    assert sent.count("PERSON_") == 3
    weak = leave(say("The patient has NHS 943 476 5919.\n" + "x" * 100 + "\nAgain: 943 476 5919"))
    assert sent_by(weak)["messages"][0]["content"].count("HEALTH_ID_") == 2


def test_a_value_that_hides_inside_a_word_stays_at_home() -> None:
    with pytest.raises(IdentifierLeak, match="PERSON a second time"):
        leave(say("Dear Mr. Nordmann, see the Nordmannia report"))


class _Forgetful:
    """Finds an address only in texts that begin with "Please": a detector with a hole."""

    is_cue = staticmethod(is_cue)

    def scan(self, text: str) -> tuple[list[Finding], None]:
        return (DETECTOR.find(text) if text.startswith("Please") else []), None


def test_the_second_look_finds_what_the_first_overlooked() -> None:
    with pytest.raises(IdentifierLeak) as caught:
        leave(say("x " + MAIL, extra=f"Please write to {MAIL[1:]}"), finder=_Forgetful())
    assert "a value of EMAIL a second time" in str(caught.value)
    assert "example.com" not in str(caught.value)


def test_allowed_kinds_leave_as_they_are() -> None:
    outgoing = leave(say(f"to {MAIL} from 192.0.2.17"), PolicySettings(entity_types={"IP": Action.ALLOW}))
    assert sent_by(outgoing)["messages"][0]["content"].endswith("from 192.0.2.17")


_MASKED = PolicySettings(entity_types={"EMAIL": Action.MASK})


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        (f"write to {MAIL} now", "write to [EMAIL] now"),
        (f"{MAIL}(private)", "[EMAIL] (private)"),  # no link
        (f"see https://bank.test/?m={MAIL} now", "see [URL] now"),
        (f"see <https://bank.test/?m={MAIL}&a=b> now", "see <[URL]> now"),
    ],
)
def test_a_mask_never_comes_back(content: str, sent: str) -> None:
    outgoing = leave(say(content), _MASKED)
    assert sent_by(outgoing)["messages"][0]["content"] == sent
    assert not outgoing.issued


def test_masks_and_tokens_stand_side_by_side() -> None:
    outgoing = leave(say(f"from {IBAN} of {MAIL}(x) to {CARD}, {MAIL}"), _MASKED)
    content = sent_by(outgoing)["messages"][0]["content"]
    assert content.count("[EMAIL]") == 2
    assert sorted(outgoing.issued.values()) == sorted([IBAN, CARD])
    answer = {"choices": [{"message": {"role": "assistant", "content": content}}]}
    back = CHAT.whole(answer, Restoration(outgoing.issued, "m", RestoreCounts()))["choices"][0]["message"]["content"]
    assert back == f"from {IBAN} of [EMAIL] (x) to {CARD}, [EMAIL]"


def with_arguments(arguments: str) -> dict[str, Any]:
    call = {"id": "1", "type": "function", "function": {"name": "pay", "arguments": arguments}}
    return {"model": "m", "messages": [{"role": "assistant", "tool_calls": [call]}]}


def arguments_in(body: dict[str, Any]) -> Any:
    return orjson.loads(body["messages"][0]["tool_calls"][0]["function"]["arguments"])


def test_masked_keys_of_one_object_remain_different() -> None:
    outgoing = leave(with_arguments('{"[EMAIL]":0,"a@example.com":1,"b@example.com":{"x":2}}'), _MASKED)
    assert arguments_in(sent_by(outgoing)) == {"[EMAIL]": 0, "[EMAIL] 2": 1, "[EMAIL] 3": {"x": 2}}
    assert not outgoing.issued


def test_a_token_that_is_a_key_already_is_not_written_twice() -> None:
    (token,) = arguments_in(sent_by(leave(with_arguments(f'{{"{MAIL}":1}}'))))
    document = {token: 1, MAIL: 2}
    outgoing = leave(with_arguments(orjson.dumps(document).decode()))
    sent = arguments_in(sent_by(outgoing))
    assert list(sent.values()) == [1, 2]
    _, other = sent
    assert outgoing.issued[other] == MAIL


@pytest.mark.parametrize("policy", [None, _MASKED])
def test_keys_of_the_body_are_as_before(policy: PolicySettings | None) -> None:
    inner = orjson.dumps({MAIL: {"to": MAIL}, "last": "a\nb"}).decode()
    body = with_arguments(orjson.dumps({"first": 1, MAIL: {"deep": [{MAIL: inner}]}, "last": {IBAN: 2}}).decode())
    before = orjson.dumps(body)
    outgoing = leave(body, policy) if policy else leave(body)
    assert MAIL.encode() not in outgoing.data
    assert IBAN.encode() not in outgoing.data
    assert orjson.dumps(body) == before
    assert list(arguments_in(sent_by(outgoing)))[::2] == ["first", "last"]


def test_a_single_rule_has_its_own_row() -> None:
    rule = next(finding.rule for finding in DETECTOR.find(f"to {IBAN}"))
    policy = PolicySettings(rules=[PolicyRule(entity_types=[f"IBAN/{rule}"], action=Action.MASK)])
    assert sent_by(leave(say(f"to {IBAN} and {MAIL}"), policy))["messages"][0]["content"].startswith("to [IBAN] and EM")


def test_a_secret_behind_its_word_can_be_masked() -> None:
    """The second scan sees a word for a secret and something behind it."""
    outgoing = leave(say("password: hunter2hunter please"), PolicySettings(entity_types={"SECRET": Action.MASK}))
    assert b"hunter2" not in outgoing.data
    assert b"[SECRET]" in outgoing.data


@examples(200)
@given(_TEXTS, st.sets(st.sampled_from(["IBAN", "EMAIL", "CARD", "PHONE", "IP"])))
def test_nothing_masked_leaves_or_is_issued(content: str, masked: set[str]) -> None:
    policy = PolicySettings(entity_types=dict.fromkeys(masked, Action.MASK))
    findings = DETECTOR.find(content)
    values = {content[f.start : f.end] for f in findings if f.entity_type in masked and f.end - f.start >= 5}
    try:
        outgoing = leave(say(content), policy)
    except IdentifierLeak:
        return
    for value in values:
        assert orjson.dumps(value)[1:-1] not in outgoing.data
        assert value not in outgoing.issued.values()


@pytest.mark.parametrize(
    ("body", "obstacle"),
    [
        (say("hi", extra={MAIL: 1}), Obstacle.KEY),
        (say("hi", extra=int(CARD)), Obstacle.NUMBER),
        (say([{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "a"}}]), Obstacle.IMAGE),
        (say([{"type": "input_audio", "input_audio": {"data": "x"}}]), Obstacle.AUDIO),
        (say([{"type": "file", "file": {"file_id": "x"}}]), Obstacle.FILE),
        (say([{"text": "no type"}]), Obstacle.UNKNOWN_PART),
        (say([{"type": ["x"]}]), Obstacle.UNKNOWN_PART),
        (say("see data:text/plain;base64,YW5uYQ=="), Obstacle.DATA_URI),
        (say("see " + "Ab1+" * 60), Obstacle.ENCODED),
    ],
)
def test_what_cannot_be_inspected_or_rewritten_is_an_obstacle(body: dict[str, Any], obstacle: Obstacle) -> None:
    assert obstacle in inspect(body)[0].obstacles


def test_names_by_their_field() -> None:
    call = {"function": {"name": "Search", "arguments": '{"customer_name": "Kari Nordmann", "city": "Oslo"}'}}
    body = {
        "messages": [
            {"role": "user", "name": "kari", "content": "hi"},
            {"role": "tool", "name": "search"},
            {"role": "assistant", "tool_calls": [call]},
        ]
    }
    found, _ = inspect(body)
    assert found.counts[EntityType.PERSON] == 2
    outgoing = leave({"model": "m", **body})
    assert sent_by(outgoing)["messages"][0]["name"].startswith("PERSON_")
    assert sent_by(outgoing)["messages"][1]["name"] == "search"
    sent = json.loads(sent_by(outgoing)["messages"][2]["tool_calls"][0]["function"]["arguments"])
    assert sent["customer_name"].startswith("PERSON_")
    assert sent["city"] == "Oslo"


def test_nesting_has_a_limit_even_inside_strings() -> None:
    inner: Any = "x"
    for _ in range(10):
        inner = json.dumps({"arguments": inner})
    with pytest.raises(TooDeep):
        Inspector(CachedFinder(DETECTOR), CHAT, max_depth=8).inspect({"arguments": inner})
    Inspector(CachedFinder(DETECTOR), CHAT, max_depth=16).inspect({"arguments": inner})


def test_a_body_is_as_it_was_when_its_tokens_have_left() -> None:
    arguments = json.dumps({"to": MAIL, "inner": json.dumps({"arguments": {"iban": IBAN}})})
    body = say(MAIL, extra=[{"arguments": arguments}, 12345678901])
    before = orjson.dumps(body)
    outgoing = leave(body)
    assert MAIL.encode() not in outgoing.data
    assert IBAN.encode() not in outgoing.data
    assert orjson.dumps(body) == before


def test_conversations_are_told_apart_by_how_they_began() -> None:
    secret = HmacKey(bytes(32))

    def key(body: dict[str, Any], header: str | None = None, tenant: str = "t", client: str = "c") -> str:
        return conversation_of(CHAT.beginning(body), header=header, tenant=tenant, client=client, secret=secret).key

    first = say("hello")
    later = {"messages": [*first["messages"], {"role": "assistant", "content": "x"}, {"role": "user", "content": "y"}]}
    assert key(first) == key(later)
    others = [
        key(say("other")),
        key(first, tenant="u"),
        key(first, client="d"),
        key({**first, "user": "u"}),
        key(first, "h"),
    ]
    assert len({key(first), *others}) == len(others) + 1
    assert key(first, "h") == key(say("other"), "h")
    for header in ("", "a b", "x" * 129, "é", "a\nb"):
        with pytest.raises(ValueError):
            key(first, header)


@pytest.mark.parametrize(
    "frame", ["the token {}.", "Dear {}, hello", "name: {}", "customer {} here", "({})", "Basic {}!", "{}{}", "я 中 {}"]
)
def test_our_own_tokens_never_look_like_identifiers(frame: str) -> None:
    outgoing = leave(say(frame.format(MAIL, " 030 901820")), PolicySettings(entity_types={"PERSON": Action.TOKENIZE}))
    assert "EMAIL_" in sent_by(outgoing)["messages"][0]["content"]
