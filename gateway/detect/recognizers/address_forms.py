"""Patterns of postal addresses, built from `street_words.txt` and `postcodes.txt`.

`PATTERNS` are for the scanner, which searches the whole text; `ASCII_PATTERNS` are the same for texts in ASCII. The
others are matched at a place.

    NUMBER_AFTER.match("Lindenstraße 12a, 10969 Berlin", 12)["number"]     # "12a"
"""

from __future__ import annotations

import re
from pathlib import Path

_FOLDER = Path(__file__).parent
_ORDERS = ("joined", "after", "before", "number-name", "number-word", "weak", "weak-before", "weak-word", "box")

LONGEST_WORD = 32  # characters
LONGEST_HEAD = 70  # characters of postcode and city before a street
_NUMBER_WORDS = r"(?:nr|no|n[°ºo]|num|número|numero|№|дом|д|үй|nomor|номер|hus|house|رقم)"
_SPACES = r"[ \t\u00a0]{0,3}"
_HOUSE = (
    r"[0-9]{1,5}(?:" + _SPACES + r"[A-Za-zА-Яа-я](?![^\W_]|\." + _SPACES + r"[0-9]))?"
    r"(?:" + _SPACES + r"[-–/\\]" + _SPACES + r"[0-9]{1,4}(?![0-9])[A-Za-z]?)?"
)
_UNIT_WORDS = (
    r"(?:m|lok|mieszk|mieszkanie|кв|квартира|пәтер|п|корп|корпус|к|стр|оф|офис|apt|apartment|app|flat|unit|suite|ste|floor"
    r"|wohnung|whg|top|stiege|etage|og|appt|bât|bat|étage|piso|puerta|esc|int|interno|scala|andar|apto|bloco|daire|kat|d|blok|rt"
    r"|rw|bus|bte|ap|bl|sc|et|شقة|مبنى)"
)
_UNITS = (
    rf"(?:(?:,|;)?{_SPACES}(?:{_UNIT_WORDS}\b[.:º°]?{_SPACES}[0-9A-Za-z]{{1,4}}(?![^\W_])|#{_SPACES}[0-9]{{1,5}}"
    rf"|[0-9]{{1,2}}[ºª°oa]{_SPACES}(?:[A-Za-z](?![^\W_])|izq|dcha|dir|esq)?)){{0,4}}"
)
NUMBER_AFTER = re.compile(
    rf",?{_SPACES}(?:{_NUMBER_WORDS}(?![^\W\d_])[.:]?{_SPACES})?(?P<number>{_HOUSE})"
    rf"(?![0-9]|[.,][0-9]|[^\W\d_]|{_SPACES}%){_UNITS}",
    re.IGNORECASE,
)
NUMBER_BEFORE = re.compile(
    r"(?<![\w.,/-])(?P<number>[0-9]{1,5}(?:[ -]?(?:bis|ter|quater|[A-Za-z]))?(?:[-/][0-9]{1,4}[A-Za-z]?)?)"
    r",?[ \u00a0]{1,2}\Z",
    re.IGNORECASE,
)
UNIT_BEFORE = re.compile(
    r"(?<![^\W_])(?:flat|apartment|apt\.?|unit|suite|room|appartement|appt\.?)"
    r"[ \u00a0]{0,2}#?[0-9A-Za-z]{1,5}[,/]?[ \u00a0\n]{0,2}\Z",
    re.IGNORECASE,
)
WORD_BEFORE = re.compile(rf"(?<!\w)(?P<word>[^\W\d_][\w'’.-]{{0,{LONGEST_WORD}}})[ \u00a0]{{1,2}}\Z")
WORD_AFTER = re.compile(
    r"[ \u00a0]{0,2}(?P<word>(?:[^\W\d_]|[0-9]{1,3}(?:\.|-?(?:го|й|я|e|er|th|st|nd|rd))?[ -](?=[^\W\d_]))"
    rf"[^\W_]?[\w'’.-]{{0,{LONGEST_WORD}}})"
)
COMPOUND = re.compile(rf"[^\W\d_'’-]{{1,{LONGEST_WORD}}}(?:[-'’][^\W\d_]{{1,{LONGEST_WORD}}}){{0,5}}\.?")
PARTICLES = frozenset(
    """
    de du des la le les los las l d da do dos das di del della delle dei degli van der den 't ten ter op aan ob von vom
    zum zur und und of the and y e i im am an in auf bei w na nad pod ks św gen marsz im. имени al el
    """.split()  # noqa: SIM905 - a table is read more easily than a list of quoted words
)
BEFORE_JOINED = frozenset(("große", "alte", "neue", "kleine", "obere", "untere", "am", "an", "im", "auf"))
_CITY_WORD = r"[^\W\d_][^\W\d_'’.]{0,24}(?:[-'’][^\W\d_]{1,24}){0,3}\.?"
_CITY = rf"{_CITY_WORD}(?:[ \u00a0/](?:{_CITY_WORD}|[0-9]{{1,2}}(?![0-9]))){{0,3}}"
_BREAK = r"[ \t\u00a0]{0,2}(?:[,;،|·]|[–-](?=[ \t]))?[ \t\u00a0]{0,2}(?:\r?\n[ \t]{0,8}|(?<=[,;،|· \t\u00a0-]))"


def _postcodes(place: str) -> str:
    rows = (line.partition(": ") for line in (_FOLDER / "postcodes.txt").read_text(encoding="utf-8").splitlines())
    forms = {form: None for head, _, form in rows if head.split(" ")[0] == place and form}
    return "(?:" + "|".join(sorted(forms, key=len, reverse=True)) + ")"


_CODE_AFTER, _CODE_BEFORE = _postcodes("after"), _postcodes("before")
CODE_CITY = re.compile(
    rf"{_BREAK}(?P<code>(?:[A-Z]{{1,2}}-)?{_CODE_AFTER})(?![0-9])[,]?[ \u00a0]{{1,2}}(?P<city>{_CITY})"
)
CITY_CODE = re.compile(rf"{_BREAK}(?P<city>{_CITY}),?[ \u00a0\n]{{1,2}}(?P<code>{_CODE_BEFORE})(?![\w-])")
CODE_ONLY = re.compile(rf"{_BREAK}(?P<code>(?:[A-Z]{{1,2}}-)?(?:{_CODE_AFTER}|{_CODE_BEFORE}))(?![\w-])")
REGION_CODE = re.compile(
    rf"(?:[ \u00a0]?[-–/][ \u00a0]?[A-Z]{{2}})?[ ,\u00a0-]{{1,3}}(?:{_CODE_BEFORE}|{_CODE_AFTER})(?![\w-])"
)
CITY_ONLY = re.compile(rf"[ \t\u00a0]?[,،][ \t\u00a0]{{0,2}}(?:(?:г|м|с|пос|д)\.[ \u00a0]?)?(?P<city>{_CITY})")
HEAD = re.compile(
    rf"(?<![\w-])(?:(?P<code>{_CODE_AFTER}),?[ \u00a0]{{1,2}})?"
    r"(?P<place>(?:г|город|м|місто|с|пос|қ)\.?[ \u00a0]{1,2})?"
    rf"(?P<city>{_CITY_WORD}(?:[ \u00a0]{_CITY_WORD})?)(?P<town>[ \u00a0](?:қ\.|қаласы))?,[ \u00a0]{{0,2}}\Z"
)
TOWN = (" қ.", " қаласы")
CODE_HEAD = re.compile(rf"(?<![\w-]){_CODE_AFTER},?[ \u00a0]{{1,2}}\Z")


def _street_words() -> dict[str, list[str]]:
    words: dict[str, list[str]] = {order: [] for order in _ORDERS}
    for line in (_FOLDER / "street_words.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            head, _, rest = line.partition(":")
            words[head.split()[0]] += [word.replace("_", " ") for word in rest.split()]
    return words


_WORDS = _street_words()
_LOWER = {letter: letter + 32 for letter in range(ord("A"), ord("Z") + 1)}


def _alternatives(order: str) -> str:
    written = {form for word in _WORDS[order] for form in (word, word.capitalize(), word.upper())}
    written |= {word[:-1] for word in written if word.endswith(".") and order in ("number-name", "weak")}
    return "|".join(sorted((re.escape(word) for word in written), key=lambda word: (-len(word), word)))


_LETTER = r"[a-z\x80-\xff]"
_NOT_LETTER = r"[^a-z0-9\x80-\xff]"


def _patterns(*, is_ascii: bool) -> dict[str, str]:
    """Return the patterns of the scanner by order.

    Args:
        is_ascii: for texts in ASCII, which contain no other words. Their scan takes two fifths of the time.
    """

    def words(order: str) -> str:
        each = dict.fromkeys(word.translate(_LOWER) for word in _alternatives(order).split("|"))
        return "|".join(word for word in each if not is_ascii or word.isascii())

    def with_space(order: str) -> str:
        """Return the words with a space after each of them; an abbreviation needs none."""
        each = words(order).split("|")
        return "|".join(word if word.endswith((r"\.", "/", "º")) else rf"{word}[ \xc2]" for word in each)

    return {
        "joined": rf"{_LETTER}{{2}}(?:{words('joined')})[ ,:.nro°\xc2\xa0]{{1,6}}[0-9]",
        "after": rf"[ \xa0](?:{words('after')})[ ,:.a-z°\x80-\xff]{{1,12}}[0-9]",
        "before": rf"(?:^|{_NOT_LETTER})(?:{with_space('before')})",
        "number-name": rf"[0-9][a-z]?,? {_LETTER}[^\n0-9,]{{0,40}} (?:{words('number-name')})(?:{_NOT_LETTER}|$)",
        "weak-before": rf"(?:^|{_NOT_LETTER})(?:{with_space('weak-before')})",
        "number-word": rf"[0-9](?: ?[a-z]| bis| ter)?,? (?:{words('number-word')}) ",
        "weak-word": rf"[0-9](?: ?[a-z]| bis| ter)?,? (?:{words('weak-word')}) ",
        "weak": rf"[0-9][a-z]?,? {_LETTER}[^\n0-9,]{{0,40}} (?:{words('weak')})(?:{_NOT_LETTER}|$)",
        "box": rf"(?:^|{_NOT_LETTER})(?:{words('box')})[ :.nr°\xc2\xa0]{{0,5}}[0-9]",
        "code": r"[0-9][a-z]?(?:,[ ]?|,?\r?\n[ ]{0,4})(?:[a-z]{1,2}-)?"
        r"(?:[0-9]{5}|[0-9]{2}-[0-9]{3}|[0-9]{4}-[0-9]{3}|[0-9]{4} ?[a-z]{2}|[0-9]{4}|[0-9]{3} [0-9]{2})[ ]" + _LETTER,
    }


PATTERNS = _patterns(is_ascii=False)
ASCII_PATTERNS = _patterns(is_ascii=True)

WITH_NUMBER = frozenset(("number-name", "number-word", "weak", "weak-word"))
STREET = {
    order: re.compile(rf"(?<![^\W_])(?:{_alternatives(order)})(?![^\W_])", re.IGNORECASE)
    for order in _ORDERS
    if order != "joined"
}
DIRECTION = re.compile(r" (?:[NSEW]{1,2}|North|South|East|West)(?![^\W_])")
UNITS_AFTER = re.compile(_UNITS, re.IGNORECASE)
BOX_NUMBER = re.compile(r"[ :.nrNR°º]{0,5}([0-9][0-9 ]{0,9}[0-9]|[0-9])")
LAST_DIGIT = re.compile(r"[0-9][A-Za-z]?")
GAP = re.compile(r",?[ \u00a0]{1,2}\Z")
CITY_WORDS = re.compile(_CITY_WORD + r"|[0-9]{1,2}")
YEAR_AT = re.compile(r"(?:19|20)[0-9]{2}(?![0-9])")
YEAR = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}\Z")
CAPITAL_AFTER = re.compile(r"\.? [A-ZÀ-Þ]")
JOINED = re.compile(rf"(?:{_alternatives('joined')})\Z", re.IGNORECASE)
HOUSE_AT_END = re.compile(
    rf"(?:{_NUMBER_WORDS}\.?{_SPACES})?(?<![\w.,/-])(?P<number>{_HOUSE}){_UNITS}\Z", re.IGNORECASE
)
PARTED = re.compile(r"[,\n]")
NAME_WORD = re.compile(r"[^\W\d_]+")
