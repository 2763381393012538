"""Decodes text in base64 and hexadecimal runs.

    decoded_runs("see YW5uYUBleGFtcGxlLmNvbQ== there", [4])      # [(4, 28, "anna@example.com")]

A run counts if its decoded form is text. Keys, digests and pictures are not, and long runs of those are an obstacle
(`inspection`). Linear: every run is decoded once.
"""

from __future__ import annotations

import base64
import binascii
import re
import string
from collections.abc import Sequence

from ...domain.work import spend
from .scanner import Pattern, Scanner
from .view import Edit

_SHORTEST = 16  # characters; twelve bytes, or eight in hexadecimal
_LONGEST = 1 << 16  # characters; longer runs are pictures and files

# Sixteen characters and more of base64 or base64url, over several lines as RFC 2045 6.8 has it.
_BASE64 = re.compile(
    rf"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{{{_SHORTEST},{_LONGEST}}}"
    r"(?:\r?\n[A-Za-z0-9+/_-]{4,76}(?![A-Za-z0-9+/_-])){0,999}={0,2}"
    rf"|[A-Za-z0-9+/_-]{{{_SHORTEST - 2},{_SHORTEST - 1}}}={{1,2}})"
)
# A part of a run between signs that paths and names contain: "example/YW5uYUBleGFtcGxlLmNvbQ==".
_BASE64_PART = re.compile(
    rf"(?<![A-Za-z0-9])(?:[A-Za-z0-9]{{{_SHORTEST},{_LONGEST}}}={{0,2}}"
    rf"|[A-Za-z0-9]{{{_SHORTEST - 2},{_SHORTEST - 1}}}={{1,2}})(?![A-Za-z0-9])"
)
_HEX = re.compile(
    rf"(?<![0-9A-Za-z])(?:0x)?((?:[0-9A-Fa-f]{{2}}){{{_SHORTEST // 2},{_LONGEST // 2}}}"
    rf"|[0-9A-Fa-f]{{2}}(?:[ :][0-9A-Fa-f]{{2}}){{{_SHORTEST // 2 - 1},{_LONGEST // 2}}})(?![0-9A-Za-z])"
)
_RUN_WORK = 4  # units of work of a run that is decoded
_START_WORK = 2  # the search for the start of a run
_LINE_ENDS = re.compile(r"[\r\n]+")
_UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]")

_RUN = rf"[a-z0-9+/_-]{{{_SHORTEST}}}"
_PADDED = rf"[a-z0-9+/_-]{{{_SHORTEST - 2}}}="
_LEAD = re.compile(r"(?:.*[^A-Za-z0-9+/_-])?", re.DOTALL)
_OF_RUN = string.ascii_letters + string.digits + "+/_-"
_HEX_START = re.compile(rf"(?<![0-9A-Za-z])(?:0x)?[0-9A-Fa-f]{{{_SHORTEST}}}")
_PART_START = re.compile(rf"(?<![A-Za-z0-9])[A-Za-z0-9]{{{_SHORTEST - 2}}}")
_PAIRS = 2 + 3 * _SHORTEST // 2 - 1
"""Characters of the shortest run of pairs, with "0x" before it."""

GATES = (
    Pattern(_RUN, is_once=True),
    Pattern(_PADDED, is_once=True),
    # Any sign between, which costs the scanner less than spaces and colons alone.
    Pattern(rf"(?:[0-9a-f]{{2}}[^0-9a-z]){{{_SHORTEST // 2 - 1}}}[0-9a-f]{{2}}", is_once=True),
)
"""A text with such runs matches one of these; the scanner returns where the first match of each ends."""

_PAIRS_GATE = len(GATES) - 1
_ENDS = Scanner(
    # Context after the match costs the scanner a quarter of context before it.
    [Pattern(rf"{_RUN}(?:[^a-z0-9+/_-]|$)", has_start=False), Pattern(_PADDED, has_start=False)]
)


def runs_of(text: str, hits: Sequence[tuple[int, int]]) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the sorted starts of possible encoded runs, and the spans of long runs of letters, digits and `+/_-`.

    Args:
        hits: end and index of those of `GATES` that hit.
    """
    places: list[int] = []
    runs: list[tuple[int, int]] = []
    first = len(text)
    for end, gate in hits:
        if gate < _PAIRS_GATE:
            first = max(0, min(first, end - _SHORTEST))
        else:
            places += [match.start() for match in _HEX.finditer(text, max(0, end - _PAIRS))]
    if first < len(text):
        ends = _ENDS.scan(text[first:])
        spend(_START_WORK * len(ends))
        for end, _, _ in ends:
            end += first
            if text[end - 1] not in _OF_RUN:
                end -= 1
            start = _start_of_run(text, end)
            runs.append((start, end))
            places.append(start)
            if not text[start:end].isalnum():
                places += [match.start() for match in _HEX_START.finditer(text, start, end)]
                places += [match.start() for match in _PART_START.finditer(text, start, end)]
    places.sort()
    return places, runs


def _start_of_run(text: str, end: int) -> int:
    reach = 4 * _SHORTEST
    while match := _LEAD.match(text, max(0, end - reach), end):
        if match.end() > match.start() or reach >= end:
            return match.end()
        reach *= 2
    return end


def decoded_runs(text: str, places: Sequence[int]) -> list[Edit]:
    """Yield every run that decodes to text, with that text.

    Args:
        places: where runs may begin, sorted.
    """
    spend(_RUN_WORK * len(places))
    runs: list[Edit] = []
    done = [0] * len(_FORMS)
    for place in places:
        for index, (form, decoded) in enumerate(_FORMS):
            if place < done[index] or (match := form.match(text, place)) is None:
                continue
            done[index] = match.end()
            if plain := _text_of(decoded(match)):
                runs.append((match.start(), match.end(), plain))
    return sorted(runs)


def _may_be_base64(run: str) -> bool:
    """Return False for words, numbers and paths of one case: base64 of text mixes capitals into small letters."""
    return not (run.islower() or run.isupper() or run.isdigit())


def _from_base64(match: re.Match[str]) -> bytes:
    run = match.group()
    if not _may_be_base64(run):
        return b""
    run = _LINE_ENDS.sub("", run).rstrip("=").replace("-", "+").replace("_", "/")
    if len(run) % 4 == 1:
        run = run[:-1]
    try:
        return base64.b64decode(run + "=" * (-len(run) % 4))
    except binascii.Error:
        return b""


def _from_hex(match: re.Match[str]) -> bytes:
    return bytes.fromhex(match.group(1).replace(":", " "))


_FORMS = ((_HEX, _from_hex), (_BASE64, _from_base64), (_BASE64_PART, _from_base64))


def _text_of(data: bytes) -> str:
    """Return `data` as text; empty if it does not decode to text."""
    is_wide = len(data) > 7 and not any(data[1:9:2])  # UTF-16 as PowerShell has it
    try:
        # Bytes that are no UTF-8 become surrogates, which are not printable: an error costs several times as much.
        text = data.decode("utf-16-le") if is_wide else data.decode("utf-8", "surrogateescape")
    except UnicodeDecodeError:
        return ""
    return "" if _UNPRINTABLE.search(text) else text
