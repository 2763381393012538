"""Puts tokens in the place of identifiers. The other direction is `restore`.

tokenized, issued, places = replace(text, findings, mint)
restore(tokenized, issued) == text        # for any text: tests/gateway/test_restore.py
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import NamedTuple

from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.kinds import Kind, Mark
from sovctl.gateway.links import LinkContext, link_regions
from sovctl.gateway.surrogates import may_stand, surrogate_of
from sovctl.gateway.token_search import find_literals
from sovctl.gateway.tokens import Mint


class _Span(NamedTuple):
    start: int
    end: int
    label: Kind | Mark
    value: str
    is_masked: bool = False


class Replaced(NamedTuple):
    """What may leave instead of a text."""

    text: str
    issued: dict[str, str]
    """What each of its tokens stands for."""
    places: list[tuple[int, int]]
    """Where its tokens, masks and stand-ins are, in order."""


def mask_of(label: Kind | Mark) -> str:
    """What stands for a value that never comes back."""
    return f"[{label.value}]"


def replace(
    text: str, findings: Sequence[Finding], mint: Mint, *, masked: Collection[Finding] = (), escapes: int = 0
) -> Replaced:
    """`text` with a token in the place of every finding.

    Text that looks like a token already becomes a `TEXT` token, so that nobody gets a value by writing its token; an
    identifier inside a link turns the whole link into one `URL` token (see `links`). What is masked takes what it
    touches with it: a link with a masked identifier in it becomes a mask as a whole.

    Args:
        findings: those that policy tokenizes or masks; sorted, none overlapping.
        masked: those of them that become masks.
        escapes: how many JSON strings deep `text` stands in what an answer would repeat; its values are kept as they
            are written there, and so they come back.
    """
    regions = link_regions(text)
    spans = _spans(text, findings, regions, masked)
    if not spans:
        return Replaced(text, {}, [])
    # Without a link in it, nothing can stand inside one.
    context = LinkContext() if regions or "\\" in text else None
    replaced = _emit(text, spans, findings, mint, context, escapes)
    if replaced is None:
        # A link began or ended where only the replaced text differs from the original; rare, and no reason to guess.
        replaced = _emit(text, [_Span(0, len(text), Mark.URL, text, bool(masked))], findings, mint, None, escapes)
    assert replaced is not None
    return replaced


def _spans(
    text: str, findings: Sequence[Finding], regions: Sequence[tuple[int, int]], masked: Collection[Finding]
) -> list[_Span]:
    spans = [_Span(f.start, f.end, f.kind, f.value, f in masked) for f in findings]
    if "_" in text:
        spans += [_Span(f.start, f.end, Mark.TEXT, text[f.start : f.end]) for f in find_literals(text)]
    if not spans:
        return []
    spans.sort(key=lambda span: (span.start, -span.end))
    if not regions and len(spans) == len(findings):
        return spans
    widened: list[_Span] = []
    for span in spans:
        start, end, is_link = span.start, span.end, False
        # The first region that ends behind the span's start, and those after it that begin before its end.
        for first, last in regions[bisect_right(regions, span.start, key=_end_of) :]:
            if first >= span.end:
                break
            start, end, is_link = min(start, first), max(end, last), True
        if widened and start < widened[-1].end:  # overlaps what went before: one span for both
            previous = widened.pop()
            start, end = min(start, previous.start), max(end, previous.end)
            mark = Mark.URL if is_link or previous.label is Mark.URL else Mark.TEXT
            widened.append(_Span(start, end, mark, text[start:end], span.is_masked or previous.is_masked))
        else:
            widened.append(_Span(start, end, Mark.URL, text[start:end], span.is_masked) if is_link else span)
    return widened


def _identifiers(text: str, span: _Span, findings: Sequence[Finding]) -> list[str]:
    """What was found in a span that became one token as a whole, as it was written and normalised."""
    inside = [each for each in findings if each.start < span.end and span.start < each.end]
    return [value for each in inside for value in (each.value, text[each.start : each.end])]


def _end_of(region: tuple[int, int]) -> int:
    return region[1]


def _emit(
    text: str,
    spans: Sequence[_Span],
    findings: Sequence[Finding],
    mint: Mint,
    context: LinkContext | None,
    escapes: int,
) -> Replaced | None:
    """The text with tokens; None when one of them could not be restored where it stands."""
    pieces: list[str] = []
    issued: dict[str, str] = {}
    places: list[tuple[int, int]] = []
    position = moved = 0  # `moved`: how much farther behind a place stands in the new text
    for number, span in enumerate(spans):
        before = text[position : span.start]
        if context is not None:
            context.feed(before)
        if span.is_masked:
            # The space keeps `[IBAN](note)` from being a link, in which nothing would be put back.
            written = mask_of(span.label)
            behind = " " if text.startswith("(", span.end) else ""
            if context is not None:
                context.feed(written + behind)
        else:
            if context is not None:
                if not context.may_restore(span.label):
                    return None
                context.restored(span.label)
            surface, behind = text[span.start : span.end], ""
            about = (span.value, surface) if type(span.label) is Kind else _identifiers(text, span, findings)
            for _ in range(escapes):
                surface = json.dumps(surface, ensure_ascii=False)[1:-1]
            written = mint.token(span.label, span.value, surface, about)
            issued[written] = surface
            if span.label in mint.surrogates:
                is_last = number + 1 == len(spans) or spans[number + 1].start > span.end
                if is_last and may_stand(before or (pieces[-1] if pieces else ""), text[span.end : span.end + 1]):
                    written = surrogate_of(written) or written
        pieces += (before, written + behind)
        start = span.start + moved
        places.append((start, start + len(written)))
        moved += len(written) + len(behind) - (span.end - span.start)
        position = span.end
    pieces.append(text[position:])
    return Replaced("".join(pieces), issued, places)
