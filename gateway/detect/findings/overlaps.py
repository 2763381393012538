"""Resolves overlapping findings.

findings = resolve([Finding(4, 26, EntityType.IBAN, 1.0, "DE89370400440532013000", "IBAN"), ...])
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence

from ...domain.entities import EntityType
from .finding import Finding, name_value

_WORDS = re.compile(r"[^\W_](?:.*[^\W_])?", re.DOTALL)  # without the spaces and marks around them
_RANK = {entity_type: rank for rank, entity_type in enumerate(EntityType)}


def resolve(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings without overlaps: longest first, then highest score, then the order of `EntityType`.

    Returns:
        Sorted by start. Deterministic: the same findings in any order give the same result.
    """
    kept: list[Finding] = []
    for group in _overlapping(findings):
        kept += group if len(group) == 1 else _resolved(group)
    return kept


def _overlapping(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    """Yield groups of findings by start; findings of different groups do not overlap."""
    group: list[Finding] = []
    end = 0
    for finding in sorted(findings, key=_start_of):
        if group and finding.start >= end:
            yield group
            group = []
            end = 0
        group.append(finding)
        end = max(end, finding.end)
    if group:
        yield group


def _resolved(findings: Sequence[Finding]) -> list[Finding]:
    ranked = sorted(findings, key=lambda f: (f.start - f.end, -f.score, _RANK[f.entity_type], f.start, f.rule))
    taken: list[tuple[int, int]] = []  # spans of the kept findings, sorted; none overlap
    kept: list[Finding] = []
    for finding in ranked:
        place = bisect_left(taken, (finding.start, finding.start))
        if place and taken[place - 1][1] > finding.start:
            continue
        if place < len(taken) and taken[place][0] < finding.end:
            continue
        taken.insert(place, (finding.start, finding.end))
        kept.append(finding)
    kept.sort(key=lambda f: f.start)
    return kept


def resolve_whole(findings: Iterable[Finding], text: str) -> list[Finding]:
    """Resolve overlaps as `resolve`, but keep the words of a losing finding that no other finding covers.

    For model finders, which may return a name together with half of the number after it.

    Args:
        text: that they are in.
    """
    everything = list(findings)
    standing = resolve(everything)
    for lost in sorted(
        set(everything).difference(standing), key=lambda f: (f.start - f.end, f.start, _RANK[f.entity_type], f.rule)
    ):
        for start, end in [*_gaps(standing, lost)]:
            if words := _WORDS.search(text, start, end):
                part = lost._replace(start=words.start(), end=words.end(), value=name_value(words.group()))
                insort(standing, part, key=_start_of)
    return standing


def around_names(standing: Iterable[Finding], weaker: Iterable[Finding], text: str) -> Iterator[Finding]:
    """Yield the weaker findings, without the words of full names in `standing` that they would cut or join.

    In "Anna B. Kowalska, Peter J. Harwood" a known Peter Kowalska gives the weaker finding "Kowalska, Peter J.".

    Args:
        standing: sorted by start, none overlapping.
        text: that all are in.
    """
    names = [each for each in standing if each.entity_type is EntityType.PERSON and " " in text[each.start : each.end]]
    for weak in weaker:
        first = bisect_right(names, weak.start, key=_end_of)
        cut = names[first : bisect_left(names, weak.end, first, key=_start_of)]
        is_within = len(cut) == 1 and cut[0].start <= weak.start and weak.end <= cut[0].end
        is_around = len(cut) == 1 and weak.start <= cut[0].start and cut[0].end <= weak.end
        is_joined = is_around and "," in text[weak.start : cut[0].start] + text[cut[0].end : weak.end]
        if not cut or is_within or (is_around and not is_joined):
            yield weak
            continue
        for start, end in _gaps(cut, weak):
            if words := _WORDS.search(text, start, end):
                part = words.group()
                yield weak._replace(start=words.start(), end=words.end(), value=name_value(part))


def _gaps(standing: Sequence[Finding], lost: Finding) -> Iterator[tuple[int, int]]:
    """Yield the spans of `lost` that no finding in `standing` covers.

    Args:
        standing: sorted by start, none overlapping.
    """
    start = lost.start
    for place in range(max(0, bisect_left(standing, start, key=_start_of) - 1), len(standing)):
        each = standing[place]
        if each.start >= lost.end:
            break
        if start < each.end:
            if start < each.start:
                yield start, each.start
            start = each.end
    if start < lost.end:
        yield start, lost.end


def _end_of(finding: Finding) -> int:
    return finding.end


def _start_of(finding: Finding) -> int:
    return finding.start
