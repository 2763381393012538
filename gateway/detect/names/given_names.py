"""Given names, read from `given_names.txt`, in all their forms: with a capital, in capitals, in Slavic cases.

is_given_name("Ивану")      # True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from .non_names import NON_NAMES, is_common_word

_FOLDER = Path(__file__).parent
_WORDS = "?"  # ends the language of a row of words that are names as well

# What replaces the end of a nominative: first row that fits. The endings of nouns of that shape, all cases, singular.
_CASES: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "ru": (
        ("ия", ("ии", "ию", "ией", "иею")),
        ("ья", ("ьи", "ье", "ью", "ьей")),
        ("а", ("ы", "и", "е", "у", "ой", "ою", "ей")),
        ("я", ("и", "е", "ю", "ей", "ею")),
        ("ий", ("ия", "ию", "ием", "ии")),
        ("ей", ("ея", "ею", "еем", "ее")),
        ("й", ("я", "ю", "ем", "е")),
        ("вел", ("вла", "влу", "влом", "вле")),
        ("лев", ("льва", "льву", "львом", "льве")),
        ("ь", ("я", "ю", "ем", "е", "и")),
        ("", ("а", "у", "ом", "ем", "е")),
    ),
    "uk": (
        ("ія", ("ії", "ію", "ією")),
        ("а", ("и", "і", "у", "ою", "о")),
        ("я", ("і", "ю", "ею", "є")),
        ("ій", ("ія", "ію", "ієм", "ії", "ієві")),
        ("о", ("а", "у", "ом", "ові")),
        ("й", ("я", "ю", "єм")),
        ("", ("а", "у", "ом", "ові", "е", "ем")),
    ),
    "pl": (
        ("ka", ("ki", "ce", "kę", "ką", "ko")),
        ("ia", ("ii", "ię", "ią", "io")),
        ("la", ("li", "lę", "lą", "lo")),
        ("na", ("ny", "nie", "nę", "ną", "no")),
        ("ta", ("ty", "cie", "tę", "tą", "to")),
        ("ra", ("ry", "rze", "rę", "rą", "ro")),
        ("da", ("dy", "dzie", "dę", "dą", "do")),
        ("a", ("y", "i", "ie", "ę", "ą", "o")),
        ("weł", ("wła", "włowi", "włem", "wle")),
        ("ek", ("ka", "kowi", "kiem", "ku")),
        ("y", ("ego", "emu", "ym")),
        ("i", ("iego", "iemu", "im")),
        ("tr", ("tra", "trowi", "trem", "trze")),
        ("", ("a", "owi", "em", "iem", "ie", "u")),
    ),
}


def _read() -> Iterator[tuple[str, str]]:
    language = ""
    for line in (_FOLDER / "given_names.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line:
            continue
        language, _, names = line.partition(":")
        for name in names.split():
            yield language, name


def _cases(language: str, name: str) -> Iterable[str]:
    if not language.endswith("+"):
        return ()
    ending, others = next(row for row in _CASES[language[:-1]] if name.endswith(row[0]))
    forms = (name[: len(name) - len(ending)] + other for other in others)
    return (form for form in forms if form not in NON_NAMES and not is_common_word(form))


GIVEN_NAMES: frozenset[str] = frozenset(
    form for language, name in _read() if not language.endswith(_WORDS) for form in (name, *_cases(language, name))
)
"""Every form, in lower case."""
GIVEN_WORDS: frozenset[str] = frozenset(name for language, name in _read() if language.endswith(_WORDS))
"""Common words that are given names as well, in lower case; they count only with a surname after them."""


def names_of(language: str) -> frozenset[str]:
    """Return the names of one row of the list, such as `ar-latin`: lower case, nominatives only."""
    return frozenset(name for row, name in _read() if row == language)


def is_given_name(word: str) -> bool:
    """Return whether a word is a given name, in any grammatical case and spelling."""
    return word.lower() in GIVEN_NAMES
