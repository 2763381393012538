"""Arabic names in Latin letters, as passports, newspapers and people of many countries spell them, in one spelling.

    romanised("Darweesh")                     # ("darwish",), as Darwish, Derwich
    set(romanised("Mohamed")) & set(romanised("Muhammad"))        # {"muhamad"}

Finer than `spelling.blurred`, in which any vowel is any other: a surname that stands alone is compared by these. Vowels
are a, i and u; e may be a or i. Consonants that only some spellings tell apart are one: h and kh, g and j, q and k.
"""

from __future__ import annotations

import re
import unicodedata

_SHORTEST = 4  # letters of what is left
_LETTERS = str.maketrans(
    {"ş": "sh", "š": "sh", "ǧ": "g", "ḫ": "h", "ġ": "g", "ç": "sh", "ı": "i", "ğ": "g"}
    | dict.fromkeys((*map(ord, "'’`ʿʾʻʼ‘"), 0x2BE, 0x2BF))
)
_SPELLINGS = tuple(
    (re.compile(pattern), sound)
    for pattern, sound in (
        (r"^abd[eu]l?(?=[^aeiou])", "abdul"),
        (r"tch|sch|ch|sh", "$"),
        (r"dj|j|gh|c(?![hk])", "g"),
        (r"kh", "h"),
        (r"ck|q", "k"),
        (r"ph", "f"),
        (r"[td]h", lambda found: found[0][0]),
        (r"(?:ou|w|v)(?=[aeiouy])|[wv]", "w"),
        (r"ou|oo|o", "u"),
        (r"ee", "i"),
        (r"[ae][iy](?![aeiou])", "ai"),
        (r"a[uw](?![aeiou])", "aw"),
        (r"y", "i"),
        (r"(.)\1+", r"\1"),
        (r"(?<=[aeiu])h$", ""),
        (r"[$]", "sh"),
    )
)
_ARTICLE = re.compile(r"^[ae]l(?=\w{4})")


def romanised(word: str) -> tuple[str, ...]:
    """The spellings of a Latin word in lower case; none for what is too short, or in other letters."""
    plain = unicodedata.normalize("NFD", word.translate(_LETTERS))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    if not (plain.isascii() and plain.isalpha()):
        return ()
    found: dict[str, None] = {}
    for each in (plain, _ARTICLE.sub("", plain)):
        spelled = each
        for pattern, sound in _SPELLINGS:
            spelled = pattern.sub(sound, spelled)
        if len(spelled) >= _SHORTEST:
            found[spelled.replace("e", "i")] = found[spelled.replace("e", "a")] = None
    return tuple(found)
