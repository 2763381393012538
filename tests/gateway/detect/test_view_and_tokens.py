"""A view knows where our own tokens stand: nobody reads a name into their letters, and a name beside one is kept."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.detect.text.view import NormalizedText

_TOKENS = ["PERSON_7K2M4P9QRS3TV00X", "EMAIL_0123456789ABCDEF", "IBAN_GHJKMNPQRSTVWXY0"]
PIECES = st.lists(st.sampled_from([*_TOKENS, " ", "'s ", " Nordmann ", ", ", "-", "Anna", "(", "12"]), max_size=12)


@given(PIECES)
def test_tokens_are_read_as_small_letters(pieces: Sequence[str]) -> None:
    view = NormalizedText("".join(pieces))
    plain = view.text
    for start, end in view.tokens:
        plain = plain[:start] + "x" * (end - start) + plain[end:]
    assert view.words.text == plain


@given(PIECES, st.integers(0, 200), st.integers(1, 200))
def test_what_stands_beside_tokens_is_everything_but_their_letters(
    pieces: Sequence[str], start: int, length: int
) -> None:
    view = NormalizedText("".join(pieces))
    end = min(start + length, len(view.text))
    found = list(view.words_outside_tokens(start, end)) if start < end else []
    inside = {at for first, last in view.tokens for at in range(first, last)}
    assert all(start <= first < last <= end for first, last in found)
    assert all(inside.isdisjoint(range(first, last)) for first, last in found)
    if not view.tokens:
        assert bool(found) == any(each.isalnum() for each in view.text[start:end])


def test_the_name_beside_a_token_is_found_wherever_it_stands() -> None:
    text = " ".join(f"{token}'s Nordmann" for token in _TOKENS * 4)
    view = NormalizedText(text)
    assert [text[first:last] for first, last in view.words_outside_tokens(0, len(text))] == ["Nordmann"] * 12
    last = text.rindex("IBAN_")
    assert [text[a:b] for a, b in view.words_outside_tokens(last, len(text))] == ["Nordmann"]
    assert list(view.words_outside_tokens(last, last + 10)) == []
