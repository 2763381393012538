"""Words of a row of the list with their roles: the names of one person or company.

person_of({"given_name": "Anna Maria", "surname": "von der Heyden"})
# Person(givens=("anna", "maria"), surnames=("heyden",))
company_words("ООО «Ромашка-Юг»")                # ("ромашка", "юг")
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ...names.cues import PARTICLES, TITLES
from ...names.given_names import is_given_name
from ...names.shape import ends_like_surname
from ..forms.arabic_given_names import ARABIC_GIVENS, is_arabic_origin
from ..forms.spelling import is_arabic, vowel_insensitive_keys
from ..forms.stems import is_baltic, may_be_baltic

WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670])*")
"""A run of letters with their marks; what a list and a text are cut into."""

_ELIDED = re.compile(r"\b(\w{1,2})['’](\w{3,})")  # O'Neill is also written Oneill
_TOKEN = re.compile(r"[^\W_]+")
ARTICLES = frozenset(("al", "el", "ul", "ar", "as", "ash", "ad", "an", "at", "az"))
SERVANT = frozenset(("abd", "abdul", "abdel", "abdal", "abdu", "عبد", "وعبد", "لعبد", "بعبد", "فعبد"))
"""The first half of names such as Abdul Rahman, which are written in one word or two."""
_SERVANT_PREFIX = re.compile(r"^(?:abd[aeu]l|عبدال)(?=\w{3})")
_ARABIC_SHAPES = frozenset(
    shape for name in ARABIC_GIVENS for shape in vowel_insensitive_keys(name) if len(shape) - shape.count("V") >= 3
)
_ARABIC_PARTS = re.compile(r"(?i)(?:^|[ -])(?:al|el|bin|ibn|bint|binti|abu|abou|umm)[ -](?=\w{3})|^al\w{3,}[iy]$")
JOINTS = frozenset(
    (
        "degli",
        "dei",
        "della",
        "dello",
        "delle",
        "bin",
        "bint",
        "ibn",
        "binti",
        "بن",
        "ابن",
        "بنت",
        "آل",
        "أبو",
        "ابو",
        "abou",
        "uulu",
        "kyzy",
        "оглы",
        "кызы",
        "улы",
    )
)
_PATRONYMIC = re.compile(r"(?:[оеё]вич|[оеё]вн[аы]|[ії]вна|ич|ична|ovich|evich|ovna|evna|ұлы|қызы|улы)$")

_PARTS = PARTICLES | JOINTS | ARTICLES | {"do"}
_CONTRACTED = ("'t", "’t")
_PARTICLE = re.compile(
    r"(?<=\w )(?:van|von|vom|zu[mr]?|dos|das|da|di|del|della|du|d['’])"
    r"(?: ?(?:de[nr]?|het|la|['’]t))?(?: |(?<=['’]))(?=\w{3})"
)
"""First parts of a surname after an unknown given name."""
_FIRST_HALVES = frozenset(("anna", "gian", "maria", "pier", "rosa"))
_TWO = 2
_MOST_KEPT = 1 << 16  # words and fields whose reading is kept: in a list the same names come again and again

# Legal forms, in lower case, without dots. A company is the same with and without its own.
_LEGAL_FORMS = frozenset(
    """
    gmbh ag kg kgaa ohg ug gbr ev eg mbh se sca scs sarl sas sa sasu eurl snc spa srl srls sapa ltd limited llc llp lp
    plc
    inc incorporated corp corporation co company pty pvt private bv nv vof cv ab oy oyj as asa aps sl slu sau
    sp z o oo spolka spółka akcyjna jawna komandytowa pt tbk persero ud fa firma ооо оао зао пао ао ип нко тоо
    жшс ақ кх чп тов прат пат doo dd ad eood ood kft zrt nyrt bt sro rl ltda eireli fze fzco fzc
    dmcc wll bsc saoc saog jsc ojsc cjsc pjsc kk gk شركة und and et y i и
    """.split()  # noqa: SIM905 - a table is read more easily than a list of quoted words
)


@dataclass(frozen=True, slots=True)
class Person:
    """One person's words, in lower case."""

    givens: tuple[str, ...]
    """Given names, middle names, patronymics; each of them with a surname identifies the person."""
    surnames: tuple[str, ...]
    patronymics: tuple[str, ...] = ()
    """Names of `givens` that identify the person together with another given name."""

    either: tuple[str, ...] = ()
    """Words that are in both, in order: in a full name, given name and surname are not marked."""

    has_arabic_parts: bool = False
    """It has an article or "son of" as Arabic names have."""

    @property
    def is_arabic(self) -> bool:
        """Whether the vowels of the name vary between spellings."""
        return self.has_arabic_parts or any(
            is_arabic(word) or _SERVANT_PREFIX.match(word) or _sounds_arabic(word) for word in self.givens
        )

    @property
    def is_baltic(self) -> bool:
        """Whether the name is Lithuanian or Latvian."""
        words = (*self.givens, *self.surnames)
        return any(map(is_baltic, words)) or may_be_baltic(words)


def person_of(fields: Mapping[str, str]) -> Person | None:
    """Return the person of a row; None if the row contains no name.

    Args:
        fields: by `table.FIELDS`; empty ones may be missing.
    """
    givens = list(_words(f"{fields.get('given_name', '')} {fields.get('middle_name', '')}"))
    surnames = list(_words(fields.get("surname", "")))
    either: list[str] = []
    compounds = [*_compounds(fields.get("surname", "")), *_joined_parts(fields.get("surname", ""))]
    if full := fields.get("full_name", ""):
        more_givens, more_surnames = _split(full)
        if not givens and not surnames:
            givens, surnames = more_givens, more_surnames
            either = [word for word in surnames if word in givens]
            compounds = [*_joined_parts(full), *(["".join(surnames[-_TWO:])] if len(surnames) >= _TWO else [])]
        elif surnames and not givens:
            givens = [word for word in dict.fromkeys((*more_givens, *more_surnames)) if word not in surnames]
        else:
            surnames += [word for word in more_surnames if word not in givens and word not in surnames]
            givens += [word for word in more_givens if word not in surnames and word not in givens]
    if not surnames:
        return None
    surnames += compounds
    every = tuple(dict.fromkeys((*_with_joined(givens), *_one_word(givens))))
    patronymics = tuple(word for word in every if _PATRONYMIC.search(word))
    raw = (fields.get("surname", ""), fields.get("middle_name", ""), full)
    has_arabic_parts = any(_ARABIC_PARTS.search(each.strip()) for each in raw if each)
    return Person(every, tuple(dict.fromkeys(_with_joined(surnames))), patronymics, tuple(either), has_arabic_parts)


@lru_cache(_MOST_KEPT)
def _sounds_arabic(word: str) -> bool:
    return is_arabic_origin(word) or not _ARABIC_SHAPES.isdisjoint(vowel_insensitive_keys(word))


def company_words(name: str) -> tuple[str, ...]:
    """Return the words of a company name without its legal form; all words if the name has no other words."""
    words = [token.casefold() for token in _TOKEN.findall(re.sub(r"(?<=\w)\.(?=\w)|(?<=\b\w)\.", "", name))]
    own = tuple(word for word in words if word not in _LEGAL_FORMS)
    return own or tuple(words)


def is_legal_form(word: str) -> bool:
    """Return whether a word is a legal form such as GmbH, Ltd or ООО."""
    return word.casefold().replace(".", "") in _LEGAL_FORMS


def _compounds(surname: str) -> list[str]:
    """Return surnames of several words, joined by a hyphen or particle, as one word: vanderveen, garcialopez."""
    pieces = [match.group().casefold() for match in WORD.finditer(surname)]
    if len(pieces) == _TWO or (len(pieces) > 1 and ("-" in surname or pieces[0] in _PARTS)):
        return ["".join(pieces)]
    return []


def _joined_parts(full: str) -> list[str]:
    """Return the parts of a full name that hyphens and particles join, as one word: smithjones, vanderveen."""
    found: list[str] = []
    particles = tail = ""
    for each in full.casefold().replace(",", " ").split():
        pieces = WORD.findall(each)
        if len(pieces) == 1 and (each in _PARTS or (particles and each in _CONTRACTED)):
            particles += pieces[0]
            continue
        if tail:  # dosanjosviegas
            tail += particles + "".join(pieces)
            found.append(tail)
        elif particles:
            tail = particles + "".join(pieces)
            found.append(tail)
        elif len(pieces) > 1 and not is_given_name(pieces[0]):
            found.append("".join(pieces))
        particles = ""
    return found


@lru_cache(_MOST_KEPT)
def _words(text: str) -> tuple[str, ...]:
    """Return the words of a name, without particles and single letters."""
    words = [match.group().casefold() for match in WORD.finditer(text)]
    words += [first + rest for first, rest in _ELIDED.findall(text.casefold())]
    words = [word for word in words if len(word) > 1]
    return tuple([word for word in words if word not in _PARTS] or words)


def _with_joined(words: Sequence[str]) -> list[str]:
    """Return the words and their variants written as one word or as two: Abdul Rahman, O'Neill, Al Falasi."""
    found = list(words)
    for word in words:
        if match := _SERVANT_PREFIX.match(word):
            found.append(word[match.end() :])  # noqa: PERF401 - a walrus in a comprehension is less readable
    found += [first + second for first, second in pairwise(words) if first in SERVANT]
    return [word for word in found if word not in SERVANT or len(found) == 1]


def _one_word(givens: Sequence[str]) -> list[str]:
    """Two given names that are also written in one: Annamaria, Gianmarco."""
    return [first + second for first, second in pairwise(givens) if first in _FIRST_HALVES]


def _split(full: str) -> tuple[list[str], list[str]]:
    """Given names and surnames of a full name; what could be either is in both, in the order of the name.

    The comma of "Kowalska, Anna" marks the surname; a patronymic follows a given name; known given names count as such.
    """
    before, comma, after = full.partition(",")
    if comma and _words(before) and _words(after):
        return list(_words(after)), list(_words(before))
    words = list(_words(full))
    while len(words) > _TWO and words[0] in TITLES:
        del words[0]
    if len(words) < _TWO:
        return [], words
    if is_arabic(words[0]) and len(words) == _TWO:
        return words[:1], words[1:]  # in this order always
    elided = {rest for _, rest in _ELIDED.findall(full.casefold())}  # of D'Angelo
    given = {word for word in words if is_given_name(word) and word not in elided}
    if given and words[0] not in given and is_arabic_origin(words[0]):
        given.add(words[0])  # Nabil Hamdan
    if not given and (particle := _PARTICLE.search(full)):
        before, after = full[: particle.start()], full[particle.end() :]
        return [word for word in _words(before) if word in words], list(_words(after))
    if len(words) > _TWO:
        at = next((at for at, word in enumerate(words) if at > 0 and _PATRONYMIC.search(word)), 0)
        if at and words[at] not in given:
            given |= {words[at - 1], words[at]}
    givens = [word for word in words if word in given]
    surnames = [word for word in words if word not in given]
    if not surnames:
        return words[:-1], words[-1:]
    if not givens:
        return words[:-1], words
    if len(words) > _TWO and words[-1] in given:
        if words[0] in given:
            surnames.append(words[-1])  # Inmaculada Cárdenas Duarte
        elif givens == words[-1:] and not ends_like_surname(words[0]):
            return [words[0], *givens], words  # Benigna Sepúlveda Martín; Székely Balogh Mária
    return [word for word in words if word in given or word in surnames[:-1]], surnames
