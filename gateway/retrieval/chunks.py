"""Cuts the text of a document into chunks by its structure. Pure.

- The extracted text is its blocks, joined by an empty line. Offsets count Unicode code points of it.
- A chunk is exactly `text[start:end]`. Consecutive chunks of one section overlap as offsets: the later one begins
  earlier. A reader that joins them by offsets repeats nothing.
- A chunk is on one page, and a heading begins a chunk if the chunk before has `MIN_TOKENS`.
- A chunk has at most `MAX_TOKENS`. Only the last chunk of a page or section may have fewer than `MIN_TOKENS`.
- `language` is an ISO 639-1 code, `und` (undetermined), `mul` (several languages) or `zxx` (no words).
- Chunks with the same text as an earlier chunk of the document are omitted (SHA-256 of the text).

The number of tokens is an estimate: bytes of UTF-8 divided by 4. Chunks that the embedding model counts as longer than
its context are refused by the service, and `--chunk-tokens` makes them smaller.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .ingest.parsers.extracted import Block
from .values import Chunk

MIN_TOKENS, TARGET_TOKENS, MAX_TOKENS = 300, 500, 800  # chosen 2026-11-29, in the range of 300 to 800
OVERLAP_TOKENS = 50  # chosen 2026-11-29: about two sentences
SEPARATOR = "\n\n"
_BYTES_PER_TOKEN = 4  # English 4 to 5, German about 4, Chinese 3 to 6; estimate, 2026-11-29
_SENTENCE_END = re.compile(r"(?<=[.!?…])[ \t\n]+|(?<=[。！？])|\n+")
_SPACE = re.compile(r"\s+")
UNDETERMINED, SEVERAL = "und", "mul"  # ISO 639-2


@dataclass(frozen=True, slots=True)
class _Unit:
    """Block, or a part of a long one, with its location in the extracted text."""

    start: int
    end: int
    page: int | None
    level: int


def extracted_text(blocks: Sequence[Block]) -> str:
    """Return the text to which offsets of chunks refer."""
    return SEPARATOR.join(block.text for block in blocks)


def estimated_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text, at least 1."""
    return max(1, -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN))


def cut(
    blocks: Sequence[Block], languages: Callable[[str], frozenset[str]], *, target_tokens: int = TARGET_TOKENS
) -> list[Chunk]:
    """Return the chunks of a document in reading order.

    Args:
        languages: returns the languages of a text (`gateway.detect.language.language.languages`).
        target_tokens: size at which a chunk ends; the limits change in the same proportion.
    """
    text = extracted_text(blocks)
    chunks: list[Chunk] = []
    seen: set[bytes] = set()
    for start, end, page in _ranges(text, list(_units(text, blocks, target_tokens)), target_tokens):
        content = text[start:end]
        digest = hashlib.sha256(content.encode()).digest()
        if digest not in seen:
            seen.add(digest)
            chunks.append(Chunk(len(chunks), page, start, end, content, _language(languages(content))))
    return chunks


def _language(found: frozenset[str]) -> str:
    known = found - {UNDETERMINED}
    if len(known) == 1:
        return next(iter(known))
    return SEVERAL if known else UNDETERMINED


def _units(text: str, blocks: Sequence[Block], target_tokens: int) -> Iterator[_Unit]:
    start = 0
    for block in blocks:
        end = start + len(block.text)
        for part_start, part_end in _parts(text, start, end, target_tokens):
            yield _Unit(part_start, part_end, block.page, block.level if part_start == start else 0)
        start = end + len(SEPARATOR)


def _parts(text: str, start: int, end: int, target_tokens: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of at most `target_tokens`: the whole block, its sentences, or its words."""
    if estimated_tokens(text[start:end]) <= target_tokens:
        yield start, end
        return
    for first, last in _between(text, start, end, _SENTENCE_END):
        if estimated_tokens(text[first:last]) <= target_tokens:
            yield first, last
            continue
        for word_start, word_end in _between(text, first, last, _SPACE):
            for position in range(word_start, word_end, target_tokens):  # a code point has at least one byte
                yield position, min(position + target_tokens, word_end)


def _between(text: str, start: int, end: int, boundary: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield the non-empty ranges between matches of `boundary`."""
    for found in boundary.finditer(text, start, end):
        if found.start() > start:
            yield start, found.start()
        start = max(start, found.end())
    if start < end:
        yield start, end


def _ranges(text: str, units: Sequence[_Unit], target_tokens: int) -> Iterator[tuple[int, int, int | None]]:
    """Yield start, end and page of each chunk."""
    min_tokens = target_tokens * MIN_TOKENS // TARGET_TOKENS
    max_tokens = target_tokens * MAX_TOKENS // TARGET_TOKENS
    overlap = target_tokens * OVERLAP_TOKENS // TARGET_TOKENS
    first: _Unit | None = None
    end = 0
    size = 0
    for unit in units:
        added = estimated_tokens(text[end : unit.end]) if first else 0
        ends = first is not None and (
            unit.page != first.page
            or (unit.level > 0 and size >= min_tokens)
            or size + added > (max_tokens if size < min_tokens else target_tokens) - overlap
        )
        if first and ends:
            yield first.start, end, first.page
            begin = unit.start
            if unit.page == first.page and not unit.level:
                begin = _overlap_start(text, first.start, unit.start, overlap)
            first = _Unit(begin, unit.end, unit.page, unit.level)
            size = estimated_tokens(text[begin : unit.end])
        elif first:
            size += added
        else:
            first, size = unit, estimated_tokens(text[unit.start : unit.end])
        end = unit.end
    if first:
        yield first.start, end, first.page


def _overlap_start(text: str, earliest: int, start: int, overlap_tokens: int) -> int:
    """Return the first sentence or word boundary in the last `overlap_tokens` before `start`."""
    lowest = max(earliest, start - overlap_tokens * _BYTES_PER_TOKEN)
    while lowest < start and estimated_tokens(text[lowest:start]) > overlap_tokens:
        lowest += 1
    for boundary in (_SENTENCE_END, _SPACE):
        found = boundary.search(text, lowest, start)
        if found and found.end() < start:
            return found.end()
    return start
