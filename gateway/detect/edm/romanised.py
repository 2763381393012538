"""Arabic names in Latin letters, as passports, newspapers and people of many countries spell them, in one spelling.

    romanised("Darweesh")                     # ("darwish",), as Darwish, Derwich
    set(romanised("Mohamed")) & set(romanised("Muhammad"))        # {"muhamad"}

Finer than `spelling.blurred`, in which any vowel is any other: a surname that stands alone is compared by these. Vowels
are a, i and u; e may be a or i. Consonants that only some spellings tell apart are one: h and kh, g and j, q and k.
"""

from __future__ import annotations

import re
import unicodedata

from sovctl.gateway.detect.edm.spelling import single

_SHORTEST = 4  # letters of what is left
_LETTERS = str.maketrans(
    {"ş": "sh", "š": "sh", "ǧ": "g", "ḫ": "h", "ġ": "g", "ç": "sh", "ı": "i", "ğ": "g"}
    | dict.fromkeys((*map(ord, "'’`ʿʾʻʼ‘"), 0x2BE, 0x2BF))
)
# Letters without which there is nothing to do, pattern, and what is put there.
_SPELLINGS = tuple(
    (frozenset(needed), re.compile(pattern), sound)
    for needed, pattern, sound in (
        ("b", r"^abd[eu]l?(?=[^aeiou])", "abdul"),
        ("h", r"tch|sch|ch|sh", "$"),
        ("jgc", r"dj|j|gh|c(?![hk])", "g"),
        ("h", r"kh", "h"),
        ("cq", r"ck|q", "k"),
        ("p", r"ph", "f"),
        ("h", r"[td]h", lambda found: found[0][0]),
        ("owv", r"(?:ou|w|v)(?=[aeiouy])|[wv]", "w"),
        ("o", r"ou|oo|o", "u"),
        ("e", r"ee", "i"),
        ("iy", r"[ae][iy](?![aeiou])", "ai"),
        ("uw", r"a[uw](?![aeiou])", "aw"),
        ("y", r"y", "i"),
    )
)
_FINAL_H = re.compile(r"(?<=[aeiu])h$")
_ARTICLE = re.compile(r"^[ae]l(?=\w{4})")


def romanised(word: str) -> tuple[str, ...]:
    """The spellings of a Latin word in lower case; none for what is too short, or in other letters."""
    plain = unicodedata.normalize("NFD", word.translate(_LETTERS))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    if not (plain.isascii() and plain.isalpha()):
        return ()
    found: dict[str, None] = {}
    for each in dict.fromkeys((plain, _ARTICLE.sub("", plain))):
        spelled = each
        for needed, pattern, sound in _SPELLINGS:
            if not needed.isdisjoint(spelled):
                spelled = pattern.sub(sound, spelled)
        spelled = _FINAL_H.sub("", single(spelled)).replace("$", "sh")
        if len(spelled) >= _SHORTEST:
            found[spelled.replace("e", "i")] = found[spelled.replace("e", "a")] = None
    return tuple(found)
