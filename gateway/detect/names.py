"""Names of people in English texts, by what stands around them.

A title, a greeting, a closing, "my name is", a field called `name`: in these places a capitalised word is a person.
It is not a name model: a name without such a place around it is not found, which is why policy says in which
languages the site accepts that at all, and why every other language stays on-prem. docs/gateway.md says so too.

    [(f.start, f.end) for f in find_names("Dear Mr. Ola Nordmann, thank you")]   # [(9, 21)]
    NameFinder().find(view, ())                                                   # the same, for the detector
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import regex

from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.detect.view import View
from sovctl.gateway.kinds import Kind

# A given name, an initial or a double name; then up to four more, with particles such as "van der" in between.
_WORD = r"(?:\p{Lu}\.|\p{Lu}[\p{L}\p{M}]*(?:['’\-]\p{L}[\p{L}\p{M}]*)*+)"
_PARTICLE = r"(?:(?:van|von|der|den|de|del|della|di|da|dos|du|la|le|bin|bint|ibn|al|el|af|zu|ter|y)[ \t]|al-|el-)"
_NAME = rf"(?P<name>(?:{_PARTICLE}{{0,2}}){_WORD}(?:[ \t]{_PARTICLE}{{0,2}}{_WORD}){{0,4}})"
_FULL_NAME = rf"(?P<name>{_WORD}(?:[ \t]{_PARTICLE}{{0,2}}{_WORD}){{1,4}})"

_TITLES = r"(?:Mr|Mrs|Ms|Mx|Miss|Mister|Dr|Prof|Professor|Doctor|Sir|Madam|Lord|Lady|Rev|Judge|Captain|Sheikh|Sheikha)"
_ROLES = (
    r"(?:customer|client|patient|employee|applicant|borrower|tenant|beneficiary|payee|payer|holder|account[ ]holder|"
    r"cardholder|guarantor|signatory|colleague|manager|attn|attention|contact|contact[ ]person|recipient|sender|"
    r"insured|policyholder|claimant|doctor|nurse|witness|defendant|plaintiff|wife|husband|son|daughter|mother|father|"
    r"brother|sister)"
)
_INTRODUCTIONS = (
    r"(?:(?:my|his|her|their|the|whose)[ ]name[ ]is|named|called|I[ ]am|I['’]m|this[ ]is|signed[ ]by|written[ ]by|"
    r"spoke[ ](?:to|with)|speak[ ](?:to|with)|met[ ]with|on[ ]behalf[ ]of)"
)
_CLOSINGS = r"(?:regards|sincerely|faithfully|truly|wishes|thanks|thank[ ]you|cheers|respectfully)"
# `first_name`, `customerName` and `surname` end in `name` too.
_FIELDS = r"(?:name|\b(?:signed|author|from|to|cc))"

_PLACES = tuple(
    (rule, regex.compile(pattern), score)
    for rule, pattern, score in (
        ("NAME_TITLE", rf"(?<!\p{{L}}){_TITLES}\.?[ \t]+{_NAME}", 0.85),
        (
            "NAME_INTRODUCED",
            rf"(?i:\b{_INTRODUCTIONS})[ \t]+{_NAME}",
            0.7,
        ),
        (
            "NAME_GREETING",
            rf"(?im:^[ \t>]*(?:dear|hi|hello|hey|good[ ](?:morning|afternoon|evening)),?)[ \t]+{_NAME}",
            0.7,
        ),
        (
            "NAME_CLOSING",
            rf"(?i:\b{_CLOSINGS})[,.!]?[ \t]*\n\s*{_NAME}",
            0.7,
        ),
        ("NAME_ROLE", rf"(?i:\b{_ROLES})[:,]?[ \t]+{_FULL_NAME}", 0.6),
        ("NAME_FIELD", rf"(?i:{_FIELDS})[\"']?[ \t]*[:=][ \t]*[\"']?{_NAME}", 0.75),
    )
)

# Capitalised words that stand in those places and are nobody.
_NOT_NAMES = """
a all am an and any api april are as at attention august bank board by calling can card client colleague colleagues
com committee company could customer dear december department desk dr english everybody everyone february folks for
friday friend friends from german glad good group guys happy has have hello help her here hereby hi his how i iban id
if in is it its january july june ladies madam management march may miss monday mr mrs ms my no not november now
october of office ok on or our please prof regards saturday sending september sir sirs so sorry sunday support sure
team thank thanks that the their there these they this thursday to today tomorrow tuesday us very was we wednesday
well what when where which who why will with world writing yes you your
"""
_NOBODY = frozenset(_NOT_NAMES.split())


class NameFinder:
    """Finds names by their context."""

    @property
    def rules(self) -> Sequence[str]:
        """Names of all rules."""
        return [rule for rule, _, _ in _PLACES]

    def find(self, view: View, _found: Sequence[Finding]) -> Iterable[Finding]:
        """Names in `view`, possibly overlapping."""
        return find_names(view.text)


def find_names(text: str) -> Iterator[Finding]:
    """Names in `text`, possibly overlapping; titles and greetings are not part of them."""
    for rule, pattern, score in _PLACES:
        for match in pattern.finditer(text):
            start, end = _trimmed(text, *match.span("name"))
            if start < end:
                value = " ".join(text[start:end].casefold().split())
                yield Finding(start, end, Kind.PERSON, score, value, rule)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without leading and trailing words that are nobody's name; empty when nothing is left."""
    words = [(start + m.start(), start + m.end()) for m in regex.finditer(r"[^ \t]+", text[start:end])]
    for index, (first, last) in enumerate(words):
        if text[first:last].rstrip(".").casefold() in _NOBODY:
            if index == 0:
                return _trimmed(text, words[1][0], end) if len(words) > 1 else (start, start)
            end = words[index - 1][1]
            break
    return start, end
