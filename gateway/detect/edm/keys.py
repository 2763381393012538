"""The keys of a word: what is hashed, and what meets when two words may be the same name.

A key is a tag and a spelling: `w` sounds like it, `v` the same with vowels blurred (for Arabic names in other scripts,
of which every vowel varies), `k` and `K` consonants only (of other scripts, of Arabic script; each is looked for from
the other side), `l` two consonants (of a word that has its article in Arabic script), `a` Arabic letters.

    set(listed_keys("Kowalska", is_arabic=False)) & set(text_keys("Kowalskiej"))      # {"wkovalsk"}
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from sovctl.gateway.detect.edm.spelling import (
    ONE_ARABIC_FORM,
    blurred,
    is_arabic,
    is_greek,
    readings,
    skeletons,
    sounds,
)
from sovctl.gateway.detect.edm.stems import base_stems, stems
from sovctl.gateway.detect.edm.transliteration import in_latin

_FEWEST_CONSONANTS = 3  # of a surname; fewer are in every other word
_ARTICLE = re.compile(r"(?i)^[ae]l(?=\w{4})")  # Alfalasi is Al Falasi
_HARAKAT = re.compile("[\u0610-\u061a\u064b-\u065f\u0670]")


# Soft signs, ties and breves of library transliterations.
_LIBRARY = str.maketrans({"ĭ": "i", "ï": "i", **dict.fromkeys("'’`\u0360\u0361\u0362", None)})
_LIBRARY |= dict.fromkeys(range(0x02B0, 0x0300), None)


# Arabic names of one consonant, which in Latin letters could be any word: by letters in one form.
_SHORT_ARABIC = {
    "علي": ("ali", "aly"),
    "عائشه": ("aisha", "aysha", "ayesha", "aicha", "aishah"),
    "عايشه": ("aisha", "aysha", "ayesha", "aicha", "aishah"),
    "عاليه": ("alia", "aliya", "aliyah", "alya"),
    "علياء": ("alia", "alya"),
    "علاء": ("alaa", "ala"),
    "الاء": ("alaa",),
    "عيسي": ("issa", "isa", "eisa"),
    "ايه": ("aya", "ayah"),
    "دعاء": ("doaa", "duaa"),
    "لؤي": ("louay", "loay", "luay"),
    "عدي": ("uday", "oday", "adi"),
    "يحيي": ("yahya", "yehia", "yahia"),
    "طه": ("taha",),
    "رؤي": ("roaa", "ruaa"),
}


def _plain(word: str) -> str:
    return unicodedata.normalize("NFC", word).casefold().translate(_LIBRARY).replace("jj", "j")


def listed_keys(word: str, *, is_arabic_name: bool, is_given: bool, is_baltic_name: bool = False) -> tuple[str, ...]:
    """The keys under which a word of a list can be found.

    Args:
        is_arabic_name: the whole name is Arabic, in whatever script.
        is_given: a given name; it may have fewer consonants than a surname, which has to vouch for it.
        is_baltic_name: the whole name is Lithuanian or Latvian.
    """
    fewest = _FEWEST_CONSONANTS - is_given
    word = _plain(word)
    if is_arabic(word):
        letters = _arabic_letters(word)
        latin = [f"w{reading}" for name in _SHORT_ARABIC.get(letters, ()) for reading in readings(name)]
        return (
            f"a{letters}",
            *_skeleton_keys("K", word, fewest - (not is_given and word.startswith("ال"))),
            *dict.fromkeys(latin),
        )
    if is_greek(word):
        return tuple(dict.fromkeys(f"w{reading}" for stem in base_stems(word) for reading in _greek_readings(stem)))
    found = dict.fromkeys(
        f"w{reading}" for stem in base_stems(word, is_baltic_name=is_baltic_name) for reading in readings(stem)
    )
    if is_arabic_name:
        found.update(dict.fromkeys(f"v{shape}" for shape in blurred(word)))
        found.update(dict.fromkeys(_skeleton_keys("k", word, fewest)))
        found.update(
            dict.fromkeys(f"l{key[1:]}" for key in _skeleton_keys("k", word) if len(key) == _FEWEST_CONSONANTS)
        )
        found.update(dict.fromkeys(f"a{letters}" for letters, names in _SHORT_ARABIC.items() if word in names))
    return tuple(found)


def text_keys(word: str, *, has_arabic_names: bool = True) -> tuple[str, ...]:
    """The keys under which a word of a text is looked for, in any of its cases.

    Args:
        has_arabic_names: the list has some; without any, fewer keys do.
    """
    word = _plain(word)
    if is_arabic(word):
        return tuple(
            dict.fromkeys(
                key
                for stem in stems(word)
                for key in (f"a{_arabic_letters(stem)}", *_skeleton_keys("k", stem), *_with_article(stem))
            )
        )
    found: dict[str, None] = {}
    for stem in stems(word):
        read, blur = sounds(stem)
        for reading in read:
            found[f"w{reading}"] = None
        if has_arabic_names:
            for shape in blur:
                found[f"v{shape}"] = None
    if has_arabic_names:
        found.update(dict.fromkeys(_skeleton_keys("K", word)))
        if match := _ARTICLE.match(word):
            found.update(dict.fromkeys(text_keys(word[match.end() :])))
    return tuple(found)


def _greek_readings(stem: str) -> Iterator[str]:
    """How a Greek stem sounds, and how its usual Latin spellings do: Zaxariou, Gewrgios."""
    for spelled in (stem, *in_latin(stem)):
        yield from readings(spelled)


def _with_article(stem: str) -> Iterator[str]:
    """A word with its article may be a surname of two consonants: العامري is Ameri."""
    if stem.startswith("ال"):
        yield from (f"l{key[1:]}" for key in _skeleton_keys("k", stem))


def _skeleton_keys(tag: str, word: str, fewest: int = _FEWEST_CONSONANTS - 1) -> tuple[str, ...]:
    return tuple(f"{tag}{bones}" for bones in skeletons(word) if len(bones) >= fewest)


def _arabic_letters(word: str) -> str:
    """Arabic letters in one form, without the article and without marks."""
    plain = _HARAKAT.sub("", unicodedata.normalize("NFKC", word)).translate(ONE_ARABIC_FORM)
    return plain.removeprefix("ال") if len(plain) > 4 else plain


def initial_classes(word: str) -> frozenset[str]:
    """What the initial of a word may look like in another script or spelling, coarsely: `Ю`, `J`, `Y`, `I` meet."""
    first = word[0].casefold()
    found = {_CLASSES.get(reading[0], reading[0]) for each in (first, word) for reading in readings(each) if reading}
    if first in "юяёйєїyji":
        found.add("i")
    return frozenset(found) or frozenset(_arabic_letters(first))


_CLASSES = {"e": "i", "i": "i", "o": "o", "u": "o", "S": "s"}
