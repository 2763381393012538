"""A token of another tenant, conversation or key version is text: in any case, in any pieces, in any channel."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from identifier_strategies import SPECIMENS, literals

from examples import examples
from sovctl.gateway.domain.entities import EntityType, Mark
from sovctl.gateway.tokens.restore import RestoreCounts, Restorer
from sovctl.gateway.tokens.token import TokenIssuer

_NAMES = st.text(min_size=1, max_size=12)
_BOUND = st.tuples(_NAMES, _NAMES, st.integers(1, 5))
_CASES = st.sampled_from([str, str.lower, str.title, str.swapcase, lambda token: token.replace("_", "\\_")])
_ITEMS = st.lists(st.tuples(st.sampled_from(list(EntityType)), st.sampled_from(SPECIMENS)), min_size=1, max_size=5)


def mint_for(bound: tuple[str, str, int]) -> TokenIssuer:
    tenant, conversation, key_version = bound
    return TokenIssuer(bytes(range(32)), tenant=tenant, conversation=conversation, key_version=key_version)


@examples(400)
@given(st.data(), _BOUND, _BOUND, _ITEMS, st.booleans())
def test_foreign_tokens_never_restore(
    data: st.DataObject, ours: tuple[str, str, int], theirs: tuple[str, str, int], items: Any, is_json: bool
) -> None:
    assume(ours != theirs)
    own, foreign = mint_for(ours), mint_for(theirs)
    for kind, value in items:
        own.token(kind, value, value)
    answer = " ".join(data.draw(_CASES)(foreign.token(kind, value, value)) for kind, value in items)
    counts = RestoreCounts()
    restorer = Restorer(own.issued, is_json=is_json, counts=counts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(answer)), max_size=6)))
    parts = [answer[a:b] for a, b in zip([0, *cuts], [*cuts, len(answer)], strict=True)]
    assert "".join(map(restorer.feed, parts)) + restorer.flush() == answer
    assert (counts.restored, counts.unknown) == (0, len(items))


@examples(200)
@given(_NAMES, _NAMES, _NAMES)
def test_where_a_name_ends_makes_a_difference(tenant: str, conversation: str, more: str) -> None:
    moved = mint_for((tenant + more, conversation, 1)).token(EntityType.IP, "192.0.2.17", "192.0.2.17")
    assert moved != mint_for((tenant, more + conversation, 1)).token(EntityType.IP, "192.0.2.17", "192.0.2.17")


@examples(300)
@given(st.lists(literals, max_size=6), _ITEMS)
def test_guessed_tokens_never_restore(guesses: list[str], items: Any) -> None:
    own = mint_for(("t", "c", 1))
    for kind, value in items:
        own.token(kind, value, value)
    answer = " ".join(guesses)
    restorer = Restorer(own.issued)
    assert restorer.feed(answer) + restorer.flush() == answer


def test_tokens_are_those_that_vaults_hold_already() -> None:
    issuer = TokenIssuer(bytes(range(32)), tenant="retail", conversation="c1", generation=2)
    iban, grouped = "DE89370400440532013000", "DE89 3704 0044 0532 0130 00"
    assert issuer.token(EntityType.IBAN, iban, iban) == "IBAN_3D3GGF6FSMR2600S"
    assert issuer.token(EntityType.IBAN, iban, grouped) == "IBAN_3D3GGF6FSMR26NNS"
    assert issuer.token(Mark.TEXT, "ä", "ä") == "TEXT_KMMRB621HJSGP003"
