"""A quote is found only where the chunk contains it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.domain.citations import find_quote

CHUNK = (
    "A customer must object within five\nworking days. "
    "The „Entgelt“ is 3.50 \u2013 see the of\ufb01ce list, Cafe\u0301 Süd."
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("within five working days", "within five\nworking days"),
        ('The "Entgelt" is 3.50 - see', "The „Entgelt“ is 3.50 \u2013 see"),
        ("the office list", "the of\ufb01ce list"),
        ("Café Süd.", "Cafe\u0301 Süd."),
        ("with\u00adin five work\u200bing", "within five\nworking"),
    ],
)
def test_finds_a_quote_with_its_location(quote: str, found: str) -> None:
    location = find_quote(quote, CHUNK)
    assert location is not None
    assert CHUNK[slice(*location)] == found


@pytest.mark.parametrize(
    "quote",
    [
        "within six working days",
        "Within five working days",  # case
        "A customer must ... within five",
        "customer must not object",
        "five",  # too short
        "",
        "x" * 3000,
    ],
)
def test_rejects_other_text(quote: str) -> None:
    assert find_quote(quote, CHUNK) is None


@given(st.text(min_size=20, max_size=200), st.data())
def test_a_copied_passage_of_whole_words_is_found(text: str, data: st.DataObject) -> None:
    quote = f"{text} Verfügungsrahmen 2500"
    before = data.draw(st.text(max_size=50))
    location = find_quote(quote, f"{before}\n{quote}\nend")
    if len(quote) < 2000:
        assert location is not None


@given(st.text(max_size=100), st.text(alphabet="abc", min_size=8, max_size=20))
def test_a_passage_that_is_not_there_is_not_found(text: str, quote: str) -> None:
    import unicodedata

    if quote not in unicodedata.normalize("NFKC", text):
        assert find_quote(f"{quote}§", text.replace("§", "")) is None
