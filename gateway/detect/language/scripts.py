"""Scripts of a text, from its UTF-8 bytes: for most scripts the first byte of a character is sufficient.

    scripts_in("Пожалуйста call".encode(), "Пожалуйста call")    # families {"cyrillic", "latin"}, no languages

A script that several languages share is a family, whose language the words determine. A script of a single language, or
of several languages that no finder supports, determines the language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ASCII_AND_CONTINUATION = bytes(range(0xC0))
# Lead bytes of U+00C0-027F: Latin; of U+0400-04FF: Cyrillic; of U+0600-06FF: Arabic. All else takes a closer look.
_LATIN, _CYRILLIC, _ARABIC = bytes(range(0xC3, 0xCA)), bytes(range(0xD0, 0xD4)), bytes(range(0xD8, 0xDC))
_PLAIN = bytes([0xC2]) + _LATIN + _CYRILLIC + _ARABIC
_ASCII_LETTER = re.compile(rb"[A-Za-z]")
# General punctuation, currency, arrows, dingbats and most emoji: no letters.
_SIGN_PREFIXES = (b"\xe2\x80", b"\xe2\x82\xac", b"\xe2\x84\x96", b"\xe2\x86", b"\xe2\x9c", b"\xf0\x9f\x98")

_LETTER_OF = (
    ("el", "\u0370-\u03ff\u1f00-\u1fff"),
    ("he", "\u0590-\u05ff\ufb1d-\ufb4f"),
    ("hi", "\u0900-\u0dff\u1cd0-\u1cff\ua8e0-\ua8ff"),
    ("th", "\u0e00-\u0eff"),
    ("ka", "\u10a0-\u10ff\u1c90-\u1cbf"),
    ("hy", "\u0530-\u058f\ufb13-\ufb17"),
    ("am", "\u1200-\u139f"),
    ("ko", "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"),
    ("ja", "\u3040-\u30ff\uff66-\uff9d"),
    ("zh", "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"),
)
_SCRIPTS = tuple((language, re.compile(f"[{letters}]")) for language, letters in _LETTER_OF)
_FAMILIES = (
    ("latin", re.compile("[\u1e00-\u1eff]")),
    ("cyrillic", re.compile("[\u0500-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f]")),
    ("arabic", re.compile("[\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc]")),
)
_KNOWN = "".join(letters for _, letters in _LETTER_OF) + (
    "a-zA-Z\u00aa-\u024f\u1e00-\u1eff\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f"
    "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc"
)
_IN_FRAMES = "\u249c-\u24e9\U0001f110-\U0001f189"  # letters in circles and squares, which Unicode calls symbols
# A letter of no script above: something we know nothing about.
_STRANGE = re.compile(rf"[^\W\d_{_KNOWN}]|[{_IN_FRAMES}]")


@dataclass(frozen=True, slots=True)
class Scripts:
    """Scripts of a text."""

    families: tuple[str, ...]
    """Scripts among `latin`, `cyrillic`, `arabic`."""
    languages: tuple[str, ...]
    """Languages of scripts that only one language uses."""
    is_strange: bool
    """A letter of a script that is in no table."""


LATIN_ONLY = Scripts(("latin",), (), False)


def scripts_in(data: bytes, text: str) -> Scripts:
    """Return the scripts in `text`.

    Args:
        data: the same text in UTF-8.
    """
    leads = data.translate(None, _ASCII_AND_CONTINUATION)
    families = []
    if any(map(leads.__contains__, _CYRILLIC)):
        families.append("cyrillic")
    if any(map(leads.__contains__, _ARABIC)):
        families.append("arabic")
    if _ASCII_LETTER.search(data) or any(map(leads.__contains__, _LATIN)):
        families.append("latin")
    others = leads.translate(None, _PLAIN)
    if not others or len(others) == sum(data.count(prefix) for prefix in _SIGN_PREFIXES if prefix[0] in others):
        return Scripts(tuple(families), (), False)
    families += (name for name, letters in _FAMILIES if name not in families and letters.search(text))
    languages = [language for language, letters in _SCRIPTS if letters.search(text)]
    if "ja" in languages and "zh" in languages:
        languages.remove("zh")
    return Scripts(tuple(families), tuple(languages), _STRANGE.search(text) is not None)
