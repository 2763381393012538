"""Which languages is a text in? By script, and by everyday words; no model, a few microseconds.

The answer steers policy: a language in which this site accepts the finding of names may leave, any other stays
on-prem. So the guess errs on one side only: "can't be told" (`und`) is an answer, and a paragraph in another language
or a word in another script is never outvoted by the rest.

    languages("Please confirm the transfer")          # {"en"}
    languages("Bitte bestätigen Sie die Überweisung")   # {"de"}
    languages("4111 1111")                              # {"zxx"}: nothing linguistic
"""

from __future__ import annotations

import re
from pathlib import Path

UNKNOWN = "und"  # ISO 639-2: undetermined
NONE = "zxx"  # ISO 639-2: no linguistic content


def _read_words() -> dict[str, list[str]]:
    """Word -> the languages it is an everyday word of."""
    languages_of: dict[str, list[str]] = {}
    language = ""
    for line in (Path(__file__).parent / "everyday_words.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        head, colon, rest = line.partition(":")
        if colon:
            language = head
        for word in (rest if colon else line).split():
            languages_of.setdefault(word, []).append(language)
    return languages_of


_LANGUAGES_OF = _read_words()

# First code point of a block, last one, and the language its letters most often mean. Any of them keeps a text from
# passing as English; which of the languages that share a script it is makes no difference here.
_SCRIPTS: tuple[tuple[str, str], ...] = (
    ("ru", "\u0400-\u052f"),
    ("el", "\u0370-\u03ff\u1f00-\u1fff"),
    ("he", "\u0590-\u05ff"),
    ("ar", "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc"),
    ("hi", "\u0900-\u0dff"),
    ("th", "\u0e00-\u0eff"),
    ("ka", "\u10a0-\u10ff"),
    ("am", "\u1200-\u139f"),
    ("ja", "\u3040-\u30ff"),
    ("zh", "\u3400-\u9fff\uf900-\ufaff"),
    ("ko", "\u1100-\u11ff\uac00-\ud7af"),
)
_SCRIPT_LETTERS = tuple((language, re.compile(f"[{ranges}]")) for language, ranges in _SCRIPTS)
# A letter of no Latin block and of none of the scripts above: something we know nothing about.
_STRANGE = re.compile(f"[^\\W\\d_a-zA-Z\u00aa-\u024f\u1e00-\u1eff{''.join(ranges for _, ranges in _SCRIPTS)}]")

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=[^\W\d_])")

_SHARE = 0.25  # of a text's words must be everyday words of its language; measured on English letters: 0.45 to 0.75
_FOREIGN_HITS = 3  # everyday words of another language, and more than English has, mark a paragraph as foreign


def languages(text: str) -> frozenset[str]:
    """The languages of `text` as ISO 639-1 codes, `und` when it can't be told, `zxx` when there are no words."""
    found: set[str] = set()
    if not text.isascii():
        found.update(language for language, letters in _SCRIPT_LETTERS if letters.search(text))
        if _STRANGE.search(text):
            found.add(UNKNOWN)
    whole = _guess(_words(text))
    if whole != NONE or not found:
        found.add(whole)
    if whole not in (NONE, UNKNOWN) and "\n" in text:
        for paragraph in _PARAGRAPH.split(text):
            other, hits = _best(_words(paragraph))
            if other not in (whole, NONE) and hits >= _FOREIGN_HITS:
                found.add(other)
    return frozenset(found)


def _words(text: str) -> list[str]:
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]


def _guess(words: list[str]) -> str:
    latin = [word for word in words if word[0] < "\u0250" or "\u1e00" <= word[0] <= "\u1eff"]
    if not latin:
        return NONE
    language, hits = _best(latin)
    return language if hits >= _SHARE * len(latin) and hits else UNKNOWN


def _best(words: list[str]) -> tuple[str, int]:
    """The language that most of `words` are everyday words of, and how many."""
    hits: dict[str, int] = {}
    for word in words:
        for language in _LANGUAGES_OF.get(word, ()):
            hits[language] = hits.get(language, 0) + 1
    if not hits:
        return NONE, 0
    # English is first among equals: its list is the longest, and the rest of the text decides anyway.
    best = max(hits, key=lambda language: (hits[language], language == "en", language))
    return best, hits[best]
