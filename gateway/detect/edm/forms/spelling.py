"""The sound of a name, approximately: one key for its spellings in Latin, Cyrillic, Arabic and other scripts.

A passport, a bank form and a chat write the same name differently: Aleksei, Alexey, Алексей; Müller, Mueller, Muller;
Mohammed, Muhammad, محمد. `readings` returns the keys of a word, in a small alphabet: vowels, plain consonants, `S` for
all hushing sounds, `s` for all hissing ones. The usual transliterations have the same key. A spelling with two
pronunciations (`ch` in Chernov and in Mikhail) has two keys; two words may be the same name if they share one.

`consonant_skeletons` returns the consonants only, for names that Arabic script writes without short vowels.

    readings("Щербаков")                              # ("Serbakov",)
    set(readings("Schtscherbakow")) & set(readings("Shcherbakov"))      # {"Serbakov"}
    set(consonant_skeletons("Mohammed")) & set(consonant_skeletons("محمد"))                  # {"mhmd"}

This module compares words only. Whether a person is meant depends on a second word: see `matching.finder`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from operator import eq

from anyascii import anyascii

_MOST_READINGS = 8
_MOST_OPEN = 5  # parts of one word that are read in several ways
_LONGEST_WORD = 40  # characters; longer words cannot be names

# Cyrillic, Russian first, then what its neighbours add. A tuple is read in several ways.
_CYRILLIC: dict[str, tuple[str, ...]] = {
    **{letter: (sound,) for letter, sound in zip("абвдзиклмнопрстуфэ", "abvdsiklmnoprstufe", strict=True)},
    "г": ("g", "h"),
    "е": ("e",),
    "ё": ("e", "io", "o"),
    "ж": ("S",),
    "й": ("i",),
    "х": ("h",),
    "ц": ("s",),
    "ч": ("S",),
    "ш": ("S",),
    "щ": ("S",),
    "ъ": ("",),
    "ь": ("",),
    "ы": ("i",),
    "ю": ("iu",),
    "я": ("ia",),
    "і": ("i",),
    "ї": ("i",),
    "є": ("e", "ie"),
    "ґ": ("g",),
    "ў": ("v", "u"),
    "ә": ("a", "e"),
    "ғ": ("g",),
    "қ": ("k",),
    "ң": ("n", "ng"),
    "ө": ("o",),
    "ұ": ("u",),
    "ү": ("u",),
    "һ": ("h",),
    "ј": ("i",),
    "љ": ("li",),
    "њ": ("ni",),
    "ћ": ("S",),
    "ђ": ("S", "di"),
    "џ": ("S",),
    "дж": ("S",),
    "дз": ("s",),
    "ѓ": ("g",),
    "ќ": ("k",),
    "ѕ": ("s",),
}
_PAIRS = re.compile("дж|дз|.")

# Greek without its accents, as it sounds; a tuple is read in several ways.
_GREEK: dict[str, tuple[str, ...]] = {
    **{letter: (sound,) for letter, sound in zip("αβγδεζθικλμνοπρστφω", "avgdestiklmnoprstfo", strict=True)},
    "ξ": ("ks",),
    "ψ": ("ps",),
    "η": ("i",),
    "υ": ("i", "u"),
    "χ": ("h", "S"),
    "ου": ("u",),
    "αι": ("e", "ai"),
    "ει": ("i", "ai"),
    "οι": ("i", "oi"),
    "μπ": ("b", "mp"),
    "ντ": ("nt", "d"),
    "γκ": ("gk", "g"),
    "γγ": ("ng", "gg"),
    "τζ": ("ts", "S"),
    "αυ": ("av", "af", "au"),
    "ευ": ("ev", "ef", "eu"),
}
_GREEK_PAIRS = re.compile("ου|αι|ει|οι|μπ|ντ|γκ|γγ|τζ|αυ|ευ|.")

# Latin letters and groups of letters, as English, German, French, Polish, Turkish and scientific spellings use them.
_LATIN: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("schtsch", "shtch", "chtch", "shch", "szcz", "stsch", "šč", "tsch", "dzh", "dsch", "dž", "shh"), ("S",)
    ),
    **dict.fromkeys(("sh", "zh", "dż"), ("S",)),
    "cz": ("S", "s"),  # Polish, and ц of GOST 7.79
    "sc": ("sk", "S"),  # šč without its marks
    "sch": ("S",),
    "tzh": ("tS",),  # Akhmetzhanov
    "joe": ("io", "ie", "So"),
    "tch": ("S", "tS"),
    "tc": ("tk", "s"),  # ц of GOST R 52535
    "ch": ("S", "h"),
    "sz": ("S", "s"),
    "cs": ("S", "ks"),
    "rz": ("rs", "S"),
    "rzh": ("rS",),
    "dj": ("S", "di"),
    "kh": ("h",),
    "gh": ("g",),
    "ph": ("f",),
    "th": ("t",),
    "dh": ("d", "s", "dh"),
    "rh": ("r", "rh"),
    "tz": ("s",),
    "ts": ("s",),
    "dz": ("s",),
    "ck": ("k", "sk"),
    "qu": ("kv", "k", "ku"),
    "gue": ("gu", "gue", "ge"),  # Guerman
    "gui": ("gui", "gi"),
    "q": ("k", "g"),
    "x": ("ks", "h"),
    "w": ("v",),
    "j": ("i", "S"),
    "y": ("i",),
    "z": ("s",),
    "ce": ("se",),
    "ci": ("si",),
    "cy": ("si",),
    "cj": ("si",),
    "c": ("k", "s"),
    "ç": ("s", "S"),
    "ć": ("s", "S"),
    "č": ("S", "s"),
    "š": ("S", "s"),
    "ž": ("S", "s"),
    "ż": ("S", "s"),
    "ş": ("S", "s"),
    "ș": ("S", "s"),
    "ğ": ("g", ""),
    "ß": ("s",),
    "ł": ("l",),
    "ı": ("i",),
    "ñ": ("n", "ni"),
    "đ": ("d", "S"),
    "ǧ": ("S", "g"),
    "ġ": ("g",),
    "ḫ": ("h",),
    "ḏ": ("d", "s"),
    "ṯ": ("t", "s"),
    "ẓ": ("s", "d"),
    "þ": ("t",),
    "ä": ("e", "a"),
    "ae": ("e", "a", "ae"),
    "æ": ("e", "a"),
    "ö": ("o", "e"),
    "oe": ("o", "e", "oe"),
    "ø": ("o", "e"),
    "œ": ("o", "e"),
    "ü": ("u",),
    "ue": ("u", "ue"),
    "å": ("a", "o"),
    "â": ("a", "ia"),
    "û": ("u", "iu"),
    "ŝ": ("S", "s"),
    "ó": ("o", "u"),
    "ou": ("u",),
    "oo": ("u", "o"),
    "ee": ("i", "e"),
    "ie": ("e", "i", "ie"),
    "ą": ("a", "on"),
    "ę": ("e", "en"),
    "eau": ("o",),
    "yo": ("io", "e"),
    "yoe": ("io", "ie"),  # Gyoergy
    "eye": ("e", "aie"),
    "eie": ("e", "aie"),
    "jou": ("u", "Su"),
    "you": ("iou", "u", "eu"),
    "iou": ("iou", "u", "eu"),
    "jo": ("io", "e", "So"),
    "io": ("io", "e"),
    "ioe": ("io", "ie", "ioe"),  # Nordenskioeld
    "ye": ("e", "i"),
    "je": ("e", "i", "Se"),
}
_GROUPS = re.compile("|".join(sorted(map(re.escape, _LATIN), key=len, reverse=True)) + r"|\w")
_KEPT_MARKS = frozenset("ǧġḫḏṯẓäöüåøæœßçćčšžżşșğłıñđþóąęâûŝ")

# What is done to every reading, in this order, and doubled letters after either; the first column says if it could be.
_MERGERS: tuple[tuple[tuple[str, re.Pattern[str], str], ...], ...] = tuple(
    tuple((needed, re.compile(pattern), merged) for needed, pattern, merged in mergers)
    for mergers in (
        (
            ("off", r"off$", "ov"),
            ("ei", r"ei", "ai"),  # Meier, Maier; Aleksey, Aleksay
            ("ie", r"(?<=[aeou])i(?=e)|^i(?=e)", ""),  # Dmitrieva, Dmitriyeva; Yelena, Elena
            ("iu", r"iu", "u"),  # Yulia, Julia, Iuliia
        ),
        (
            ("er", r"(?<=[^aeiou])er$", "r"),  # Alexander, Aleksandr
            ("h", r"(?<=[aeou])h(?![aeiou])", ""),  # Johnson, Jonson; Hahn, Han
        ),
    )
)

_DOUBLE = re.compile(r"(.)\1+")
_VOWELS = re.compile("[aeiou]+")
_WEAK = re.compile("[aeiouv]")

# Arabic script, without its vowels.
_ARABIC: dict[str, tuple[str, ...]] = {
    **{letter: (sound,) for letter, sound in zip("بتخحدرزسشصضطغفكلمنهپگکڤ", "bthhdrssSsdtgfklmnhpgkf", strict=True)},
    "ث": ("t", "s"),
    "ج": ("S", "g"),
    "ذ": ("d", "s"),
    "ظ": ("s", "d"),
    "ق": ("k", "g"),
    "چ": ("S",),
    "ژ": ("S",),
}
ONE_ARABIC_FORM = str.maketrans(
    {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ة": "ه", "ى": "ي", "ـ": "", "ی": "ي", "ک": "ك"}
)
"""Letters that are written with and without their hamza or dots."""
_ASSIMILATED = re.compile(r"^abd[aeu]([rsnztd])(?=\1)")  # Abdurrahman: the article's l before a sun letter
_ARABIC_LETTER = re.compile("[\u0621-\u063f\u0641-\u064a\u0671-\u06d3]")


def is_arabic(word: str) -> bool:
    """Return whether a word is in Arabic script."""
    return _ARABIC_LETTER.match(word) is not None


def is_greek(word: str) -> bool:
    """Return whether a word is in Greek script."""
    return "\u0370" <= word[:1] <= "\u03ff" or "\u1f00" <= word[:1] <= "\u1fff"


def without_accents(word: str) -> str:
    """Return a Greek word in lower case without accents and breathings, as in capitals."""
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


def readings(word: str) -> tuple[str, ...]:
    """Return the keys of a word, most likely first; empty for a word in Arabic script, which has only skeletons."""
    return sounds(word)[0]


def sounds(word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return `readings` and `vowel_insensitive_keys` of a word, in half the time of two calls."""
    lowered = word.casefold()
    if not 0 < len(lowered) <= _LONGEST_WORD or is_arabic(lowered):
        return (), ()
    spelled = _spellings(lowered)
    return tuple(dict.fromkeys(map(_merged, spelled))), tuple(dict.fromkeys(map(_blurred, spelled)))


def consonant_skeletons(word: str) -> tuple[str, ...]:
    """Return the consonants of a word of any script, in Latin letters, so that scripts can be compared."""
    lowered = word.casefold()
    if not 0 < len(lowered) <= _LONGEST_WORD:
        return ()
    if not is_arabic(lowered):
        lowered = _ASSIMILATED.sub(r"abdul\1", lowered)
        bones = [_consonants(spelling) for spelling in _spellings(lowered)]
        if lowered.endswith("h"):
            bones += [f"{each}h" for each in bones]  # Saleh has a letter there that Fatimah has not
        return tuple(dict.fromkeys(bones))
    lowered = "".join(c for c in unicodedata.normalize("NFKD", lowered) if not unicodedata.combining(c))
    lowered = lowered.removeprefix("ال") if len(lowered) > 4 else lowered
    lowered = re.sub("[هة]$", "", re.sub(r"(.)\1", r"\1", lowered))
    parts = [_ARABIC.get(letter, ("",)) for letter in lowered]
    if lowered.startswith("و"):
        parts[0] = ("v",)
    return tuple(dict.fromkeys(_choices(parts)))


def vowel_insensitive_keys(word: str) -> tuple[str, ...]:
    """Return the keys of a word with all vowels equal, so that Mohammed and Muhammad have the same key."""
    lowered = word.casefold()
    if not 0 < len(lowered) <= _LONGEST_WORD or is_arabic(lowered):
        return ()
    lowered = _ASSIMILATED.sub(r"abdul\1", lowered)
    variants = (lowered, lowered.replace("th", "s")) if "th" in lowered else (lowered,)
    return tuple(dict.fromkeys(_blurred(spelling) for variant in variants for spelling in _spellings(variant)))


def _spellings(lowered: str) -> list[str]:
    """Return a word in the alphabet of the keys, before similar sounds are merged."""
    if "\u0400" <= lowered[0] <= "\u052f":
        parts = [_cyrillic(piece) for piece in _PAIRS.findall(unicodedata.normalize("NFC", lowered))]
    elif is_greek(lowered):
        parts = [
            _GREEK.get(piece, (anyascii(piece).lower(),)) for piece in _GREEK_PAIRS.findall(without_accents(lowered))
        ]
    else:
        plain = lowered if lowered.isascii() else _plain_latin(lowered)
        parts = [_LATIN.get(piece, (piece,)) for piece in _GROUPS.findall(plain)]
    return _choices(parts)


def _cyrillic(piece: str) -> tuple[str, ...]:
    return _CYRILLIC.get(piece) or (anyascii(piece).lower(),)


def _plain_latin(word: str) -> str:
    """Only ASCII and the marks that are read in a way of their own; any other script as anyascii spells it."""
    composed = unicodedata.normalize("NFC", word)
    return "".join(c if c.isascii() or c in _KEPT_MARKS else anyascii(c).lower() for c in composed)


def _choices(parts: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the most likely readings that the parts allow: those with the fewest second choices."""
    open_parts = [place for place, part in enumerate(parts) if len(part) > 1][:_MOST_OPEN]
    first = [part[0] for part in parts]
    if not open_parts:
        return ["".join(first)]
    chosen = []
    for ranks in _ranked(tuple(len(parts[place]) for place in open_parts)):
        for place, rank in zip(open_parts, ranks, strict=True):
            first[place] = parts[place][rank]
        chosen.append("".join(first))
    return chosen


@lru_cache(1 << 10)  # of some 4^5 that there are
def _ranked(choices: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return combinations of one choice for each part, the most likely first."""
    ranked = sorted(product(*map(range, choices)), key=lambda ranks: (sum(ranks), ranks))
    return ranked[:_MOST_READINGS]


def _merged(spelling: str) -> str:
    for mergers in _MERGERS:
        for needed, pattern, merged in mergers:
            if needed in spelling:
                spelling = pattern.sub(merged, spelling)
        spelling = single(spelling)
    return spelling


def single(spelling: str) -> str:
    """Replace doubled letters by single ones; checks first whether there are any, which is faster than the pattern."""
    return _DOUBLE.sub(r"\1", spelling) if any(map(eq, spelling, spelling[1:])) else spelling


def _blurred(spelling: str) -> str:
    return _VOWELS.sub("V", single(spelling).removesuffix("h"))


def _consonants(spelling: str) -> str:
    once = single(spelling)
    first = "v" if once.startswith("v") else ""
    return first + _WEAK.sub("", once[len(first) :].removesuffix("h"))
