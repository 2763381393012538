"""Decides whether what looks like a name is a company's, or a place's, by its legal form or the word after it.

is_company("client Robert Bosch GmbH", 7, 19)         # True: the next word
is_company("Beklagte: Hansa Feinkost OHG", 10, 28)    # True: a word of the name
is_company("powód Budimex S.K.A.", 6, 20)             # True: read as initials
is_company("customer PT Astra International", 9, 17)  # True: the first word
is_company("pozwany Kowalski S.A.", 8, 21)            # False: two initials after a surname
"""

from __future__ import annotations

import re

from .cues import COMPANIES
from .given_names import is_given_name
from .shape import ends_like_surname

_ALSO_WORDS = ("ab", "co", "sa", "se", "spa")
"""Legal forms that are words as well, of which a company has the capital: "Pedro Salinas se encuentra"."""
_CERTAIN = (
    r"s\. ?k\. ?a\.|s\. ?p\. ?a\.|s\. ?r\. ?l\.|s\. ?a\. ?s\.|s\. ?n\. ?c\.|s\. ?l\. ?u\.|p\. ?s\. ?a\.|p\. ?l\. ?c\."
)
"""Legal forms with dots, which would be read as initials of a person."""
_AFTER = re.compile(
    r"[ \t]{1,2}(?:&|(?i:" + "|".join(sorted(set(COMPANIES).difference(_ALSO_WORDS))) + r")\b"
    r"|(?:A[bB]|C[oO]|S[aAeE]|S[pP][aA])\b(?![ \t]{1,2}[A-ZÀ-ÖØ-Þ]{3})"
    rf"|EG\b|eG\b|(?i:{_CERTAIN}|sp\. ?[zjkp]\b|z o\.|s\. ?r\. ?o\.|a\. ?s\.|v\. ?o\. ?s\.|k\. ?s\.|d\. ?o\. ?o\."
    r"|e\. ?v\.|s\. ?c\.|spol\.|spółka\b|s\. ?coop|\(haftungsbeschr))"
)
_WITHIN = re.compile(
    r"[ \t](?:AG|KG|OHG|UG|KGaA|KGAA|LLP|LLC|PLC|SNC|SCI|EURL|SARL|SAS|SRL|SpA|SPA|SL|SLU|Tbk|TBK|BV|NV|GmbH|GMBH|OOD"
    r"|EOOD|DOO|eG)(?![^\W_])"
)
"""Words of a name that are legal forms, in their usual spelling only."""
_BEFORE = re.compile(
    r"(?<![^\W_])(?:(?P<weak>AB|MB|AS|S\.?C|PT|CV|PD|UD|SAS)|UAB|V[šŠ]Į|IĮ|SIA|OÜ|TOV|OOO|ZAO|OAO|PAO|SARL|ООО|ОАО|ЗАО|ПАО"
    r"|АО|НКО|ТОО|ТОВ|ПАТ|П[рР]АТ|ЧП|МУП|ГУП|ФГУП|АНО)\.?[ \t]{1,2}[\"„“«]?(?:[^\W\d_a-z][^\W\d_]{1,20} ){0,2}\Z"
)
"""Legal forms before a company, with up to two words of its name. ИП and ФОП are people. After a weak one, a name with
a known given name is a person: "CV Anna Kowalska"."""
_BEFORE_WITHIN = 56  # characters
_FIRST = re.compile(r"[^\W\d_]+\.?[ \t]")
_DOTTED = re.compile(
    rf" (?:(?P<certain>(?i:{_CERTAIN}))|(?:S\.A|S\.L|S\.C|N\.V|B\.V|A\.G|A\.S|K\.K|L\.P|[eE]\.V|S\. Coop)(?![^\W_]))"
)
"""Legal forms that a name takes along, because they look like initials."""
_DOTTED_AFTER = 4  # characters of such a form after the name


def is_company(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]`, which has the form of a name, is the name of a company or a place."""
    if _AFTER.match(text, end) or _WITHIN.search(text, start, end):
        return True
    first = _FIRST.match(text, start, end)
    before = _BEFORE.search(text, max(0, start - _BEFORE_WITHIN), start if first is None else first.end())
    if before is not None and not (before["weak"] and _has_given(text[start:end])):
        return True
    dotted = _DOTTED.search(text, start, end + _DOTTED_AFTER)
    if dotted is None or dotted.start() >= end:
        return False
    name = text[start : dotted.start()]
    return dotted["certain"] is not None or not (ends_like_surname(name) or _has_given(name))


def _has_given(name: str) -> bool:
    return any(map(is_given_name, name.split()))
