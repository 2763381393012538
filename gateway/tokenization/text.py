"""Puts tokens in the place of identifiers. The other direction is `restore`.

tokenized, issued, places = replace(text, findings, issuer)
restore(tokenized, issued) == text        # for any text: tests/gateway/test_restore.py
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..detect.findings.finding import Finding
from ..domain.entities import EntityType, Mark
from ..tokens.link_context import LinkContext, link_regions
from ..tokens.search import find_literals
from ..tokens.surrogates import may_stand, surrogate_of
from ..tokens.token import TokenIssuer

_Span = tuple[int, int, EntityType | Mark, str, bool]
"""Start, end, what its token is labelled, its value, and whether a mask stands for it."""


class Replaced(NamedTuple):
    """What may leave instead of a text."""

    text: str
    issued: dict[str, str]
    """What each of its tokens stands for."""
    places: list[tuple[int, int]]
    """Where its tokens, masks and stand-ins are, in order."""


def mask_of(label: EntityType | Mark) -> str:
    """What stands for a value that never comes back."""
    return f"[{label.value}]"


def replace(
    text: str, findings: Sequence[Finding], issuer: TokenIssuer, *, masked: Collection[Finding] = (), escapes: int = 0
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
    replaced = _emit(text, spans, findings, issuer, context, escapes)
    if replaced is None:
        # A link began or ended where only the replaced text differs from the original; rare, and no reason to guess.
        replaced = _emit(text, [(0, len(text), Mark.URL, text, bool(masked))], findings, issuer, None, escapes)
    assert replaced is not None
    return replaced


def _spans(
    text: str, findings: Sequence[Finding], regions: Sequence[tuple[int, int]], masked: Collection[Finding]
) -> list[_Span]:
    spans: list[_Span] = [(f.start, f.end, f.entity_type, f.value, f in masked) for f in findings]
    if "_" in text:
        spans += [(f.start, f.end, Mark.TEXT, text[f.start : f.end], False) for f in find_literals(text)]
    if not regions and len(spans) == len(findings):
        return spans
    spans.sort(key=lambda span: (span[0], -span[1]))
    widened: list[_Span] = []
    for span in spans:
        start, end, _, _, is_masked = span
        is_link = False
        # The first region that ends behind the span's start, and those after it that begin before its end.
        for first, last in regions[bisect_right(regions, span[0], key=_end_of) :]:
            if first >= span[1]:
                break
            start, end, is_link = min(start, first), max(end, last), True
        if widened and start < widened[-1][1]:  # overlaps what went before: one span for both
            first, last, label, _, was_masked = widened.pop()
            start, end = min(start, first), max(end, last)
            mark = Mark.URL if is_link or label is Mark.URL else Mark.TEXT
            widened.append((start, end, mark, text[start:end], is_masked or was_masked))
        else:
            widened.append((start, end, Mark.URL, text[start:end], is_masked) if is_link else span)
    return widened


def _identifiers(text: str, start: int, end: int, findings: Sequence[Finding]) -> list[str]:
    """What was found in a span that became one token as a whole, as it was written and normalised."""
    inside = [each for each in findings if each.start < end and start < each.end]
    return [value for each in inside for value in (each.value, text[each.start : each.end])]


def _end_of(region: tuple[int, int]) -> int:
    return region[1]


def _emit(
    text: str,
    spans: Sequence[_Span],
    findings: Sequence[Finding],
    issuer: TokenIssuer,
    context: LinkContext | None,
    escapes: int,
) -> Replaced | None:
    """The text with tokens; None when one of them could not be restored where it stands."""
    pieces: list[str] = []
    issued: dict[str, str] = {}
    places: list[tuple[int, int]] = []
    position = moved = 0  # `moved`: how much farther behind a place stands in the new text
    for number, (start, end, label, value, is_masked) in enumerate(spans):
        before = text[position:start]
        if context is not None:
            context.feed(before)
        if is_masked:
            # The space keeps `[IBAN](note)` from being a link, in which nothing would be put back.
            written = mask_of(label)
            behind = " " if text.startswith("(", end) else ""
            if context is not None:
                context.feed(written + behind)
        else:
            if context is not None:
                if not context.may_restore(label):
                    return None
                context.restored(label)
            surface, behind = text[start:end], ""
            about = (value, surface) if type(label) is EntityType else _identifiers(text, start, end, findings)
            for _ in range(escapes):
                surface = json.dumps(surface, ensure_ascii=False)[1:-1]
            written = issuer.token(label, value, surface, about)
            issued[written] = surface
            if label in issuer.surrogates:
                is_last = number + 1 == len(spans) or spans[number + 1][0] > end
                if is_last and may_stand(before or (pieces[-1] if pieces else ""), text[end : end + 1]):
                    written = surrogate_of(written) or written
        pieces += (before, written + behind)
        first = start + moved
        last = first + len(written)
        places.append((first, last))
        moved = last + len(behind) - end
        position = end
    pieces.append(text[position:])
    return Replaced("".join(pieces), issued, places)
