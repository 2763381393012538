"""Undoes disguises of identifiers, whether intended or caused by copy and paste.

    plain(NormalizedText("\\uff14\\uff11\\uff11\\uff11")).text                # "4111"
    [view.text for view in views("anna%2540example.com")]    # unchanged, and "anna@example.com"

`plain` applies to every text: digits of any script, full-width and mathematical letters, odd spaces and dashes become
ASCII, and invisible characters are removed. It loses no information, so its input is not scanned as well. Escapes,
look-alike letters and spelled-out characters (`escapes`) can also be meant literally, so both forms are scanned, and so
is the content of encoded runs (`base64_hex`). Limits: `_ROUNDS` rounds, `_DEPTH` encodings within each other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ...domain.work import spend
from . import base64_hex as encoded
from . import ocr_slips
from .escapes import UNDOINGS
from .scanner import Scanner
from .view import NormalizedText

_ROUNDS = 3  # `%2540` within an HTML entity
_DEPTH = 3  # base64 within base64
_OWN = [(index, gate) for index, undoing in enumerate(UNDOINGS) for gate in undoing.gates if gate != ocr_slips.GATE]
_OCR = [(index, gate) for index, undoing in enumerate(UNDOINGS) for gate in undoing.gates if gate == ocr_slips.GATE]
# At the end, the gate of OCR errors takes 40,000 instructions less for 2 KB (measured 2026-11).
_GATES = Scanner([*(gate for _, gate in _OWN), *encoded.GATES, *(gate for _, gate in _OCR)])
_UNDOING_OF = [*(index for index, _ in _OWN), *(None for _ in encoded.GATES), *(index for index, _ in _OCR)]
"""The undoing of each gate; None: a gate of encoded runs."""
_FOR_DIGITS = _OCR[0][0]  # the undoing that reads letters as digits

# Blocks with characters whose compatibility form (NFKC) is ASCII, and all decimal digits there are.
_COMPATIBILITY = (
    *((0xA0, 0x250), (0x1D00, 0x1DC0), (0x2000, 0x2500), (0x3200, 0x3400), (0xFB00, 0xFB07), (0xFE10, 0xFE70)),
    *((0xFF00, 0xFFF0), (0x1D400, 0x1D800), (0x1F100, 0x1F1FF), (0x1FBF0, 0x1FBFA)),
)
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d"
_SIGNS = "\u2024\u2025\u2026\u203c\u2047\u2048\u2049\u20a8\u2116\u2120\u2121\u2122"  # everyday signs, such as No and TM
_SPACES = "\u1680\u2028\u2029\u0085"
# Zero-width and directional marks, variation selectors, fillers, tags: Unicode's Cf and Default_Ignorable_Code_Point.
_UNSEEN = (
    *(0xAD, 0x34F, *range(0x600, 0x606), 0x61C, 0x6DD, 0x70F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810)),
    *(*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164, *range(0xFE00, 0xFE10), 0xFEFF),
    *(0xFFA0, 0xFFF9, 0xFFFA, 0xFFFB, *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)),
)


def _plain_characters() -> dict[str, str]:
    table = dict.fromkeys(_DASHES, "-") | dict.fromkeys(_SPACES, " ")
    for first, end in _COMPATIBILITY:
        for character in map(chr, range(first, end)):
            form = unicodedata.normalize("NFKC", character)
            if form != character and form.isascii() and character not in _SIGNS:
                table.setdefault(character, form)
    table |= {c: str(unicodedata.decimal(c)) for c in map(chr, range(0x660, 0x20000)) if c.isdecimal()}
    return table


_PLAIN = _plain_characters()
_SAME_LENGTH = {ord(character): form for character, form in _PLAIN.items() if len(form) == 1}
_RESIZED = {character for character, form in _PLAIN.items() if len(form) != 1} | set(map(chr, _UNSEEN))

# Letters and signs of everyday text in many scripts, which are plain already; the rest is looked at one by one.
_ODD = re.compile(
    "[^\\x00-\\x7f\u00a1-\u00a7\u00ab\u00ac\u00b0\u00b1\u00b6\u00b7\u00bb\u00bf-\u017e\u0180-\u01c3\u0370-\u0481\u048a-\u058f"
    "\u05b0-\u05f4\u060b\u060c\u061b\u061e-\u065f\u066a-\u066f\u0671-\u06d5\u0900-\u0965\u0e01-\u0e4f\u10a0-\u10ff\u2018-\u2023\u2025-\u2027\u2030-\u205e"
    "\u20a0-\u20bf\u2116\u2122\u2190-\u23ff\u2500-\u2bff\u3001\u3002\u3005-\u30ff\u3105-\u3130\u3400-\u9fff\uac00-\ud7a3\U0001f300-\U0001faff]"
)
_ODDS = re.compile(f"{_ODD.pattern}+")
# Struck through, framed; after digits also underlined and stacked.
_MARKS = re.compile(r"[\u0334-\u0338\u20d0-\u20f0]+|(?<=[0-9@.+])[\u0300-\u036f]+")


_ODD_WORK = 2  # units of work of a run of odd characters
_PASS_SHIFT = 5  # a regular expression reads 32 characters in a unit of work


def plain(view: NormalizedText) -> NormalizedText:
    """Return `view` with characters that recognizers support."""
    text = view.text
    if text.isascii() or _ODD.search(text) is None:
        return view
    one_for_one, count = _ODDS.subn(_same_length, text)
    spend(_ODD_WORK * count + (len(text) >> _PASS_SHIFT))
    edits = [
        (match.start(), match.end(), _PLAIN.get(match.group(), ""))
        for pattern in (_ODD, _MARKS)
        for match in pattern.finditer(one_for_one)
        if match.group() in _RESIZED or pattern is _MARKS
    ]
    view = view.respelled(one_for_one)
    return view.replaced(sorted(edits)) if edits else view


def _same_length(match: re.Match[str]) -> str:
    return match.group().translate(_SAME_LENGTH)


def views(text: str) -> list[NormalizedText]:
    """Everything that `text` can be read as; the first view is what a person would read."""
    found: list[NormalizedText] = []
    _add_readings(found, plain(NormalizedText(text)), _DEPTH)
    return found


def _add_readings(found: list[NormalizedText], view: NormalizedText, depth: int) -> None:
    wanted, places, view.runs = _signs(view)
    readings = [(view, places)]
    undone, with_letters = view, None
    for _ in range(_ROUNDS if wanted else 0):
        before = undone
        for index in sorted(wanted):
            spend(len(undone.text) >> _PASS_SHIFT)
            if edits := UNDOINGS[index].edits(undone.text):
                if index == _FOR_DIGITS and undone is not view:
                    with_letters = with_letters or undone
                undone = undone.replaced(edits)
        if undone is before:
            break
        undone = plain(undone)
        wanted, places, undone.runs = _signs(undone)
    if with_letters is not None:  # an escaped value may have letters next to digits: IT98%20S005%201045
        with_letters = plain(with_letters)
        _, _, with_letters.runs = _signs(with_letters)
        readings.append((with_letters, ()))
    if undone is not view:
        readings.append((undone, places))
    found += [reading for reading, _ in readings]
    for reading, places in readings if depth else ():
        if places and (decoded := encoded.decoded_runs(reading.text, places)):
            _add_readings(found, plain(reading.decoded(decoded)), depth - 1)


def _signs(view: NormalizedText) -> tuple[set[int], Sequence[int], Sequence[tuple[int, int]]]:
    """Return the undoings that a view needs, the starts of possible encoded runs, and the spans of long runs."""
    wanted: set[int] = set()
    of_runs: list[tuple[int, int]] = []
    first = len(_OWN)
    for end, _, gate in _GATES.scan(view.text):
        undoing = _UNDOING_OF[gate]
        if undoing is None:
            of_runs.append((end, gate - first))
        else:
            wanted.add(undoing)
    return wanted, *(encoded.runs_of(view.text, of_runs) if of_runs else ((), ()))
