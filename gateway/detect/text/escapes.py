"""Spellings of an identifier that can also be meant literally: escapes, look-alikes, spelled-out addresses.

    undo = UNDOINGS[0]                       # URL encoding
    undo.edits("anna%40example.com")         # [(4, 7, "@")]

Each undoing consists of patterns that detect whether a text could need it, for the scanner, and a pure function from a
text to edits. All are linear in the text. Several patterns with distinct first letters are several times faster than
one pattern with as many alternatives (measured 2026-11).
"""

from __future__ import annotations

import html.entities
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from . import ocr_slips, spoken_digits
from .scanner import Pattern
from .view import Edit


@dataclass(frozen=True, slots=True)
class Undoing:
    """One way of writing, and how to undo it."""

    name: str
    gates: Sequence[Pattern]
    """Strings, of which every text that `edits` would change contains at least one."""
    edits: Callable[[str], list[Edit]]
    """Edits, sorted, without overlaps."""


# RFC 3986 2.1, and RFC 2045 6.7: bytes in hexadecimal.
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_QUOTED_PRINTABLE = re.compile(r"=\r?\n|(?:=[0-9A-F]{2})+")
# HTML 13.2.5.80: a numeric reference ends without its semicolon as well.
_ENTITY = re.compile(r"&(?:#[0-9]{1,7};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z][A-Za-z0-9]{1,31};)")
# RFC 8259 7, and the escapes of JavaScript, Python, C and CSS; with more backslashes if encoded several times.
_BACKSLASHES = re.compile(r"\\+")
_BACKSLASH = re.compile(
    r"\\{1,16}(?:u[dD][89abAB][0-9A-Fa-f]{2}\\{1,16}u[dD][c-fC-F][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}"
    r"|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2})"
    r"|(?<=[0-9])\\[nrt](?=[0-9])|\\0000[0-9A-Fa-f]{2}(?: (?=\\0))?|\\[0-3][0-7]{2}"
)


def _percent(text: str) -> list[Edit]:
    return [edit for match in _PERCENT.finditer(text) for edit in _from_bytes(match)]


def _quoted_printable(text: str) -> list[Edit]:
    return [
        edit
        for match in _QUOTED_PRINTABLE.finditer(text)
        for edit in (_from_bytes(match) if match.group()[-1] != "\n" else [(match.start(), match.end(), "")])
    ]


def _from_bytes(match: re.Match[str]) -> list[Edit]:
    """Return the characters of a run of escaped bytes: one edit, or one per byte if each byte is a character."""
    run, start = match.group(), match.start()
    data = bytes.fromhex("".join(run[place + 1 : place + 3] for place in range(0, len(run), 3)))
    if data.isascii():
        return [(start + 3 * place, start + 3 * place + 3, chr(byte)) for place, byte in enumerate(data)]
    try:
        return [(start, match.end(), data.decode())]
    except UnicodeDecodeError:
        return [(start, match.end(), data.decode("latin-1"))]


def _entities(text: str) -> list[Edit]:
    return [(m.start(), m.end(), plain) for m in _ENTITY.finditer(text) if (plain := _entity(m.group()))]


def _entity(entity: str) -> str:
    if entity[1] != "#":
        return html.entities.html5.get(entity[1:], "")
    number = entity.rstrip(";")
    code = int(number[3:], 16) if entity[2] in "xX" else int(number[2:])
    return chr(code) if code <= 0x10FFFF else ""


def _backslashes(text: str) -> list[Edit]:
    return [(m.start(), m.end(), plain) for m in _BACKSLASH.finditer(text) if (plain := _unescaped(m.group()))]


def _unescaped(written: str) -> str:
    escape = _BACKSLASHES.sub(r"\\", written)
    if escape[1] in "nrt":
        return " "
    if escape[1] in "0123":
        return chr(int(escape[1:4], 8) if len(escape) == 4 else int(escape[1:7], 16))
    if len(escape) == 12:
        return (bytes.fromhex(escape[2:6]) + bytes.fromhex(escape[8:])).decode("utf-16-be")
    code = int(escape[2:].strip("{}"), 16)
    return chr(code) if code <= 0x10FFFF else ""


# "anna at example dot com", in the words of several languages, and with brackets around the words.
_AT = r"at|ät|arroba|arobase|chiocciola|małpa|malpa|собака|собачка|klammeraffe|apenstaartje|apestaart|zavináč"
_DOT = r"dot|punkt|punto|point|ponto|kropka|точка|punt|nokta|tečka|titik"
_BRACKETED = re.compile(rf"[ ]?[\[({{<][ ]?(?:(?P<at>{_AT}|@)|(?P<dot>{_DOT}|\.))[ ]?[\])}}>][ ]?", re.IGNORECASE)
_SPOKEN = re.compile(
    rf"(?<![\w.+-])[\w.+-]{{1,64}}(?P<at>[ ](?:{_AT})[ ]|[ ]?@[ ])"
    rf"[\w-]{{1,63}}(?P<dots>(?:(?:[ ](?:{_DOT}|\.)[ ]|\.)[\w-]{{2,63}}){{1,4}})",
    re.IGNORECASE,
)
_SPOKEN_DOT = re.compile(rf"[ ](?:{_DOT}|\.)[ ]", re.IGNORECASE)
# Ends of a spoken address: a country's two letters or a well-known name (IANA root zone).
_TOP_NAME = re.compile(
    r"[a-z]{2}|com|org|net|edu|gov|int|mil|info|biz|name|online|example|internal|bank", re.IGNORECASE
)


def _brackets(text: str) -> list[Edit]:
    return [(m.start(), m.end(), "@" if m["at"] else ".") for m in _BRACKETED.finditer(text)]


def _spoken(text: str) -> list[Edit]:
    edits: list[Edit] = []
    for match in _SPOKEN.finditer(text):
        first, last = match.span("dots")
        dots = [(dot.start(), dot.end(), ".") for dot in _SPOKEN_DOT.finditer(text, first, last)]
        if dots and _TOP_NAME.fullmatch(re.split(r"[ .]", match["dots"])[-1]) is None:
            continue
        if dots or len(match["at"]) < 4:  # "at" alone joins "me at example.com"; with a spoken dot it is an address
            edits += [(*match.span("at"), "@"), *dots]
    return edits


# Letters of other scripts that look like Latin ones: Unicode confusables.txt (UTS 39, 16.0), those in everyday fonts.
_LOOKALIKES = dict(zip("АВЕЅІЈКМНОРСТУХҮԚԜаеѕіјкорсухүһԁԛԝӏ", "ABESIJKMHOPCTYXYQWaesijkopcyxyhdqwl", strict=True))
_LOOKALIKES |= dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαικνορυχϲϳ", "ABEZHIKMNOPTYXaikvopuxcj", strict=True))
_LOOKALIKES |= dict(zip("օսոհɑɡıɩʏ", "ounhagiiy", strict=True))
_OTHER_LETTERS = re.compile(r"[^\x00-\u024f]")
_RUN = re.compile(r"[\w@.+-]{2,512}")


def _lookalikes(text: str) -> list[Edit]:
    """Runs that hold ASCII and, of other scripts, nothing but look-alikes; "IT-отдел" and Russian prose stay."""
    edits: list[Edit] = []
    for match in _RUN.finditer(text):
        run = match.group()
        others = set(_OTHER_LETTERS.findall(run))
        if others and others <= _LOOKALIKES.keys() and any(c.isascii() and (c.isalnum() or c == "@") for c in run):
            edits += [
                (match.start() + place, match.start() + place + 1, _LOOKALIKES[c])
                for place, c in enumerate(run)
                if c in _LOOKALIKES
            ]
    return edits


_LETTER = r"(?:[\xce\xcf\xd0\xd1\xd2\xd4\xd5\xd6][\x80-\xbf]|\xc9[\x91\xa1\xa9]|\xca\x8f|\xc4\xb1)"

# Single characters apart: "4 1 1 1 1 1 1 1", "a n n a @ e x a m p l e . c o m".
_ONE = r"[0-9A-Za-z@.+]"
_APART = r"[ \t\r\n_|*-]"
_SPACED_OUT = re.compile(rf"(?<![\w@.+])(?:{_ONE}{_APART}{{1,3}}){{7,120}}{_ONE}(?![\w@.+])")
_BETWEEN = re.compile(rf"{_APART}+")
_COUNTING = frozenset({"01234567", "12345678", "abcdefgh", "ABCDEFGH"})


def _spaced_out(text: str) -> list[Edit]:
    return [
        (gap.start(), gap.end(), "")
        for match in _SPACED_OUT.finditer(text)
        if _BETWEEN.sub("", match.group())[:8] not in _COUNTING
        for gap in _BETWEEN.finditer(text, match.start(), match.end())
    ]


# The same with signs between: "4, 1, 1, 1", "'4' + '1'", "[4][1]", "D.E.8.9".
_SIGN = r"[ ,./+'\"\[\]()]"
_SIGNS_BETWEEN = re.compile(rf"(?<![\w@])(?:[0-9A-Za-z@]{_SIGN}{{1,5}}){{7,120}}[0-9A-Za-z@](?![\w@])")
_SIGNS = re.compile(f"{_SIGN}+")
# One gate for both, at the price of one.
_ONE_BY_ONE = Pattern(f"(?:{_ONE}{_SIGN[:-1]}{_APART[1:]}{{1,5}}){{7}}{_ONE}", is_once=True)


def _signs_between(text: str) -> list[Edit]:
    return [
        (gap.start(), gap.end(), "")
        for match in _SIGNS_BETWEEN.finditer(text)
        if _SIGNS.sub("", match.group())[:8] not in _COUNTING
        for gap in _SIGNS.finditer(text, match.start(), match.end())
    ]


# What no reader sees in the middle of a number: emphasis, tags within a line, thin spaces of LaTeX, quoting of mail,
# string literals put together.
_MARKS = (
    r"\*{2,4}",
    r"</?(?:b|i|u|s|em|strong|span|mark|code|font|wbr|sub|sup)(?: [^<>]{0,80})?/?>",
    r"<!--[^<>]{0,80}-->",
    r"\\[,;:! ]",
    r"\r?\n(?:> ?){1,4}",
    r"[\"'] ?\+ ?[\"']",
    "·",
    "•",
)
_MARKUP = re.compile(rf"(?<=[0-9A-Za-z])(?:{'|'.join(_MARKS)}){{1,2}}(?=[0-9A-Za-z])")


def _markup_gates() -> Iterator[Pattern]:
    """Marks with a digit on one side at least; without bounds, which take the scanner a megabyte."""
    marks = [mark.replace("{0,80}", "*") for mark in _MARKS]
    second = f"(?:{'|'.join(marks)})?"
    for mark in marks:
        context = f"(?:{mark}){second}"
        yield Pattern(f"[0-9]{context}[0-9A-Za-z]|[A-Za-z]{context}[0-9]", is_once=True)


def _markup(text: str) -> list[Edit]:
    return [(m.start(), m.end(), "") for m in _MARKUP.finditer(text)]


# ECMA-48 5.4: colours of a terminal; and control characters that show nothing.
_CONTROLS = re.compile(r"\x1b\[[0-9;]{0,16}[A-Za-z]|[\x00-\x08\x0e-\x1f\x7f]")


def _controls(text: str) -> list[Edit]:
    return [(m.start(), m.end(), "") for m in _CONTROLS.finditer(text)]


# RFC 3490 3.1: dots that name servers take for one, and the one dot leader.
_OTHER_DOT = re.compile(r"(?<=[0-9A-Za-z])[\u3002\uff61\u2024](?=[0-9A-Za-z])")


def _other_dots(text: str) -> list[Edit]:
    return [(m.start(), m.end(), ".") for m in _OTHER_DOT.finditer(text)]


# In this order: what one leaves, the next may undo.
UNDOINGS: tuple[Undoing, ...] = (
    # Not once: the scanner could not share an automaton between it and the characters apart.
    Undoing("control characters", [Pattern(r"[\x00-\x08\x0e-\x1f\x7f]", has_start=False)], _controls),
    Undoing("URL encoding", [Pattern("%[0-9a-f]{2}", is_once=True)], _percent),
    Undoing("HTML entities", [Pattern("&(?:#x?[0-9a-f]|[a-z][0-9a-z]{1,31};)", is_once=True)], _entities),
    Undoing(
        "backslash escapes",
        [Pattern(r"\\(?:u[0-9a-f{]|x[0-9a-f]|[nrt][0-9]|[0-3][0-7]{2}|0000[0-9a-f]{2})", is_once=True)],
        _backslashes,
    ),
    Undoing(
        "quoted-printable",
        [Pattern(r"=\r?\n|=(?:40|2[BDE]|3[0-9D]|[CD][0-9A-F]=[89AB])", is_once=True, has_case=True)],
        _quoted_printable,
    ),
    Undoing("characters apart", [_ONE_BY_ONE], _spaced_out),
    Undoing("signs between characters", [_ONE_BY_ONE], _signs_between),
    Undoing("markup in a number", [*_markup_gates()], _markup),
    Undoing("digits said aloud", spoken_digits.GATES, spoken_digits.edits),
    Undoing("letters for digits", [ocr_slips.GATE], ocr_slips.edits),
    Undoing("other dots", [Pattern("[0-9a-z](?:\u3002|\uff61|\u2024)[0-9a-z]", is_once=True)], _other_dots),
    Undoing(
        "look-alike letters",
        [Pattern(rf"[0-9a-z@.+_-]{_LETTER}|{_LETTER}[0-9a-z@+_]", is_once=True)],
        _lookalikes,
    ),
    Undoing(
        "brackets in an address",
        [
            Pattern(rf"[\[({{<] ?{sign} ?[\])}}>]", is_once=True)
            for sign in (*_AT.split("|"), *_DOT.split("|"), "@", r"\.")
        ],
        _brackets,
    ),
    Undoing(
        "spoken address",
        [Pattern(sign, is_once=True) for sign in ("@ ", *(f" {dot} " for dot in _DOT.split("|")))],
        _spoken,
    ),
)
