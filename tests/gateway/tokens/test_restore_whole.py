"""A whole text is restored to what it would be in pieces, whatever it holds and however little may be put back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.domain.entities import EntityType, Mark
from sovctl.gateway.surfaces import Restoration
from sovctl.gateway.tokens.restore import Issued, RestoreBounds, RestoreCounts, Restorer
from sovctl.gateway.tokens.token import TokenIssuer

_MINT = TokenIssuer(bytes(32), tenant="t", conversation="c")
_OTHER = TokenIssuer(bytes(32), tenant="t", conversation="d").token(EntityType.EMAIL, "x@example.com", "x@example.com")
_VALUES: dict[EntityType | Mark, str] = {
    EntityType.EMAIL: 'an "odd"\n@example.com',
    EntityType.IBAN: "DE89 3704 0044 0532 0130 00",
    EntityType.NATIONAL_ID: "a\\b",
    Mark.URL: "https://example.com/?q=1",
}
_ISSUED = {_MINT.token(label, value, value): value for label, value in _VALUES.items()}
_ISSUED[_MINT.token(EntityType.PERSON, "nested", "nested")] = f"name {next(iter(_ISSUED))}"
_TOKENS = [*_ISSUED, *_ISSUED, _OTHER]
_PIECES = st.one_of(
    st.sampled_from(_TOKENS),
    st.sampled_from(_TOKENS),
    st.sampled_from(
        [_TOKENS[0].lower(), _TOKENS[0].replace("_", "\\_"), _TOKENS[0][:9], _TOKENS[0][5:], _TOKENS[0] + "X"]
    ),
    st.sampled_from(
        ["_", "x", "NATIONAL_", "\0", " ", "\n", "&", "\\", '"', "https://a.example/", "](", "www.", "a_b", "İ"]
    ),
    st.sampled_from(["_0123456789ABCDEF", "_some_long_name_of_a_variable_in_code"]),
    st.text(max_size=6),
)


@examples(800)
@given(st.lists(_PIECES, max_size=12).map("".join), st.booleans(), st.integers(0, 4), st.sampled_from([40, 1 << 20]))
def test_a_whole_text_is_what_its_pieces_are(text: str, is_json: bool, most: int, most_characters: int) -> None:
    bounds = RestoreBounds(max_restores=most, max_characters=most_characters)
    quick, slow = RestoreCounts(), RestoreCounts()
    whole = Restoration(Issued(_ISSUED, bounds), "m", quick).text(text, is_json=is_json)
    restorer = Restorer(Issued(_ISSUED, bounds), is_json=is_json, counts=slow)
    assert whole == restorer.feed(text) + restorer.flush()
    assert quick == slow


def test_plain_prose_with_its_tokens_needs_no_closer_look() -> None:
    email, iban = list(_ISSUED)[:2]
    counts = RestoreCounts()
    text = f"Sent to {email} and **{iban}**, at 12:30; see list[0] and/or {email}."
    plain = Issued(_ISSUED).in_plain(text, counts, is_json=False)
    assert plain == text.replace(email, _ISSUED[email]).replace(iban, _ISSUED[iban])
    assert counts.restored == 3


def test_links_in_a_text_without_tokens_need_no_closer_look() -> None:
    counts = RestoreCounts()
    text = "See https://a.example/b?c=IBAN, www.b.example and [a](/b)."
    assert Issued(_ISSUED).in_plain(text, counts, is_json=False) == text
    assert counts == RestoreCounts()


def test_where_a_link_or_an_escape_may_be_a_closer_look_is_needed() -> None:
    email, url = next(iter(_ISSUED)), list(_ISSUED)[3]
    for text in (f"https://a.example/?q={email}", f"[x](a) {email}", f"{email} &amp;", f"\\n{email}", f"{url}/{email}"):
        assert Issued(_ISSUED).in_plain(text, RestoreCounts(), is_json=False) is None
