"""Stand-ins in the form of what they stand for: right in form, nobody's, restored only when they stand whole."""

from __future__ import annotations

import json
import re
from typing import Any

import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.body.json_texts import json_texts_of
from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.tokenization.text import replace
from sovctl.gateway.tokens.restore import Issued, RestoreBounds, Restorer
from sovctl.gateway.tokens.surrogates import ENTITY_TYPES, Surrogates, demanded, is_fixed, surrogate_of
from sovctl.gateway.tokens.token import TokenIssuer

VALUES = {
    EntityType.EMAIL: "anna@example.com",
    EntityType.IBAN: "DE89370400440532013000",
    EntityType.PHONE: "+49 30 901820",
    EntityType.CARD: "4111 1111 1111 1111",
}
BOUNDS = RestoreBounds(surrogates=frozenset(kind.value for kind in ENTITY_TYPES))


def issuer(conversation: str = "c") -> TokenIssuer:
    return TokenIssuer(bytes(32), tenant="t", conversation=conversation, surrogates=ENTITY_TYPES)


def stand_in(kind: EntityType, number: int = 0) -> str:
    written = surrogate_of(issuer(str(number)).token(kind, VALUES[kind], VALUES[kind]))
    assert written is not None
    return written


@pytest.mark.parametrize("number", range(50))
def test_a_stand_in_has_the_form_and_is_nobodys(number: int) -> None:
    assert re.fullmatch(r"[a-z0-9]{16}@tokens\.invalid", stand_in(EntityType.EMAIL, number))
    iban = stand_in(EntityType.IBAN, number)
    assert re.fullmatch(r"XT[0-9]{2}[0-9A-Z]{16}", iban)
    assert int("".join(str(int(c, 36)) for c in iban[4:] + iban[:4])) % 97 == 1
    phone = stand_in(EntityType.PHONE, number)
    assert re.fullmatch(r"\+999[0-9]{11}", phone)
    with pytest.raises(phonenumbers.NumberParseException):
        phonenumbers.parse(phone)  # no country has it
    card = [int(digit) for digit in stand_in(EntityType.CARD, number)]
    assert len(card) == 16
    doubled = [d * 2 - 9 * (d > 4) if place % 2 == 0 else d for place, d in enumerate(card)]
    assert sum(doubled) % 10 == 0
    assert surrogate_of("PERSON_7K2M0C3R9T5V1WXY") is None


_PLAIN = st.text(st.sampled_from(" abcXT9+@.:,(-_\n"), max_size=10)


@examples(400)
@given(st.lists(st.tuples(_PLAIN, st.sampled_from(sorted(ENTITY_TYPES))), max_size=5), _PLAIN, st.data())
def test_any_text_comes_back_whatever_stands_around(
    parts: list[tuple[str, EntityType]], end: str, data: st.DataObject
) -> None:
    text, findings = "", []
    for before, kind in parts:
        text += before
        findings.append(Finding(len(text), len(text) + len(VALUES[kind]), kind, 1.0, VALUES[kind], "TEST"))
        text += VALUES[kind]
    text += end
    written, issued, places = replace(text, findings, issuer())
    assert {written[a:b] for a, b in places} <= {*issued, *map(surrogate_of, issued)}
    restorer = Restorer(Issued(issued, BOUNDS))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=8)))
    pieces = [written[a:b] for a, b in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    assert "".join(map(restorer.feed, pieces)) + restorer.flush() == text


@pytest.mark.parametrize("kind", sorted(ENTITY_TYPES))
def test_only_a_whole_one_that_was_issued_is_restored(kind: EntityType) -> None:
    issued = Issued({issuer().token(kind, VALUES[kind], VALUES[kind]): VALUES[kind]}, BOUNDS)
    written, foreign = stand_in_of(kind), stand_in(kind, 1)
    for text in (f"x{written}", f"{written}0", f"{written}-a", foreign, written[:-1], " ".join(written)):
        restorer = Restorer(issued)
        assert restorer.feed(text) + restorer.flush() == text
    for text in (written, written.upper(), f"<{written}>", f"to {written}.", f'"{written}"'):
        restorer = Restorer(issued)
        assert VALUES[kind] in restorer.feed(text) + restorer.flush()


def stand_in_of(kind: EntityType) -> str:
    written = surrogate_of(issuer().token(kind, VALUES[kind], VALUES[kind]))
    assert written is not None
    return written


def test_two_tokens_that_share_a_stand_in_have_none() -> None:
    token = issuer().token(EntityType.PHONE, VALUES[EntityType.PHONE], VALUES[EntityType.PHONE])
    written = stand_in_of(EntityType.PHONE)
    assert Surrogates([token]).first(written, 0, is_end=True) is not None
    # Two different ones meet once in 10**11; a token that is there twice is the same to this.
    assert Surrogates([token, token]).first(written, 0, is_end=True) is None


def test_values_are_escaped_in_json_and_links_stay_closed() -> None:
    value = 'an "odd"@example.com'
    token = issuer().token(EntityType.EMAIL, value, value)
    issued = Issued({token: value}, BOUNDS)
    written = surrogate_of(token)
    restorer = Restorer(issued, is_json=True)
    assert json.loads(restorer.feed(f'{{"to": "{written}"}}') + restorer.flush()) == {"to": value}
    link = f"https://evil.example/?q={written}"
    restorer = Restorer(issued)
    assert restorer.feed(link) + restorer.flush() == link


def schema(**properties: Any) -> dict[str, Any]:
    return {"tools": [{"function": {"parameters": {"type": "object", "properties": properties}}}]}


@pytest.mark.parametrize(
    ("properties", "kinds"),
    [
        ({"to": {"type": "string", "format": "email"}}, {EntityType.EMAIL}),
        ({"iban": {"type": "string", "pattern": "^[A-Z]{2}"}}, {EntityType.IBAN}),
        ({"phone_number": {"pattern": "x"}, "cardNumber": {"pattern": "y"}}, {EntityType.PHONE, EntityType.CARD}),
        ({"when": {"format": "date"}, "iban": {"type": "string"}, "code": {"pattern": "x"}}, set()),
    ],
)
def test_a_schema_says_which_forms_it_wants(properties: Any, kinds: set[EntityType]) -> None:
    assert demanded(json_texts_of(schema(**properties), max_depth=16).texts) == kinds


def test_what_a_schema_fixes_is_told_from_data() -> None:
    body = schema(a={"pattern": "x", "enum": ["y"]})
    body["messages"] = [{"content": '{"pattern": "z\\u0040"}', "pattern": "w"}]
    fixed = {leaf.text for leaf in json_texts_of(body, max_depth=16).texts if is_fixed(leaf.path)}
    assert fixed == {"x"}
