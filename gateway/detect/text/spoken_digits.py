"""Digits spelled as words, as in transcripts: "four one one one", "vier eins eins eins".

    edits("card four one one one one one one one")      # the words as 41111111

Only a run of `_FEWEST` digits counts, in one language, with "and", commas and hyphens between at most.
"""

from __future__ import annotations

import re

from .scanner import Pattern
from .view import Edit

_FEWEST = 6
# The words for 0 to 9; several forms of one digit with a slash.
_WORDS = (
    "zero/oh one two three four five six seven eight nine/niner",
    "null eins/ein zwei/zwo drei vier fünf/fuenf sechs sieben acht neun",
    "zéro un deux trois quatre cinq six sept huit neuf",
    "cero uno/un dos tres cuatro cinco seis siete ocho nueve",
    "zero um/uma dois/duas três quatro cinco seis/meia sete oito nove",
    "zero uno due tre quattro cinque sei sette otto nove",
    "zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć",
    "nul een/één twee drie vier vijf zes zeven acht negen",
    "ноль/нуль один/одна два/две три четыре пять шесть семь восемь девять",
    "sıfır bir iki üç dört beş altı yedi sekiz dokuz",
    "nol/kosong satu dua tiga empat lima enam tujuh delapan sembilan",
    "صفر واحد/واحدة اثنان/اثنين/إثنان ثلاثة/ثلاث أربعة/اربعة خمسة/خمس ستة/ست سبعة/سبع ثمانية/ثمان تسعة/تسع",
)
_GAP = r"[ ,.\n-]{1,3}"


def _digits_of(words: str) -> dict[str, str]:
    return {form: str(digit) for digit, forms in enumerate(words.split()) for form in forms.split("/")}


_LANGUAGES = [_digits_of(words) for words in _WORDS]


def _any(words: dict[str, str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_RUNS = [
    (
        words,
        re.compile(rf"(?<!\w)(?:(?:{_any(words)}){_GAP}){{{_FEWEST - 1},40}}(?:{_any(words)})(?!\w)", re.IGNORECASE),
        re.compile(rf"({_any(words)})|{_GAP}", re.IGNORECASE),
    )
    for words in _LANGUAGES
]


def _gate(words: dict[str, str]) -> Pattern:
    forms = "|".join(sorted({form for word in words for form in (word, word.upper(), word.capitalize())}))
    return Pattern(f"(?:(?:{forms}){_GAP}){{{_FEWEST - 1}}}(?:{forms})", is_once=True)


GATES = [_gate(words) for words in _LANGUAGES]
"""Strings, of which every text that `edits` would change contains at least one."""


def edits(text: str) -> list[Edit]:
    """Yield an edit for every word of a run: the word becomes its digit, the separators are removed."""
    found: dict[int, Edit] = {}
    for words, run, piece in _RUNS:
        for match in run.finditer(text):
            if any(start in found for start in range(match.start(), match.end())):
                continue
            for part in piece.finditer(text, match.start(), match.end()):
                found[part.start()] = (part.start(), part.end(), words.get((part[1] or "").lower(), ""))
    return sorted(found.values())
