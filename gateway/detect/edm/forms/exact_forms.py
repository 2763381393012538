"""Exact keys of surnames without other words of the name: the spelling must match, unlike in `keys`.

Two words of one person may be compared by sound, because they confirm each other. A single word may not: "Dice" does
not match "Deise". So only case endings of the surname's own declension, missing marks (ö as o or oe) and the standard
transliterations of Cyrillic match. A key is a stem and a declension; a word of a text has one key for every declension
to which its ending could belong:

    listed_forms("Kowalska")                                         # {"fkowalska|x", "fkowalsk|s"}
    text_forms("Ковальской") & listed_forms("Kowalska")              # {"fkowalsk|s"}
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import IntEnum

from .keys import short_spellings
from .romanization import romanised, transcribed, unvowelled
from .spelling import ONE_ARABIC_FORM, is_arabic, is_greek, without_accents
from .stems import is_baltic, stems, without_dot
from .transliteration import in_latin


class Form(IntEnum):
    """Spelling of a surname in a text, most certain first."""

    AS_LISTED = 0
    """The nominative of any gender, in any script."""
    POSSESSIVE = 1
    """With the s of a genitive, which in other languages is a plural's."""
    INFLECTED = 2
    """In another case."""
    SUFFIXED = 3
    """With a suffix of a language that adds suffixes to any name: Turkish, Hungarian, Finnish, Indonesian."""


def _declensions(table: str) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    rows = (line.split(":") for line in table.strip().splitlines())
    return {
        name.strip(): tuple(
            frozenset("" if ending == "-" else ending for ending in half.split()) for half in endings.split("|")
        )  # type: ignore[misc]
        for name, endings in rows
    }


# Declension: endings of the nominative | of the other cases. A hyphen is an empty ending.
_CYRILLIC = _declensions(
    """
    s: ий ый ой ая яя а | ого его ому ему ым им ом ем ей ую юю ых их ої ій у ою ие ые і
    a: а я            | ы и е у ю ой ей ою ею і ї єю
    y: ь й            | я ю ем ём е и єм єві ї
    o: о              | а у ом ові и ів ам ами
    c: -              | а у ом ем ым е ы ых ой ові и і ей ів ов ами
    """
)
_LATIN = _declensions(
    """
    s: i a y iy ij yj ii yi yy aya aia aja aa oi oy oj | iego iemu im iej ich imi ie ogo omu ym uyu eho emu e ou
    a: a                                | y i e ie u ou ze ce
    o: o                                | y i e ie a om
    c: -                                | a u owi em iem e ie y ow om ami owie ovi s oi oy
    x: -                                | s owi iem ovi em a u
    """
)
_BALTIC = _declensions("b: ienė as is ys us ius ias š s ė e a | -")
_BALTIC_PLAIN = _declensions(
    """
    b: iene as is ys us ius ias s e a   | o ui a u i ai e aus iaus iu io iui iumi umi ei es os am im ienes ienei
    """
)
_GREEK = _declensions(
    """
    g: οσ ησ ασ ου α η ω ο              | ε ου ο η α ησ ασ ωσ
    """
)
# Suffixes of Turkish, Hungarian, Finnish and Indonesian, without marks, and what stood in their place.
_SUFFIXES: dict[str, tuple[str, ...]] = {}
for _pair in """
    in un nin nun yi yu i u e a ye ya de da te ta den dan ten tan le la yle yla
    nak nek t ot et al el val vel tol rol hoz hez ert ban ben bol bel ra re nal
    n lle lla lta ssa sta ksi sen>nen selle>nen sella>nen selta>nen sessa>nen sesta>nen seen>nen sta>nen seksi>nen
    en>i ella>i elta>i essa>i esta>i elle>i den>ti
    nya lar ler larin lerin lara lere lari leri larda lerde lardan lerden larla lerle
    """.split():  # noqa: SIM905 - a table is read more easily than a list of quoted words
    _suffix, _, _instead = _pair.partition(">")
    _SUFFIXES[_suffix] = (*_SUFFIXES.get(_suffix, ()), _instead)
_LONGEST_SUFFIX = max(map(len, _SUFFIXES))
_DOUBLED = re.compile(r"([^aeiou])\1[ae]l\Z")  # Hungarian: Szabadossal
_SHORTEST_BEFORE_SUFFIX = 4  # letters
_FLEETING = tuple(
    pair.split(">")
    for pair in "iec>c ec>c ek>k ok>k el>l ел>л ей>ь ец>ц ець>ц ок>к ек>к ёк>ьк ів>ов".split()  # noqa: SIM905 - as above
)
"""Endings with a fleeting vowel, and the same endings without it."""
# Consonants that change before an ending: Polish and Czech, Ukrainian.
_CHANGES = tuple(
    each.split(">") for each in ("ce>k", "dze>g", "rze>r", "cie>t", "dzie>d", "le>l", "sie>s", "zie>z", "ze>h")
)
_CHANGES_CYRILLIC = (("ці", "к"), ("зі", "г"), ("сі", "х"))
_ADJECTIVE = re.compile(
    r"(?:[sc]k|dzk)(?:i|a|y|iy|ij|yj|ii|yi|yy|aya|aia|aja)\Z|[nlvrtdm](?:yi|yj)\Z|(?:[сцз]ь?к|[бвлнргмт])(?:ий|ый|ой|ая|яя)\Z|[сцз]ька\Z"
)
_SLAVIC = re.compile(
    r"(?:wicz|witsch|vich|vic|czyk|cik|[aeiy]k|uk|chuk|[oe]w|[oe]v|[iy]n|enko|ic|iec|ec|arz|acz|en|an|on|bel|gel|[oe]va|[iy]na|[oe]wa"
    r"|sz|asz|ko|sla[wv])\Z"
)
_KAZAKH_SUFFIX = re.compile(r"(?:[дтн][ыі]ң|[ғқ]а|[гк]е|[дтн][ае]н|[мбп]ен|[дтн][ыі]|[дт][ае])\Z")
_KAZAKH_LETTER = re.compile("[әғқңөұүһі]")
_OF_A_PLACE = re.compile("[وف]?[بك]?(ال\\w{3,30}ي)")
_SHORTEST_STEM = 3  # letters
_SHORTEST_SPELLED = 5  # letters of a usual spelling that needs no other word: "said" is a word

_WITHIN_WORDS = dict.fromkeys((*map(ord, "'’`ʼʹʺ"), 0x360, 0x361, 0x362))
"""Apostrophes, soft signs and ties of transliterations."""
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_PLAIN = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"})


def listed_forms(
    surname: str, *, is_baltic_name: bool = False, is_arabic_name: bool = False, is_given: bool = False
) -> frozenset[str]:
    """Return the keys of a listed surname.

    Args:
        is_baltic_name: the whole name is Lithuanian or Latvian.
        is_arabic_name: it is Arabic.
        is_given: whether it is a given name, which needs a surname next to it.
    """
    found = frozenset(_listed(_normal(surname), is_baltic_name or is_baltic(surname)))
    if not is_arabic_name:
        return found
    short = (f"f{each}|x" for each in short_spellings(surname) if is_given or len(each) >= _SHORTEST_SPELLED)
    in_script = (f"f{each}|l" for each in transcribed(surname))
    in_latin_letters = () if is_given else (f"f{each}|t" for each in unvowelled(surname.casefold()))
    return found.union(romanised_forms(surname), in_script, in_latin_letters, short)


def across_forms(word: str) -> Iterable[str]:
    """Return the keys of an Arabic name in the other script: Arabic for a Latin word, Latin for an Arabic word.

    Without vowels, a word in Arabic script is certainly a name only if its form means a family or a place of origin.
    """
    if is_arabic(word):
        match = _OF_A_PLACE.fullmatch(word)
        return (f"f{spelling}|t" for spelling in transcribed(match[1])) if match else ()
    return (f"f{spelling}|l" for spelling in unvowelled(word.casefold()))


def romanised_forms(word: str) -> Iterator[str]:
    """Return the keys of an Arabic name in Latin letters, for all its spellings."""
    return (f"f{spelling}|r" for spelling in romanised(word.casefold()))


def text_forms(word: str) -> frozenset[str]:
    """Return the keys of a word of a text, for every declension that its ending allows."""
    return frozenset(key for key, _ in _in_text(_normal(word)))


def forms_of(word: str) -> dict[str, Form]:
    """Return the same keys, each with the form of the word if the surname is that one."""
    found: dict[str, Form] = {}
    for key, form in _in_text(_normal(word)):
        if form < found.get(key, len(Form)):
            found[key] = form
    return found


def before_suffix(word: str) -> Iterator[str]:
    """Yield the forms of a word without a suffix of Turkish, Hungarian, Finnish or Indonesian."""
    for length in range(1, min(_LONGEST_SUFFIX, len(word) - _SHORTEST_BEFORE_SUFFIX) + 1):
        for instead in _SUFFIXES.get(word[-length:], ()):
            yield word[:-length] + instead
    if _DOUBLED.search(word):
        yield word[:-3]


def _normal(word: str) -> str:
    composed = unicodedata.normalize("NFC", without_dot(word.casefold())).translate(_WITHIN_WORDS)
    return without_accents(composed) if is_greek(composed) else composed.translate(ONE_ARABIC_FORM)


def _listed(written: str, is_baltic_name: bool) -> Iterator[str]:
    name = written.replace("ё", "е")
    yield f"f{name}|x"
    if is_arabic(name):
        return
    if is_greek(name):
        stem, declension = _declined(name, _GREEK, is_slavic=True)
        yield f"f{stem}|{declension}"
        yield from (f"f{latin}|x" for latin in in_latin(name))
        return
    if _is_cyrillic(name):
        for each in dict.fromkeys((name, written)):
            stem, declension = _declined(each, _CYRILLIC, is_slavic=True)
            yield f"f{stem}|{declension}"
            yield from (f"f{latin}|{declension}" for latin in in_latin(stem))
            yield from (f"f{latin}|x" for latin in in_latin(each))
        yield from (f"f{short}|c" for short in _fleeting(name))
        return
    baltic = _declined(name, _BALTIC, is_slavic=True) if is_baltic_name else None
    for plain in without_marks(name):
        is_slavic = _SLAVIC.search(plain) is not None
        stem, declension = _declined(plain, _LATIN, is_slavic=is_slavic)
        yield f"f{plain}|x"
        yield f"f{stem}|{declension}"
        if is_slavic:
            yield from (f"f{short}|c" for short in _fleeting(plain))
        if baltic is not None:
            yield f"f{_unmarked(baltic[0])}|b"


def _fleeting(name: str) -> Iterator[str]:
    """Yield stems without the fleeting vowel: Havlíček, Havlíčka."""
    for ending, short in _FLEETING:
        if name.endswith(ending) and len(name) - len(ending) >= _SHORTEST_STEM - 1:
            yield name[: -len(ending)] + short
            return


def _in_text(word: str) -> Iterator[tuple[str, Form]]:
    word = word.replace("ё", "е")
    yield f"f{word}|x", Form.AS_LISTED
    if is_arabic(word):
        yield from ((f"f{stem}|x", Form.AS_LISTED) for stem in stems(word))
        return
    if is_greek(word):
        yield from ((f"f{stem}|{declension}", form) for stem, declension, form in _stems(word, _GREEK_ENDINGS))
        return
    if not _is_cyrillic(word):
        for plain in without_marks(word):
            yield from ((f"f{stem}|{declension}", form) for stem, declension, form in _stems(plain, _LATIN_ENDINGS))
            yield from ((f"f{stem}|b", form) for stem, _, form in _stems(plain, _BALTIC_ENDINGS))
            yield from ((f"f{stem}|x", Form.SUFFIXED) for stem in before_suffix(plain))
            for ending, base in _CHANGES:
                if plain.endswith(ending) and len(plain) - len(ending) >= _SHORTEST_STEM - 1:
                    stem = plain.removesuffix(ending) + base
                    yield from ((f"f{stem}|{declension}", Form.INFLECTED) for declension in "ac")
        return
    yield from ((f"f{latin}|x", Form.AS_LISTED) for latin in in_latin(word, is_usual=True))
    for stem, declension, form in _stems(word, _CYRILLIC_ENDINGS):
        yield f"f{stem}|{declension}", form
        for latin in in_latin(stem, is_usual=True):
            yield f"f{latin}|{declension}", form
            if declension == "c":
                yield f"f{latin}|x", form
    suffix = _KAZAKH_SUFFIX.search(word)
    if suffix and suffix.start() > _SHORTEST_STEM:
        form = Form.INFLECTED if _KAZAKH_LETTER.search(word) else Form.SUFFIXED
        yield from ((key, form) for key, _ in _in_text(word[: suffix.start()]))
    for ending, base in _CHANGES_CYRILLIC:
        if word.endswith(ending):
            yield f"f{word.removesuffix(ending)}{base}|a", Form.INFLECTED


def _declined(
    name: str, table: dict[str, tuple[frozenset[str], frozenset[str]]], *, is_slavic: bool
) -> tuple[str, str]:
    """Return the stem and declension of a nominative."""
    if "s" in table and _ADJECTIVE.search(name):
        # A name in two scripts may have the ending of the other one.
        ending = max((each for each in table["s"][0] if name.endswith(each)), key=len, default="")
        return name[: len(name) - len(ending)], "s"
    if is_slavic or name.endswith(("a", "o")):
        for declension, (nominatives, _) in table.items():
            ending = max((each for each in nominatives if name.endswith(each)), key=len, default="")
            if ending and declension != "s" and len(name) - len(ending) >= _SHORTEST_STEM - 1:
                return name[: -len(ending)], declension
    return name, "c" if is_slavic else "x"


def _by_ending(
    table: dict[str, tuple[frozenset[str], frozenset[str]]],
) -> tuple[range, dict[str, list[tuple[str, Form]]]]:
    """Return the lengths of the endings, and for each ending its declensions and the form that it makes."""
    found: dict[str, list[tuple[str, Form]]] = {}
    for declension, (nominatives, others) in table.items():
        for ending in (*nominatives, *others):
            form = Form.AS_LISTED if ending in nominatives else Form.INFLECTED
            found.setdefault(ending, []).append((declension, Form.POSSESSIVE if ending == "s" else form))
    return range(max(map(len, found)) + 1), found


_CYRILLIC_ENDINGS, _LATIN_ENDINGS = _by_ending(_CYRILLIC), _by_ending(_LATIN)
_BALTIC_ENDINGS, _GREEK_ENDINGS = _by_ending(_BALTIC_PLAIN), _by_ending(_GREEK)


def _stems(word: str, endings: tuple[range, dict[str, list[tuple[str, Form]]]]) -> Iterator[tuple[str, str, Form]]:
    lengths, of_ending = endings
    for length in lengths:
        end = len(word) - length
        if end < min(_SHORTEST_STEM, len(word)):
            return
        for declension, form in of_ending.get(word[end:], ()):
            yield word[:end], declension, form


def without_marks(word: str) -> set[str]:
    """Return a Latin word without diacritics: ö becomes o or oe."""
    if word.isascii():
        return {word}
    return {_unmarked(word), _unmarked(word.translate(_UMLAUTS))}


def _unmarked(word: str) -> str:
    letters = unicodedata.normalize("NFD", word.translate(_PLAIN))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _is_cyrillic(word: str) -> bool:
    return "\u0400" <= word[:1] <= "\u052f"
