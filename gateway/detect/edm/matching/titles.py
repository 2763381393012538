"""Recognizes a name by the words next to a listed word: titles, initials, articles, particles.

is_addressed(text, run, run.at, own)      # "Pak Budi", "Defne Hanım'a"
"""

from __future__ import annotations

import re

from ...names.cues import PARTICLES, PERSON_WORDS, TITLES
from ..index.people import ARTICLES, JOINTS
from .vocabulary import Listed
from .word_run import WordRun

_HONORIFIC = re.compile(r"[ \u00a0](?:[Bb]ey|BEY|[Hh]an[ıi]m|HANIM|[Hh]oca|[Ee]fendi|[Аа]ға|[Аа]пай|[Хх]аным|[Мм]ырза)")
"""Turkish and Kazakh titles, which follow a given name."""
ADDRESSES = frozenset(
    """
    mr mrs mister messrs herr herrn frau fräulein mme mlle monsieur señor señora señorita sra srta senhor senhora
    signor signora meneer mevrouw mw dhr bapak bpk nyonya господин господина господину господином
    господине госпожа госпожи госпоже госпожу госпожой пан пана пану панові паном пане пані мырза ханым
    sig dott dottor dottoressa
    """.split()  # noqa: SIM905 - a table is read more easily than a list of quoted words
)
"""Titles that only names follow, with or without a capital."""
_BEFORE_TITLED = (" ", "'", "’")
BETWEEN = PARTICLES | {"t", "do", "d", "l", "dell", "dall"}
"""Words between a title and a surname that are parts of the surname if the list contains them."""
_TITLE_AND_PARTICLES = re.compile(
    r"([^\W\d_]+)\.?[ ]"
    r"(?:(?:van|von|de[rnl]?|d[aou]s?|di|della|l[ae]|los|het|te[nr]|['’]t|(?:dell?|dall|d|l)['’])[ ]?){1,3}\Z"
)
_LONGEST_ADDRESSED = 32  # characters of a title with particles after it
_AT_TITLES = " \n\t.\"'(>*-"
_TITLES = frozenset(("dr", "dra", "prof", "pani", "panią", "pana", "panu", "panem"))
"""Titles that other words follow as well."""
_SHORTEST_TITLED = 6  # letters of a surname after one of them
_LONGEST_ADDRESS = 16  # characters of one, with adjacent punctuation
_ARTICLE_BEFORE = re.compile(r"(?<![^\W\d_])(?:[AaEe][lsrzndt]|[Aa]sh)-\Z")
FAMILY = "آل"
_OTHER_TITLES = frozenset(
    """
    ra ssa avv avvocato avvocata ing ingegner ingegnere geom geometra rag ragionier arch architetto prof professor
    professore professoressa notaio cliente titolare
    громадянин громадянина громадянину громадянином громадянка громадянки громадянці громадянку громадянкою
    лікар лікаря лікарю лікареві лікарем лікарка лікарки лікарці лікарку лікаркою доктор доктора доктору докторові
    доктором професор професора професору професорові професором адвокат адвоката адвокату адвокатові адвокатом
    нотаріус нотаріуса нотаріусу нотаріусові нотаріусом клієнт клієнта клієнту клієнтові клієнтом клієнтка клієнтки
    клієнтці клієнтку клієнткою
    """.split()  # noqa: SIM905 - a table is read more easily than a list of quoted words
)
"""Italian ones, of which Sig.ra and Dott.ssa are two words, and Ukrainian ones in all cases."""
_AND_TO = ("وال", "بال", "فال", "لل", "ولل")  # and, by, so, to: one word with a title's article
BEFORE_SURNAMES = (
    PERSON_WORDS
    | ADDRESSES
    | _OTHER_TITLES
    | {FAMILY}
    | {f"{prefix}{word[2:]}" for word in PERSON_WORDS if word.startswith("ال") for prefix in _AND_TO}
)
TITLE_LETTERS = frozenset(("M", "د", "م"))
"""Titles that look like an initial: Monsieur, doctor, engineer."""
_NEAR_SURNAMES = BEFORE_SURNAMES | BETWEEN | JOINTS | ARTICLES
_GERMAN_ARTICLES = frozenset(("der", "den", "das", "zur", "zum"))
_LONGEST_PARTS = 16  # characters of "von der", or of an initial and "der", with spaces
_RUN_BEFORE = re.compile(r"[ \t\u00a0]{0,3}([\w'’\-]+)")  # of a text that is read backwards
_ABBREVIATED_BEFORE = re.compile(r"[ \u00a0]?\.([^\W\d_]{2,4})(?![^\W\d_])")  # likewise
GLUE = (".", "_", "-")
"""Characters that join words without a space."""
_GLUED_BEFORE = re.compile(r"([^\W\d_]+)[._-]\Z")
_LONGEST_BEFORE = 40  # characters of a word, with its space
_INITIAL_BEFORE = re.compile(r"(?<![^\W\d_])[^\W\d_]{1,2}\.[ \u00a0]{0,2}\Z")
_INITIAL_BEHIND = re.compile(r",?[ \u00a0][^\W\d_]{1,2}\.")


def has_title_after(text: str, end: int) -> bool:
    """Return whether such a title follows the word that ends at `end`."""
    return _HONORIFIC.match(text, end) is not None


def is_written(own: Listed) -> bool:
    """Return whether a surname is written as listed and is not a common word of any language."""
    return bool(own.exact) and not own.is_common_word


def is_titled(text: str, start: int, own: Listed) -> bool:
    """Return whether a surname without a capital follows a title: "herr müller"."""
    if not own.exact or text[start - 1 : start] not in _BEFORE_TITLED:
        return False
    before = text[max(0, start - _LONGEST_ADDRESS) : start - 1].rpartition(" ")[2].strip(_AT_TITLES).lower()
    if before.lstrip("'’") in BETWEEN and (
        match := _TITLE_AND_PARTICLES.search(text, max(0, start - _LONGEST_ADDRESSED), start)
    ):
        before = match[1].lower()
    if before in ADDRESSES:
        return is_written(own)
    return before in _TITLES and bool(own.alone) and len(own.capitals[0]) >= _SHORTEST_TITLED


def is_addressed(text: str, run: WordRun, first: int, own: Listed) -> bool:
    """Return whether a listed given name has a title: Pak Budi, Defne Hanım."""
    token = run.tokens[run.at]
    if not own.exact_givens or not token.is_capital:
        return False
    before = run.tokens[first - 1].text if first > 0 else ""
    return before.lower() in TITLES or has_title_after(text, token.end)


def has_article(run: WordRun, first: int, own: Listed) -> bool:
    """Return whether an Arabic surname has its article; "el Acuerdo" and "Al Comune" have a Romance article."""
    before = run.tokens[run.at - 1]
    if first == run.at or before.text.lower() not in ARTICLES:
        return False
    is_hyphenated = run.tokens[run.at].gap == "-"
    return is_hyphenated or (before.is_capital and run.at > 1 and not own.is_common and not own.is_common_word)


def has_article_before(text: str, start: int) -> bool:
    """Return whether a word has such an article with a hyphen before it."""
    return text[start - 1 : start] == "-" and _ARTICLE_BEFORE.search(text, max(0, start - 5), start) is not None


def word_before(text: str, start: int) -> str:
    """Return the word before, with its hyphens and apostrophes; empty unless only white space separates it."""
    match = _RUN_BEFORE.match(text[max(0, start - _LONGEST_BEFORE) : start][::-1])
    return match[1][::-1] if match else ""


def joined_word_before(text: str, start: int) -> str:
    """Return the preceding word if only one sign separates it, else an empty string: `made` of `made.rangkuti`."""
    match = _GLUED_BEFORE.search(text, max(0, start - _LONGEST_BEFORE), start)
    return match[1] if match else ""


def is_after_name_part(text: str, start: int) -> bool:
    """Return whether a title or a part of the name precedes; a German article only after "von" or an initial."""
    if "." in text[start - 2 : start]:
        match = _ABBREVIATED_BEFORE.match(text[max(0, start - _LONGEST_ADDRESS) : start][::-1])
        return match is not None and match[1][::-1].lower() in BEFORE_SURNAMES
    before = word_before(text, start).lower()
    if before not in _GERMAN_ARTICLES:
        return before in _NEAR_SURNAMES
    further = text[max(0, start - _LONGEST_PARTS) : start].lower()
    return "van " in further or "von " in further or "." in further


def has_initial(text: str, start: int, end: int) -> bool:
    """Return whether an initial precedes or follows."""
    if "." in text[max(0, start - 3) : start] and _INITIAL_BEFORE.search(text, max(0, start - 5), start):
        return True
    return "." in text[end + 2 : end + 5] and _INITIAL_BEHIND.match(text, end) is not None
