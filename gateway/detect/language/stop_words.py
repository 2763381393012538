"""Common words and distinctive letters of about fifty languages, as tables that `language` counts with.

The words are in `everyday_words.txt` and are read once, at import. Keys are UTF-8 with ASCII in lower case, as
`language` cuts its words; a word with other letters is kept as it is written within a sentence, at its beginning, in
capitals and (from four letters on) typed without its marks.

A group is a set of languages that share a word. Its ballot is one integer with a field a language, so that a whole
text is counted with a few additions, and `points` opens the sum:

    ballots = sum(BALLOTS[GROUP_OF[word]] for word in words)
    points(ballots, "latin")             # for each of LANGUAGES["latin"], in its order
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

WORD, OWN_WORD = 20, 40
"""Points of a common word, and of one that only one language here contains."""
OWN_LETTER, _SHARED_LETTER = 10, 5

_CYRILLIC = ("ru", "uk", "kk", "be", "bg", "ky", "mk", "mn", "sr", "tt")
_ARABIC = ("ar", "fa", "ur", "ckb")
# Those that the gateway was made for come first where a short text could also be in one of the others, and English
# before them; the points are less than a word's.
EXPECTED = {
    **dict.fromkeys(("ar", "ru", "id", "de", "fr", "es", "pl", "kk", "tr", "it", "pt", "nl", "uk"), 12),
    "en": 14,
}

_LETTERS = {
    "latin": (
        ("ąęłżźśń", "pl"),
        ("ß", "de"),
        ("ñ¿¡", "es"),
        ("ãõ", "pt"),
        ("œ", "fr"),
        ("řěů", "cs"),
        ("őű", "hu"),
        ("țșă", "ro"),
        ("ə", "az"),
        ("ľĺŕť", "sk"),
        ("āēīņļķģ", "lv"),
        ("ėįų", "lt"),
        ("ơưạảấầẩậắặẹẻếềểệỉịọỏốồổộớờởợụủứừửữựỳỷ", "vi"),
        ("ğşı", "tr"),
        ("ø", "da no"),
        ("æ", "da no"),
        ("å", "sv da no fi"),
        ("ä", "de sv fi et sk"),
        ("ö", "de sv fi et tr hu az"),
        ("ü", "de tr hu et az es"),
        ("ç", "fr pt tr ca sq az"),
        ("ù", "fr it"),
        ("ê", "fr pt vi"),
        ("ë", "fr nl sq"),
        ("î", "fr ro"),
        ("û", "fr"),
        ("âô", "fr pt ro sk vi"),
        ("è", "fr it ca"),
        ("òì", "it ca"),
        ("à", "fr pt it ca"),
        ("é", "fr es pt it hu cs sk ca"),
        ("áíú", "es pt hu cs sk"),
        ("ó", "es pt hu cs sk pl"),
        ("ć", "pl hr"),
        ("đ", "hr vi"),
        ("čšž", "cs sk hr sl lt lv et"),
        ("ý", "cs sk"),
    ),
    "cyrillic": (
        ("ї", "uk"),
        ("єґ", "uk"),
        ("ў", "be"),
        ("қғұ", "kk"),
        ("җ", "tt"),
        ("ә", "kk tt"),
        ("һ", "kk tt"),
        ("ңөү", "kk ky tt mn"),
        ("і", "uk be kk"),
        ("ыэ", "ru be kk ky tt"),
        ("ё", "ru be mn"),
        ("ъ", "bg ru"),
        ("ђћљњ", "sr"),
        ("ѓќѕ", "mk"),
        ("јџ", "sr mk"),
    ),
    "arabic": (
        ("ةىكأإ", "ar"),
        ("گپچژکی", "fa"),
        ("ٹڈڑںےہھ", "ur"),
        ("ێۆڕڵەڤ", "ckb"),
    ),
}
"""By script: letters, and the languages in which they are everyday ones."""


def _read() -> Iterator[tuple[str, str]]:
    """Return every word with its language."""
    language = ""
    for line in (Path(__file__).parent / "everyday_words.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        head, colon, rest = line.partition(":")
        if colon:
            language = head
        for word in (rest if colon else line).split():
            yield word, language


def _spellings(word: str) -> set[str]:
    if word.isascii():
        return {word}
    letters = unicodedata.normalize("NFD", word.replace("ı", "i").replace("ł", "l"))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    typed = {plain} if len(plain) >= 4 and plain.isascii() else set()
    return {word, word[0].upper() + word[1:], word.upper(), *typed}


def _ascii_lower(word: str) -> bytes:
    return bytes(byte + 32 if 65 <= byte <= 90 else byte for byte in word.encode())


_of: dict[bytes, set[str]] = {}
for _word, _language in _read():
    for _spelling in _spellings(_word):
        _of.setdefault(_ascii_lower(_spelling), set()).add(_language)

LANGUAGES: dict[str, tuple[str, ...]] = {
    "latin": tuple(sorted({language for group in _of.values() for language in group} - {*_CYRILLIC, *_ARABIC})),
    "cyrillic": _CYRILLIC,
    "arabic": _ARABIC,
}
"""Script -> the languages that share it."""

_in_order = tuple(language for languages in LANGUAGES.values() for language in languages)
_shift = {language: 32 * place for place, language in enumerate(_in_order)}
_bytes = 4 * len(_in_order)
_slices = {
    script: slice(_in_order.index(languages[0]), _in_order.index(languages[-1]) + 1)
    for script, languages in LANGUAGES.items()
}

_sizes = Counter(map(frozenset, _of.values()))
GROUPS: tuple[frozenset[str], ...] = (
    frozenset(),
    *sorted(_sizes, key=lambda group: (-_sizes[group], sorted(group))),
)
"""Every set of languages that share a word, most words first; the first set is empty."""

_number_of = {group: number for number, group in enumerate(GROUPS)}
GROUP_OF: dict[bytes, int] = {word: _number_of[frozenset(group)] for word, group in _of.items()}
"""Word -> the number of its group."""

GROUPS_IN: dict[str, frozenset[int]] = {
    language: frozenset([number for number, group in enumerate(GROUPS) if language in group]) for language in _in_order
}
"""Language -> the numbers of all groups it is in."""

BALLOTS: tuple[int, ...] = tuple(
    sum((OWN_WORD if len(group) == 1 else WORD) << _shift[language] for language in group) for group in GROUPS
)
"""Points of one word, by index in `GROUPS`."""

LETTER_BALLOTS: dict[str, int] = {
    letter: sum((_SHARED_LETTER if " " in of else OWN_LETTER) << _shift[language] for language in of.split())
    for rows in _LETTERS.values()
    for letters, of in rows
    for letter in {*letters, *letters.upper()}
}
"""Points of each occurrence, by letter."""

OWN_LETTERS: dict[str, str] = {
    letter: of
    for script in ("latin", "cyrillic")
    for letters, of in _LETTERS[script]
    if " " not in of
    for letter in {*letters, *letters.upper()}
}
"""Letter -> the only language here that has it; not for Arabic script, where habits of typing differ."""

HEAD_START: int = sum(points << _shift[language] for language, points in EXPECTED.items())
"""Added once to every sum; alone it is not sufficient."""


def points(ballots: int, script: str) -> list[int]:
    """Return the points of each of `LANGUAGES[script]`."""
    return memoryview(ballots.to_bytes(_bytes, "little")).cast("I")[_slices[script]].tolist()
