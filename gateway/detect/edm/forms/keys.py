"""Keys of a word: the strings that are hashed, and compared to decide whether two words may be the same name.

A key is a tag and a spelling: `w` by sound; `v` the same with all vowels equal, for Arabic names in other scripts,
whose vowels vary; `k` and `K` consonants only, of other scripts and of Arabic script, each compared with the other;
`l` two consonants, of a word with its article in Arabic script; `a` Arabic letters.

    set(listed_keys("Kowalska", is_arabic=False)) & set(text_keys("Kowalskiej"))      # {"wkovalsk"}
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from .romanization import romanised
from .spelling import (
    ONE_ARABIC_FORM,
    consonant_skeletons,
    is_arabic,
    is_greek,
    readings,
    sounds,
    vowel_insensitive_keys,
)
from .stems import base_stems, stems, without_dot
from .transliteration import in_latin

_FEWEST_CONSONANTS = 3  # of a surname; fewer are in every other word
_ARTICLE = re.compile(r"(?i)^[ae]l(?=\w{4})")  # Alfalasi is Al Falasi
_MACRONS = re.compile("[āīū]")  # of scientific transliterations, whose words have no inflection
_SOFT_J = re.compile("(?<=[bcdfghklmnprstvwxz])j(?=[bcdfghklmnpqrstvwxz]|$)")
"""The soft sign of some transliterations: Meljnychenko."""
_SHORT_VOWELS = str.maketrans("āīū", "aiu")
_HARAKAT = re.compile("[\u0610-\u061a\u064b-\u065f\u0670]")


# Soft signs, ties and breves of library transliterations.
_LIBRARY = str.maketrans({"ĭ": "i", "ï": "i", **dict.fromkeys("'’`\u0360\u0361\u0362", None)})
_LIBRARY |= dict.fromkeys(range(0x02B0, 0x0300), None)


def _short_arabic() -> dict[str, tuple[str, ...]]:
    rows = (row.split(":") for row in _SHORT_NAMES.strip().splitlines())
    return {letters.strip().translate(ONE_ARABIC_FORM): tuple(names.split()) for letters, names in rows}


# Arabic names of one or two consonants, which in Latin letters could be any word: by letters in one form.
_SHORT_NAMES = """
    علي: ali aly
    عائشة: aisha aysha ayesha aicha aishah
    عايشة: aisha aysha ayesha aicha aishah
    عالية: alia aliya aliyah alya
    علياء: alia alya
    علاء: alaa ala
    آلاء: alaa
    علوي: alawi alaoui alavi
    عيسى: issa isa eisa aissa
    آية: aya ayah
    دعاء: doaa duaa
    لؤي: louay loay luay
    عدي: uday oday adi
    يحيى: yahya yehia yahia
    طه: taha
    رؤى: roaa ruaa
    ليلى: layla laila leila lela
    يوسف: yusuf yousef youssef yousuf yusef yousif youcef
    زيد: zayd zaid zeid
    زياد: ziad ziyad
    وسام: wisam wissam ouissam wesam wessam visam
    معاذ: muadh muath moaz moath mouadh
    منى: mona muna mouna
    هدى: huda hoda houda
    نهى: nuha noha
    هناء: hana hanaa
    ندى: nada
    لينا: lina leena
    دينا: dina deena
    رنا: rana
    سناء: sana sanaa
    وفاء: wafa wafaa ouafa
    هيا: haya
    نوال: nawal naoual
    نورة: noura nora nourah nura
    نور: nour noor nur
    عمر: omar umar
    سعد: saad sad
    سعيد: said saeed saied
    مها: maha
    ريم: reem rim
    هند: hind
    رشا: rasha
    موسى: musa moussa mousa moosa
    طارق: tariq tarek tareq tarik
    باسم: basim basem bassem
    ناصر: nasir naser nasser
    حداد: haddad hadad
    جوهر: jawhar johar
    ضياء: diya diaa dia
    هادي: hadi hady
    راوي: rawi
    بنا: banna bana
    شادي: shadi chadi shady
    سامي: sami samy
    رامي: rami ramy
    هاني: hani hany
    فادي: fadi fady
    زكي: zaki zaky
    شامي: shami chami
    راضي: radi radhi
    قاضي: qadi kadi cadi kadhi
    غازي: ghazi gazi
    فوزي: fawzi fouzi faouzi fauzi
    سيد: sayed sayyid seyed sayid
    رضا: rida reda ridha
    فؤاد: fuad fouad foad
    حاج: haj hajj hadj
    زين: zein zain zayn
    أنس: anas
    إياد: iyad eyad iad
    جاد: jad gad
    سها: suha soha
    رؤوف: raouf rauf
    بهاء: bahaa baha
    تقي: taqi taki
    وائل: wael wail ouail
    نائل: nael nail
    سيف: saif seif sayf
    عوض: awad aouad
    عادل: adel adil
    عدنان: adnan
    لينة: lina leena
    هلا: hala
    هالة: hala halah
    مي: mai may
    خوري: khoury khouri khuri khury
    رقية: ruqaya ruqayya ruqayyah rokaya roqaya roukaya rouqaya
    إيمان: iman eman imane
    هبة: hiba heba hebah
    سمية: sumaya sumayya soumaya somaya
    آدم: adam
    أيوب: ayoub ayyub ayub
    داود: daoud dawood dawud daud
    بدوي: badawi badaoui badawy
    عطية: attia atia atiyah atieh
    عواد: awwad awad aouad
    طعمة: tohme tomeh tuma toma
"""
_SHORT_ARABIC = _short_arabic()
_LETTERS_OF: dict[str, set[str]] = {}
for _letters, _names in _SHORT_ARABIC.items():
    for _name in _names:
        for _spelling in (_name, *romanised(_name)):
            _LETTERS_OF.setdefault(_spelling, set()).add(_letters)


def short_spellings(word: str) -> tuple[str, ...]:
    """Return the usual Latin spellings of an Arabic-script name with one or two consonants; empty for other names."""
    return _SHORT_ARABIC.get(_arabic_letters(word), ())


def _plain(word: str) -> str:
    return without_dot(unicodedata.normalize("NFC", word).casefold()).translate(_LIBRARY).replace("jj", "j")


def listed_keys(word: str, *, is_arabic_name: bool, is_given: bool, is_baltic_name: bool = False) -> tuple[str, ...]:
    """Return the keys under which a listed word can be found.

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
        found.update(dict.fromkeys(f"v{shape}" for shape in vowel_insensitive_keys(word)))
        found.update(dict.fromkeys(_skeleton_keys("k", word, fewest)))
        found.update(
            dict.fromkeys(f"l{key[1:]}" for key in _skeleton_keys("k", word) if len(key) == _FEWEST_CONSONANTS)
        )
        for spelling in (word, *romanised(word)):
            for letters in sorted(_LETTERS_OF.get(spelling, ())):
                found[f"a{letters}"] = None
                found.update(
                    dict.fromkeys(f"w{reading}" for name in _SHORT_ARABIC[letters] for reading in readings(name))
                )
        if match := _ARTICLE.match(word):
            rest = listed_keys(word[match.end() :], is_arabic_name=True, is_given=is_given)
            found.update(dict.fromkeys(rest))
    return tuple(found)


def text_keys(word: str, *, has_arabic_names: bool = True) -> tuple[str, ...]:
    """Return the keys to look up for a word of a text, in any grammatical case.

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
    if "j" in word and _SOFT_J.search(word):
        found.update(dict.fromkeys(text_keys(_SOFT_J.sub("", word), has_arabic_names=False)))
    if has_arabic_names:
        found.update(dict.fromkeys(_skeleton_keys("K", word)))
        if _MACRONS.search(word):
            found.update(dict.fromkeys(text_keys(word.translate(_SHORT_VOWELS))))
        if match := _ARTICLE.match(word):
            found.update(dict.fromkeys(text_keys(word[match.end() :])))
    return tuple(found)


def _greek_readings(stem: str) -> Iterator[str]:
    """Return the sounds of a Greek stem and of its usual Latin spellings: Zaxariou, Gewrgios."""
    for spelled in (stem, *in_latin(stem)):
        yield from readings(spelled)


def _with_article(stem: str) -> Iterator[str]:
    """Return the key of a word with its article, which may be a surname of two consonants: العامري is Ameri."""
    if stem.startswith("ال"):
        yield from (f"l{key[1:]}" for key in _skeleton_keys("k", stem))


def _skeleton_keys(tag: str, word: str, fewest: int = _FEWEST_CONSONANTS - 1) -> tuple[str, ...]:
    return tuple(f"{tag}{bones}" for bones in consonant_skeletons(word) if len(bones) >= fewest)


def _arabic_letters(word: str) -> str:
    """Arabic letters in one form, without the article and without marks."""
    plain = _HARAKAT.sub("", unicodedata.normalize("NFKC", word)).translate(ONE_ARABIC_FORM)
    return plain.removeprefix("ال") if len(plain) > 4 else plain


def initial_classes(word: str) -> frozenset[str]:
    """Return coarse classes of the initial across scripts and spellings: `Ю`, `J`, `Y`, `I` share one."""
    first = word[0].casefold()
    if is_arabic(first):
        return frozenset(
            (*_ARABIC_INITIALS.get(first, ""), *(bone for bones in consonant_skeletons(first) for bone in bones))
        )
    found = {_CLASSES.get(reading[0], reading[0]) for each in (first, word) for reading in readings(each) if reading}
    if first in "юяёйєїyji":
        found.add("i")
    if len(word) > 1:
        found.update(_DIGRAPHS.get(first, ""))
    return frozenset(found)


# Arabic letters as initials in Latin letters, in addition to those of their consonant skeletons.
_ARABIC_INITIALS = dict.fromkeys("اأإآعى", "aio") | {
    "و": "vo",
    "ي": "i",
    "ج": "id",
    "خ": "hk",
    "ش": "sk",
    "ة": "t",
    "ه": "h",
}
_DIGRAPHS = {"х": "k", "ц": "t"}
"""The first letter of what Latin has for a Cyrillic initial: Khrystyna, Tsvetana."""
_CLASSES = {"e": "i", "i": "i", "o": "o", "u": "o", "S": "s"}
