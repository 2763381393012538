"""Listed people in the forms that people write them in, and their list as an institution would export it.

    for document in named("ru", seed=7): ...     # spans of type PERSON~full, PERSON~initials, PERSON~gen, ...
    customers(seed=7)                            # rows of customers.csv

All people are invented. The sentences have neither titles nor greetings, so only the list identifies a person. Some
sentences have no name in them, but words that are also names.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator
from random import Random
from typing import Any

from bench.pii_sets import world
from bench.pii_sets.documents import Page
from bench.pii_sets.words.reader import languages_in, words_of

LANGUAGES = languages_in("people")
COLUMNS = ("id", "given_name", "surname", "date_of_birth", "account", "email", "kind")

_Endings = tuple[tuple[str, str], ...]

# Regular endings of the names in `people/`, by case; what ends in nothing of the table takes the first one's.
_GIVEN: dict[str, dict[str, _Endings]] = {
    "ru": {
        "gen": (("", "а"), ("ия", "ии"), ("я", "и"), ("а", "ы")),
        "dat": (("", "у"), ("ия", "ии"), ("я", "е"), ("а", "е")),
        "ins": (("", "ом"), ("я", "ей"), ("а", "ой")),
    },
    "pl": {"gen": (("", "a"), ("a", "y")), "dat": (("", "owi"), ("a", "ie")), "ins": (("", "em"), ("a", "ą"))},
}
_SURNAME: dict[str, dict[str, _Endings]] = {
    "ru": {
        "gen": (("", "а"), ("кий", "кого"), ("кая", "кой"), ("ова", "овой")),
        "dat": (("", "у"), ("кий", "кому"), ("кая", "кой"), ("ова", "овой")),
        "ins": (("", "ым"), ("кий", "ким"), ("кая", "кой"), ("ова", "овой")),
    },
    "pl": {
        "gen": (("", "a"), ("ski", "skiego"), ("ska", "skiej")),
        "dat": (("", "owi"), ("ski", "skiemu"), ("ska", "skiej")),
        "ins": (("", "em"), ("ski", "skim"), ("ska", "ską")),
    },
}
_CYRILLIC = {
    **dict(zip("абвгдезийклмнопрстуфыэ", "abvgdeziiklmnoprstufye", strict=True)),
    "ё": "e",
    "ж": "zh",
    "х": "kh",
    "ц": "ts",
    "ч": "ch",
    "ш": "sh",
    "щ": "shch",
    "ъ": "ie",
    "ь": "",
    "ю": "iu",
    "я": "ia",
    "ә": "a",
    "ғ": "g",
    "қ": "k",
    "ң": "n",
    "ө": "o",
    "ұ": "u",
    "ү": "u",
    "һ": "h",
    "і": "i",
}  # ICAO Doc 9303, part 3, section 6
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})


def people(language: str, *, seed: int) -> list[tuple[str, str]]:
    """Given name and surname of each person on the list in this language."""
    known, dice = words_of(f"people/{language}"), Random(f"{seed} people {language}")
    found: list[tuple[str, str]] = []
    for given, surnames in (("male", "surnames_m"), ("female", "surnames_f")):
        pairs = list(itertools.product(known[given], known.get(surnames) or known["surnames"]))
        found += dice.sample(pairs, min(12, len(pairs)))
    return found


def sentences(language: str) -> list[str]:
    """Return sentences with `{name}` for a person's name."""
    found: list[str] = words_of(f"people/{language}")["sentences"]
    return found


def customers(*, seed: int) -> list[dict[str, str]]:
    """The institution's list."""
    dice = Random(f"{seed} customers")
    rows: list[dict[str, str]] = []
    for language in LANGUAGES:
        for given, surname in people(language, seed=seed):
            year, month, day = dice.randrange(1940, 2000), dice.randrange(1, 13), dice.randrange(1, 29)
            values = (
                f"C{len(rows) + 1:06}",
                given,
                surname,
                f"{year}-{month:02}-{day:02}",
                world.iban("DE")(dice).replace(" ", ""),
                f"customer{len(rows) + 1}@example.com",
                "person",
            )
            rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def named(language: str, *, seed: int) -> Iterator[dict[str, Any]]:
    """Every listed person of this language in every form, and the traps."""
    known, dice = words_of(f"people/{language}"), Random(f"{seed} named {language}")
    for given, surname in people(language, seed=seed):
        for form, name, sentence in _forms(language, given, surname, dice):
            page = Page(language)
            page.add(sentence.replace("{name}", "{value}"), name, f"PERSON~{form}")
            yield page.document()
    for trap in known["traps"]:
        page = Page(language)
        page.say(trap)
        yield page.document()


def _forms(language: str, given: str, surname: str, dice: Random) -> Iterator[tuple[str, str, str]]:
    """Form, name in that form, a sentence for it."""
    known = words_of(f"people/{language}")
    plain = {
        "full": f"{given} {surname}",
        "reversed": f"{surname} {given}",
        "initials": f"{given[0]}. {surname}",
        "surname": surname,
        "upper": f"{given} {surname}".upper(),
        "lower": f"{given} {surname}".lower(),
        "latin": _latin(language, given, surname),
    }
    for form, name in plain.items():
        if name and not (name == plain["full"] and form != "full"):
            yield form, name, dice.choice(known["sentences"])
    for sentence in known.get("possessive", ()):
        yield "possessive", plain["full"], sentence
    for ending in known.get("suffixes", ()):
        yield "suffix", plain["full"], "{name}" + ending
    for case, sentences in known.get("cases", {}).items():
        inflected = _inflected(given, _GIVEN[language][case]), _inflected(surname, _SURNAME[language][case])
        yield case, " ".join(inflected), dice.choice(sentences)


def _inflected(name: str, endings: _Endings) -> str:
    """The longest ending that fits is changed; a name that ends in a consonant gets one."""
    for old, new in sorted(endings, key=lambda pair: -len(pair[0])):
        if old and name.endswith(old):
            return name[: len(name) - len(old)] + new
    return name + endings[0][1]


def _latin(language: str, given: str, surname: str) -> str:
    """The name in ASCII, as written without this language's keyboard."""
    known = words_of(f"people/{language}")
    if "latin" in known:
        return f"{known['latin'][given]} {known['latin'][surname]}"
    if language in ("ru", "kk"):
        return " ".join("".join(_CYRILLIC.get(c, c) for c in part.lower()).title() for part in (given, surname))
    text = f"{given} {surname}".translate(_GERMAN if language == "de" else {})
    text = text.replace("ł", "l").replace("Ł", "L").replace("ı", "i").replace("İ", "I")
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
