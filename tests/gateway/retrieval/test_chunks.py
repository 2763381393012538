"""Chunks are exact ranges of the extracted text, within their limits, and lose no word."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from sovctl.gateway.detect.language.language import languages
from sovctl.gateway.retrieval.chunks import MAX_TOKENS, MIN_TOKENS, cut, estimated_tokens, extracted_text
from sovctl.gateway.retrieval.ingest.parsers.extracted import Block

SENTENCE = "The branch confirms the transfer on the next working day. "
WORDS = st.text(st.sampled_from("aäß.!? \n漢字"), min_size=1, max_size=400).filter(
    lambda text: text.strip() == text != ""
)
BLOCKS = st.lists(
    st.builds(Block, WORDS, st.sampled_from([None, 1, 2]), st.sampled_from([0, 0, 1])), min_size=1, max_size=12
)


def english(_: str) -> frozenset[str]:
    return frozenset({"en"})


def test_a_short_document_is_one_chunk() -> None:
    (chunk,) = cut([Block("Cards", None, 1), Block(SENTENCE.strip())], languages)
    assert (chunk.start, chunk.text, chunk.language) == (0, f"Cards\n\n{SENTENCE.strip()}", "en")


def test_long_text_has_chunks_of_300_to_800_tokens_with_overlap() -> None:
    chunks = cut([Block(f"{SENTENCE * 4}Nr {n}.") for n in range(100)], english)
    sizes = [estimated_tokens(chunk.text) for chunk in chunks]
    assert len(chunks) > 5
    assert all(MIN_TOKENS <= size <= MAX_TOKENS for size in sizes[:-1]), sizes
    assert all(second.start < first.end for first, second in pairwise(chunks))


def test_a_heading_and_a_page_begin_a_chunk() -> None:
    long = SENTENCE * 25
    chunks = cut([Block(long.strip(), 1), Block("Fees", 1, 1), Block("free", 1), Block("next page", 2)], english)
    assert [(chunk.page, chunk.text[:4]) for chunk in chunks] == [(1, "The "), (1, "Fees"), (2, "next")]


def test_a_repeated_chunk_is_stored_once() -> None:
    assert len(cut([Block("same footer", page) for page in range(1, 6)], english)) == 1


def test_the_language_is_of_the_chunk() -> None:
    german = "Bitte bestätigen Sie die Überweisung bis zum Ende des Monats."
    found = [chunk.language for chunk in cut([Block(SENTENCE, 1), Block(german, 2), Block("4711 0815", 3)], languages)]
    assert found == ["en", "de", "zxx"]


@settings(max_examples=150, deadline=None)
@given(BLOCKS)
def test_chunks_are_ranges_and_lose_no_character(blocks: list[Block]) -> None:
    text = extracted_text(blocks)
    chunks = cut(blocks, english, target_tokens=20)
    covered: set[int] = set()
    for number, chunk in enumerate(chunks):
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.ordinal == number
        assert estimated_tokens(chunk.text) <= 20 * MAX_TOKENS // 500
        covered |= set(range(chunk.start, chunk.end))
    texts = {chunk.text for chunk in chunks}
    assert len(texts) == len(chunks)
    missing = "".join(text[position] for position in range(len(text)) if position not in covered)
    seen = "".join(texts)
    assert all(character.isspace() or character in seen for character in missing)
    again = cut(blocks, english, target_tokens=20)
    assert again == chunks
