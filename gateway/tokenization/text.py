"""Replaces identifiers in a text by tokens. `tokens.restore` is the inverse.

tokenized, issued, places = replace(text, findings, issuer)
restore(tokenized, issued) == text        # for any text: tests/gateway/tokens/test_restore.py
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..detect.findings.finding import Finding
from ..domain.entities import EntityType, Mark
from ..tokens.links.glued_hosts import glued_end, may_be_glued
from ..tokens.links.openers import has_link_hint
from ..tokens.links.regions import link_regions
from ..tokens.restore import Issued, RestoreCounts, Restorer
from ..tokens.search import find_literals
from ..tokens.surrogates import may_stand, surrogate_of
from ..tokens.token import ID_CHARACTERS, TokenIssuer

Spans = tuple[tuple[int, int, str], ...]
"""Start and end of each replaced span of the original text, and its token, or the mask in its place."""

_MARKS = frozenset(mark.value for mark in Mark)

_Span = tuple[int, int, EntityType | Mark, str, bool]
"""Start, end, label of its token, its value, and True if it is masked."""


class Replaced(NamedTuple):
    """A text with tokens and masks."""

    text: str
    issued: dict[str, str]
    """Values by token."""
    places: list[tuple[int, int]]
    """Start and end of its tokens, masks and surrogates, in order."""


def mask_of(label: EntityType | Mark) -> str:
    """Return the mask of a value, which is not restored."""
    return f"[{label.value}]"


def replace(
    text: str, findings: Sequence[Finding], issuer: TokenIssuer, *, masked: Collection[Finding] = (), escapes: int = 0
) -> Replaced:
    """Return `text` with a token for every finding.

    - Text with the form of a token becomes a `TEXT` token, so that writing a token does not reveal its value.
    - A link with an identifier becomes one `URL` token (see `tokens.links`).
    - A link with a masked identifier becomes one mask.

    Args:
        findings: findings that policy tokenizes or masks; sorted, without overlaps.
        masked: the findings of them to mask.
        escapes: number of JSON strings that contain `text`, one in the other. Values are stored as they are escaped
            there, because an answer repeats them so.
    """
    return replace_with_spans(text, findings, issuer, masked=masked, escapes=escapes)[0]


def replace_with_spans(
    text: str, findings: Sequence[Finding], issuer: TokenIssuer, *, masked: Collection[Finding] = (), escapes: int = 0
) -> tuple[Replaced, Spans]:
    """Return the result of `replace`, and the spans with which `replace_again` returns it."""
    if not findings and "_" not in text:
        return Replaced(text, {}, []), ()
    is_linked = has_link_hint(text)
    spans = _spans(text, findings, link_regions(text) if is_linked else (), masked)
    if not spans:
        return Replaced(text, {}, []), ()
    replaced, replaced_spans = _emit(text, spans, findings, issuer, escapes)
    # A text without links and escapes needs no trial.
    is_certain = not is_linked and "\\" not in text and "&" not in text
    written = replaced.text
    if not (is_certain and not any(may_be_glued(written, end) for _, end in replaced.places)) and not _comes_back(
        replaced
    ):
        # In the replaced text, a link begins or ends at another place than in the original; this is rare.
        return _emit(text, [(0, len(text), Mark.URL, text, bool(masked))], findings, issuer, escapes)
    return replaced, replaced_spans


def replace_again(
    text: str, spans: Spans, findings: Sequence[Finding], issuer: TokenIssuer, escapes: int
) -> Replaced | None:
    """Return the result of `replace` for the same arguments, from its spans; None if a token is another value's."""
    pieces: list[str] = []
    issued: dict[str, str] = {}
    places: list[tuple[int, int]] = []
    position = moved = 0
    values = {finding.start: finding.value for finding in findings}
    for start, end, written in spans:
        after_mask = ""
        if written[0] == "[":
            after_mask = " " if text.startswith(("(", ":"), end) else ""
        else:
            surface = text[start:end]
            is_mark = written[: -ID_CHARACTERS - 1] in _MARKS
            about = _identifiers(text, start, end, findings) if is_mark else (values[start], surface)
            for _ in range(escapes):
                surface = json.dumps(surface, ensure_ascii=False)[1:-1]
            if not issuer.repeat(written, surface, about):
                return None
            issued[written] = surface
        pieces += (text[position:start], written + after_mask)
        first = start + moved
        last = first + len(written)
        places.append((first, last))
        moved = last + len(after_mask) - end
        position = end
    pieces.append(text[position:])
    return Replaced("".join(pieces), issued, places)


def _comes_back(replaced: Replaced) -> bool:
    """Return whether every token is restored at its place."""
    counts = RestoreCounts()
    restorer = Restorer(Issued(replaced.issued), counts=counts)
    restorer.feed(replaced.text)
    restorer.flush()
    return not counts.withheld


def _spans(
    text: str, findings: Sequence[Finding], regions: Sequence[tuple[int, int]], masked: Collection[Finding]
) -> list[_Span]:
    to_mask = frozenset(masked)
    spans: list[_Span] = [(f.start, f.end, f.entity_type, f.value, bool(masked) and f in to_mask) for f in findings]
    if "_" in text:
        spans += [(f.start, f.end, Mark.TEXT, text[f.start : f.end], False) for f in find_literals(text)]
    if any(may_be_glued(text, span[1]) for span in spans):
        starts = sorted([span[0] for span in spans])
        spans = [_with_host(text, span, starts) for span in spans]
    if not regions and len(spans) == len(findings):
        return spans
    spans.sort(key=lambda span: (span[0], -span[1]))
    widened: list[_Span] = []
    for span in spans:
        start, end, _, _, is_masked = span
        is_link = False
        # The first region that ends after the span's start, and later ones that begin before its end.
        for place in range(bisect_right(regions, span[0], key=_end_of), len(regions)):
            first, last = regions[place]
            if first >= span[1]:
                break
            start, end, is_link = min(start, first), max(end, last), True
        if widened and start < widened[-1][1]:  # overlaps the span before: one span for both
            first, last, label, _, was_masked = widened.pop()
            start, end = min(start, first), max(end, last)
            mark = Mark.URL if is_link or label is Mark.URL else Mark.TEXT
            widened.append((start, end, mark, text[start:end], is_masked or was_masked))
        else:
            widened.append((start, end, Mark.URL, text[start:end], is_masked) if is_link else span)
    return widened


def _with_host(text: str, span: _Span, starts: Sequence[int]) -> _Span:
    """Return the span; if it is a part of a host name or address that goes on, the span of all of it.

    Args:
        starts: of all spans, in order.
    """
    start, end, _, _, is_masked = span
    if not may_be_glued(text, end):
        return span
    position = bisect_right(starts, end - 1)
    last = glued_end(text, end, starts[position] if position < len(starts) else len(text))
    return (start, last, Mark.URL, text[start:last], is_masked) if last > end else span


def _identifiers(text: str, start: int, end: int, findings: Sequence[Finding]) -> list[str]:
    """Return the findings in a span that becomes one token, as written and normalized."""
    first, last = bisect_right(findings, start, key=_last_of), bisect_left(findings, end, key=_first_of)
    inside = findings[first:last]
    return [value for each in inside for value in (each.value, text[each.start : each.end])]


def _first_of(finding: Finding) -> int:
    return finding.start


def _last_of(finding: Finding) -> int:
    return finding.end


def _end_of(region: tuple[int, int]) -> int:
    return region[1]


def _emit(
    text: str,
    spans: Sequence[_Span],
    findings: Sequence[Finding],
    issuer: TokenIssuer,
    escapes: int,
) -> tuple[Replaced, Spans]:
    """Return the text with tokens, and the spans that they replace."""
    pieces: list[str] = []
    issued: dict[str, str] = {}
    places: list[tuple[int, int]] = []
    replaced: list[tuple[int, int, str]] = []
    position = moved = 0  # `moved`: offset of a place in the new text minus that in the old one
    for number, (start, end, label, value, is_masked) in enumerate(spans):
        before = text[position:start]
        if is_masked:
            # The space keeps `[IBAN](note)` and `[IBAN]:` from becoming a link, in which no token is restored.
            written = mask_of(label)
            after_mask = " " if text.startswith(("(", ":"), end) else ""
        else:
            surface, after_mask = text[start:end], ""
            about = (value, surface) if type(label) is EntityType else _identifiers(text, start, end, findings)
            for _ in range(escapes):
                surface = json.dumps(surface, ensure_ascii=False)[1:-1]
            written = issuer.token(label, value, surface, about)
            issued[written] = surface
            if label in issuer.surrogates:  # such texts are not replaced again from their spans
                is_last = number + 1 == len(spans) or spans[number + 1][0] > end
                if is_last and may_stand(before or (pieces[-1] if pieces else ""), text[end : end + 1]):
                    written = surrogate_of(written) or written
        pieces += (before, written + after_mask)
        first = start + moved
        last = first + len(written)
        places.append((first, last))
        replaced.append((start, end, written))
        moved = last + len(after_mask) - end
        position = end
    pieces.append(text[position:])
    return Replaced("".join(pieces), issued, places), tuple(replaced)
