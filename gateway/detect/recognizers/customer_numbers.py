"""Recognizes short numbers of customers, patients, employees: "Patient ID: 48213", "Kundennummer: 4821", "EMP-30512".

`document_numbers` recognizes longer ones. Every text contains numbers of four or five digits, so the name must be
directly before the number, joined by a sign or a verb, or letters that abbreviate the name must precede the digits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...domain.entities import EntityType
from ..context.surroundings import TextContext
from ..context.topics import named_topics
from ..findings.finding import Finding
from ..text.scanner import Pattern

_SCORE = 0.4
_ENTITY_TYPES = (
    ("patient", EntityType.HEALTH_ID, "HEALTH_ID_BY_WORD"),
    ("customer", EntityType.ACCOUNT, "CUSTOMER_BY_WORD"),
    ("register", EntityType.TAX_ID, "TAX_ID_BY_WORD"),
)
_GAP = "[ _.'-]?"
_JOINT = "[\"'`]?(?:[ ]?[:=#№→]|[ ](?:is|ist|est|es|è|é|to|adalah|nr\\.?|no\\.?|n°))[ ]?[\"'`#]?"
_JOINTS = {"register": rf"(?:{_JOINT}|\.?[ ])"}  # names of a register mean nothing else


def _joint(topic: str) -> str:
    return _JOINTS.get(topic, _JOINT)


_YEAR = re.compile("(?:19|20)[0-9]{2}")
_SHORTEST_NAME = 3  # letters
_DIGITS = "[0-9]{4,5}"
_CODE = "(?:EMP|MRN|PAT|CUST|MEM|STU)[-_#]?[0-9]{4,9}"
_CODES = len(_ENTITY_TYPES)  # of the patterns


def _expression(word: str) -> str:
    expression = "".join(_GAP if c == "_" else re.escape(c) for c in word.strip("*"))
    return expression + ("[a-z]{0,3}" if word.endswith("*") else "")


def _names(topic: str) -> str:
    words = {word.lower() for word in named_topics()[topic] if word.isascii() and len(word) >= _SHORTEST_NAME}
    expressions = {_expression(word) for word in words}
    return "|".join(sorted(expressions, key=lambda each: (-len(each), each)))


class ShortIdRecognizer:
    """Finds short numbers of people by the names of such numbers."""

    rules = tuple(rule for _, _, rule in _ENTITY_TYPES)
    patterns: Sequence[Pattern] = (
        *(
            Pattern(rf"(?:^|[^0-9A-Za-z])(?:{_names(topic)}){_joint(topic)}{_DIGITS}(?:[^0-9A-Za-z]|$)")
            for topic, _, _ in _ENTITY_TYPES
        ),
        Pattern(rf"(?:^|[^0-9A-Za-z_-]){_CODE}(?:[^0-9A-Za-z_-]|$)", has_case=True),
    )
    _code = re.compile(_CODE)
    _matches = tuple(
        re.compile(
            rf"(?<![0-9A-Za-z])(?:{_names(topic)}){_joint(topic)}(?P<digits>{_DIGITS})(?![\w]|[.,:/-][0-9])",
            re.IGNORECASE,
        )
        for topic, _, _ in _ENTITY_TYPES
    )

    def at(self, text: str, start: int, pattern: int, _around: TextContext) -> Finding | None:
        """Return the number whose name begins at `start` or directly after it."""
        if pattern == _CODES:
            code = self._code.match(text, start) or self._code.match(text, start + 1)
            if code is None:
                return None
            _, entity_type, rule = _ENTITY_TYPES[not code.group().startswith(("MRN", "PAT"))]
            return Finding(code.start(), code.end(), entity_type, _SCORE, code.group(), rule)
        match = self._matches[pattern].match(text, start) or self._matches[pattern].match(text, start + 1)
        if match is None:
            return None
        topic, entity_type, rule = _ENTITY_TYPES[pattern]
        if topic in _JOINTS and _YEAR.fullmatch(match["digits"]):
            return None  # "Handelsregister 2024"
        return Finding(*match.span("digits"), entity_type, _SCORE, match["digits"], rule)
