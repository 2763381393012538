"""Disguises: spellings of an identifier that get past a filter, on purpose or by chance.

evasions_for("EMAIL")["zero-width"]("anna@example.com", random.Random(1))
"""

from __future__ import annotations

import base64
import html
import string
import urllib.parse
from collections.abc import Callable
from random import Random

Disguise = Callable[[str, Random], str]

_LOOKALIKES = str.maketrans("aceopxyi", "асеорхуі")  # Latin to Cyrillic, UTS 39 confusables
_FULL_WIDTH = {ord(sign): ord(sign) + 0xFEE0 for sign in string.digits + string.ascii_letters + "@."}
_ARABIC_INDIC = str.maketrans(string.digits, "٠١٢٣٤٥٦٧٨٩")
_PERSIAN = str.maketrans(string.digits, "۰۱۲۳۴۵۶۷۸۹")
_DEVANAGARI = str.maketrans(string.digits, "०१२३४५६७८९")


def _between(text: str, dice: Random, signs: str, *, every: float) -> str:
    return "".join(sign + (dice.choice(signs) if dice.random() < every else "") for sign in text[:-1]) + text[-1]


def _zero_width(text: str, dice: Random) -> str:
    return _between(text, dice, "\u200b\u200c\u200d\u2060\ufeff", every=0.4)


def _soft_hyphen(text: str, _dice: Random) -> str:
    middle = len(text) // 2
    return text[:middle] + "\u00ad" + text[middle:]


def _bidi(text: str, _dice: Random) -> str:
    return "\u2067" + text[: len(text) // 2] + "\u202c" + text[len(text) // 2 :] + "\u2069"


def _homoglyphs(text: str, _dice: Random) -> str:
    return text.translate(_LOOKALIKES)


def _spaced(text: str, dice: Random) -> str:
    plain = "".join(sign for sign in text if sign.isalnum())
    return dice.choice((" ", "\u00a0")).join(plain)


def _broken_line(text: str, _dice: Random) -> str:
    plain = "".join(sign for sign in text if sign.isalnum())
    middle = len(plain) // 2
    return plain[:middle] + "\n" + plain[middle:]


def _dotted(text: str, _dice: Random) -> str:
    plain = "".join(sign for sign in text if sign.isalnum())
    return ".".join(plain[at : at + 3] for at in range(0, len(plain), 3))


def _percent(text: str, _dice: Random) -> str:
    return "".join(sign if sign.isalnum() else f"%{ord(sign):02X}" for sign in text)


def _html(text: str, dice: Random) -> str:
    return "".join(f"&#{ord(s)};" if not s.isalnum() or dice.random() < 0.2 else html.escape(s) for s in text)


def _json(text: str, dice: Random) -> str:
    return "".join(f"\\u{ord(s):04x}" if not s.isalnum() or dice.random() < 0.2 else s for s in text)


def _base64(text: str, _dice: Random) -> str:
    return base64.b64encode(text.encode()).decode()


def _at_dot(text: str, dice: Random) -> str:
    at, dot = dice.choice(((" at ", " dot "), (" (at) ", " (dot) "), ("[at]", "[dot]")))
    name, _, host = text.partition("@")
    return f"{name}{at}{host.replace('.', dot)}"


_MAIL_ONLY = {"lookalikes": _homoglyphs, "at-dot": _at_dot}
_DIGITS_ONLY = {
    "arabic-indic": lambda text, _dice: text.translate(_ARABIC_INDIC),
    "persian": lambda text, _dice: text.translate(_PERSIAN),
    "devanagari": lambda text, _dice: text.translate(_DEVANAGARI),
    "spaced": _spaced,
    "broken-line": _broken_line,
    "dotted": _dotted,
}
_ANY = {
    "zero-width": _zero_width,
    "soft-hyphen": _soft_hyphen,
    "bidi": _bidi,
    "full-width": lambda text, _dice: text.translate(_FULL_WIDTH),
    "percent": lambda text, _dice: urllib.parse.quote(text, safe="") if "@" in text else _percent(text, _dice),
    "html": _html,
    "json": _json,
    "base64": _base64,
}


def evasions_for(kind: str) -> dict[str, Disguise]:
    """The disguises that leave an identifier of this type readable to a person or a program."""
    if kind == "EMAIL":
        return {**_ANY, **_MAIL_ONLY}
    if kind in ("CARD", "IBAN"):
        return {**_ANY, **_DIGITS_ONLY}
    return {name: _ANY[name] for name in ("zero-width", "full-width", "soft-hyphen")} | {
        "arabic-indic": _DIGITS_ONLY["arabic-indic"]
    }
