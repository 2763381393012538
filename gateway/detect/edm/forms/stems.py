"""Stems of names: `Петровой`, `Kowalskiego`, `Ерланның` and `Müllers` share one with their base form.

`base_stems` takes a name of a list; `stems` takes a word of a text, which may be inflected in any of
these languages. Two are the same name when they share a stem (compared by `spelling`, so across scripts as well):

    base_stems("Kowalska")                     # ("kowalsk",)
    "kowalsk" in stems("Kowalskiej")           # True

The language is not a parameter: a text may mix languages, and a wrong stem only costs a look-up without a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from .spelling import is_arabic, is_greek, without_accents

_SHORTEST_STEM = 3  # letters; one less of a short word, such as Яна
_SHORT_WORD = 4


def _by_length(text: str) -> tuple[tuple[int, frozenset[str]], ...]:
    """Endings by length, so that one look-up per length suffices."""
    endings = text.split()
    return tuple((n, frozenset(e for e in endings if len(e) == n)) for n in sorted({len(e) for e in endings}))


# Endings of cases and genders; every one that fits is tried.
_CYRILLIC = _by_length(
    """
    ого его ому ему ыми ими ую юю ой ою ей ею ым им ом ем ём ых их ами ями ам ям ах ях ая яя ий ый ии ию ие ье ия
    ием ёй ёю єм ій ої а я у ю ы и е о й ь і ї є ові еві єві єю ів ов ія ію ії ієм ієві
    """
)
# Kazakh and related languages; at least two letters, and only after four letters.
_TURKIC_CYRILLIC = _by_length(
    """
    дың дің тың тің ның нің ға ге қа ке ды ді ты ті да де та те дан ден тан тен нан нен мен бен пен ны ні
    лар лер дар дер тар тер ұлы қызы
    """
)
_LATIN = _by_length(
    """
    ego iego emu iemu ym im ia ej iej ą ę owi em iem om ami ach ów owie ie a e i j o u y á é í ý â as es
    ovi ou ého ému ým ové ovou ů ům ím ího ogo omu oi oy oj ei ey ii ij iy yy yi yj aya aia aja uyu ju ja yu ya lui ul
    ě ae oe ai am ui iui umi iumi os us ius is š aus iaus io ų ių į iu ė ės ę
    """
)
# The possessive s, suffixes of Turkish, Finnish, Hungarian, Indonesian without an apostrophe; only after four letters.
_LATIN_SUFFIXES = _by_length(
    """
    s in ın un ün nin nın nun nün ye ya de da te ta den dan ten tan le la yle yla yi yı yu yü
    lar ler lara lere ları leri ların lerin larda lerde lardan lerden
    n än an ssa ssä sta stä lla llä lle lta ltä ksi na nä nak nek t at et ot öt val vel ra re nál nél ban ben nya
    ta tä tól től ról ről hoz hez höz ért ı ü a ä iä
    """
)
# Consonants that change before an ending: Polish, Czech, Lithuanian. Text form -> list form.
_LATIN_CHANGES = dict(
    change.split(">")
    for change in """
    cie>t ce>k dze>g rze>r sie>s zie>z dzie>d nie>n wie>w mie>m bie>b pie>p le>ł ście>st śnie>sn szcze>sk
    ři>r ře>r ti>t ďi>d ci>t dzi>d čio>t čiui>t čiu>t čių>t džio>d džiui>d
    """.split()  # noqa: SIM905 - a table is read more easily than a list of quoted words
)

# Nominatives, longest first: what a list form loses. Adjectives have their gender in it.
_CYRILLIC_BASES = ("ий", "ый", "ой", "ая", "яя", "а", "я", "о", "й", "ь")
_LATIN_BASES = (
    "aya",
    "aia",
    "aja",
    "iy",
    "yi",
    "yj",
    "yy",
    "ij",
    "ii",
    "a",
    "j",
    "o",
    "y",
    "i",
    "e",
    "é",
    "á",
    "ý",
    "ä",
    "â",
)
_FLEETING = {"ів": "ов", "ець": "ц", "ец": "ц", "ок": "к", "ек": "к", "ёк": "к", "ел": "л", "лев": "льв"}
_FLEETING_LATIN = {"ěk": "k", "iec": "c", "ec": "c", "ek": "k", "ok": "k", "eł": "ł", "el": "l", "ień": "n", "ioł": "ł"}

# Nominatives of Greek, without accents and with σ for ς, as case folding has it.
_GREEK_BASES = ("οσ", "ησ", "ασ", "ου", "α", "η", "ω", "ο")
_GREEK = _by_length("οσ ησ ασ ου ο ε α η ω ωσ ων εα εωσ")
_BALTIC_BASES = ("ienė", "ius", "ias", "as", "is", "ys", "us", "os", "ė", "š", "s", "a", "e")
"""Lithuanian and Latvian endings, only for people with a name of these languages."""
_BALTIC = re.compile(
    "(?:auskas|[ei]nskas|evičius|avičius|aitis|utis|ėnas|ūnas|[aiuy]tė|ienė|iņš|iņa|ītis|ītes?)$|[āēėīįųģķļņ]"
)
_FINNISH = re.compile("nen$")
_ASSIMILATED = re.compile(r"(?:([^aeiou])\1|(c)cs|(s)sz|(g)gy|(n)ny|(l)ly|(t)ty|(z)zs)[ae]l$")
"""Hungarian: Istvánnal, Kováccsal; the name ends before the doubled letter."""
_CYRILLIC_CHANGES = {"ці": "к", "зі": "г", "сі": "х"}
"""Ukrainian: Ользі is Ольга."""

_ARABIC_CLITICS = ("و", "ف", "ب", "ل", "ك")


@lru_cache(1 << 16)  # in a list the same names come again and again
def is_baltic(name: str) -> bool:
    """Return True for a word of Lithuanian or Latvian form, of which the nominative has an ending of its own."""
    return _BALTIC.search(name.casefold()) is not None


def may_be_baltic(words: Iterable[str]) -> bool:
    """Return whether a word has a Lithuanian or Latvian form with a distinct nominative ending."""
    return all(word.endswith(("as", "is", "us", "ys", "ė")) for word in words)


def without_dot(folded: str) -> str:
    """Return a folded word without the combining dot of a Turkish capital: İPEK is ipek."""
    return folded.replace("i\u0307", "i")


def base_stems(name: str, *, is_baltic_name: bool = False) -> tuple[str, ...]:
    """Return the stems of a name as the list contains it.

    Args:
        is_baltic_name: the whole name is Lithuanian or Latvian.
    """
    word = name.casefold()
    if is_arabic(word):
        return (word,)
    if is_greek(word):
        return (_without_first(without_accents(word), _GREEK_BASES),)
    is_cyrillic = "\u0400" <= word[:1] <= "\u052f"
    found = [_without_first(word, _CYRILLIC_BASES if is_cyrillic else _LATIN_BASES)]
    if is_baltic_name:
        found.append(_without_first(word, _BALTIC_BASES))
    if _FINNISH.search(word):
        found.append(word[:-3] + "s")
    if word.endswith("ая"):
        found.append(word[:-1])  # Аглая has no adjective's cases
    if word.endswith(("eia", "eya", "eja")):
        found.append(word[:-2])  # Пелагея
    for ending, short in (_FLEETING if is_cyrillic else _FLEETING_LATIN).items():
        if word.endswith(ending) and len(word) - len(ending) + len(short) >= _SHORTEST_STEM:
            found.append(word[: -len(ending)] + short)
    return tuple(dict.fromkeys(found))


def stems(word: str) -> tuple[str, ...]:
    """Return every possible stem of a word of a text, the word itself first."""
    return tuple(dict.fromkeys(_stems(word.casefold())))


def _stems(word: str) -> Iterator[str]:
    yield word
    if is_arabic(word):
        if word[0] in _ARABIC_CLITICS and len(word) >= 4:
            yield word[1:]
            if word.startswith("لل"):
                yield "ال" + word[2:]
            if word[0] in "وف" and word[1] in _ARABIC_CLITICS and len(word) >= 5:
                yield word[2:]
                if word.startswith("لل", 1):
                    yield "ال" + word[3:]
        return
    if is_greek(word):
        plain = without_accents(word)
        yield plain
        yield from _cut(plain, _GREEK, _SHORTEST_STEM)
        return
    is_cyrillic = "\u0400" <= word[:1] <= "\u052f"
    bases = _CYRILLIC_BASES if is_cyrillic else _LATIN_BASES
    for stem in _cut(word, _CYRILLIC if is_cyrillic else _LATIN, _SHORTEST_STEM):
        yield stem
        if stem[-1] == "j" and len(stem) > _SHORTEST_STEM:
            yield stem[:-1]  # Błażejowi: of a nominative its j is lost as well
    yield _without_first(word, bases)
    for nominative in _cut(word, _TURKIC_CYRILLIC if is_cyrillic else _LATIN_SUFFIXES, _SHORTEST_STEM + 1):
        yield nominative
        yield _without_first(nominative, bases)
    if is_cyrillic:
        base = _CYRILLIC_CHANGES.get(word[-2:])
        if base is not None and len(word) >= _SHORT_WORD:
            yield word[:-2] + base
    else:
        if match := _ASSIMILATED.search(word):
            yield word[: match.start() + 1] if match[1] else word[: match.start()] + word[match.start() + 1 : -2]
        for length in (2, 3, 4, 5):
            base = _LATIN_CHANGES.get(word[-length:])
            if base is not None and len(word) - length + len(base) >= _SHORTEST_STEM:
                yield word[:-length] + base


def _cut(word: str, endings: tuple[tuple[int, frozenset[str]], ...], shortest: int) -> Iterator[str]:
    if len(word) <= _SHORT_WORD:
        shortest -= 1
    for length, of_length in endings:
        if len(word) - length >= shortest and word[-length:] in of_length:
            yield word[:-length]


def _without_first(word: str, endings: tuple[str, ...]) -> str:
    for ending in endings:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM - 1:
            return word[: -len(ending)]
    return word
