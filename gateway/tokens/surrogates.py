"""Format-preserving surrogates of tokens, for schemas that accept only values of a given format. Pure.

A model whose answer must be an e-mail address cannot write `EMAIL_7K2M...`. A site can enable surrogates by entity
type (`tokens.format_preserving`). A surrogate is computed from the token, and its range is never assigned to a person:

| entity type | surrogate | why it is unassigned |
|---|---|---|
| EMAIL | the token's sixteen characters, `@tokens.invalid` | RFC 2606, 2: `.invalid` does not exist |
| IBAN | `XT`, valid check digits, the sixteen characters | ISO 3166-1: `XA` to `XZ` are not assigned to countries |
| PHONE | `+999` and eleven digits | ITU-T E.164 list of codes: 999 is not assigned |
| CARD | `9999`, eleven digits and a Luhn digit | ISO/IEC 7812-1: 9 is for national use, and 999 is not a country |

A surrogate is restored only if an issued one occurs in full, as it was written; a grouped number is not restored.

surrogate_of("EMAIL_7K2M0C3R9T5V1WXY")                       # "7k2m0c3r9t5v1wxy@tokens.invalid"
demanded(inspector.leaves.texts)                             # {EntityType.EMAIL}: a schema requires its format
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..body.json_texts import JSON, JsonText, Path
from ..domain.entities import EntityType
from .search import Found
from .token import number_of

ENTITY_TYPES = frozenset({EntityType.EMAIL, EntityType.IBAN, EntityType.PHONE, EntityType.CARD})
"""Entity types with surrogates."""

_DIGITS = 11
_GLUED_BEFORE = re.compile(r"[\w.%+-]\Z")
_GLUED_BEHIND = re.compile(r"[^\W_]|[-_]")

# JSON Schema, validation vocabulary, 7.3: formats; and names of properties with a pattern.
_FORMATS = {
    "email": EntityType.EMAIL,
    "idn-email": EntityType.EMAIL,
    "iban": EntityType.IBAN,
    "phone": EntityType.PHONE,
    "tel": EntityType.PHONE,
}
_NAMES = {
    EntityType.EMAIL: re.compile("e[-_]?mail", re.IGNORECASE),
    EntityType.IBAN: re.compile("iban", re.IGNORECASE),
    EntityType.PHONE: re.compile("phone|mobile|(?:^|_)tel(?:_|$)|fax|msisdn", re.IGNORECASE),
    EntityType.CARD: re.compile("card|(?:^|_)pan(?:_|$)", re.IGNORECASE),
}
_SCHEMAS = frozenset(
    {"tools", "functions", "response_format", "text", "output_config", "output_format", "structured_outputs"}
    | {"guided_json", "guided_regex", "guided_grammar", "guided_choice"}
)
_FIXED = frozenset({"pattern", "format", "regex", "grammar", "guided_regex", "guided_grammar", "$ref", "$id"})


def surrogate_of(token: str) -> str | None:
    """Return the surrogate of a token; None for other entity types."""
    label, _, body = token.rpartition("_")
    match label:
        case EntityType.EMAIL:
            return f"{body.lower()}@tokens.invalid"
        case EntityType.IBAN:
            return f"XT{98 - _remainder(body + 'XT00'):02d}{body}"
        case EntityType.PHONE:
            return f"+999{number_of(body) % 10**_DIGITS:0{_DIGITS}d}"
        case EntityType.CARD:
            digits = f"9999{number_of(body) % 10**_DIGITS:0{_DIGITS}d}"
            return digits + str(-_luhn_sum(digits + "0") % 10)
    return None


def may_stand(before: str, behind: str) -> bool:
    """Return whether a surrogate between these texts is complete."""
    return not (_GLUED_BEFORE.search(before[-1:]) or _GLUED_BEHIND.match(behind))


class Surrogates:
    """Finds the surrogates of issued tokens in an answer.

    Args:
        tokens: canonical tokens; those that share a surrogate are ignored.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        owners: dict[str, list[str]] = {}
        for token in tokens:
            if (written := surrogate_of(token)) is not None:
                owners.setdefault(written.lower(), []).append(token)
        self._tokens = {written: each[0] for written, each in owners.items() if len(each) == 1}
        self._written = re.compile("|".join(map(re.escape, self._tokens)) or "(?!)", re.IGNORECASE | re.ASCII)
        self._beginnings = {written[:end] for written in self._tokens for end in range(1, len(written) + 1)}
        self._longest = max(map(len, self._tokens), default=0)

    def first(self, text: str, position: int, *, is_end: bool) -> Found | None:
        """Return the first complete surrogate that begins at `position` or later.

        Args:
            is_end: no text follows.
        """
        for match in self._written.finditer(text, position):
            start, end = match.span()
            if (is_end or end < len(text)) and may_stand(text[max(0, start - 1) : start], text[end : end + 1]):
                label, _, body = self._tokens[match.group().lower()].rpartition("_")
                return Found(start, end, body, label)
        return None

    def begun(self, text: str, position: int) -> int:
        """Return the start of a surrogate's beginning at the end of `text`; the length of `text` otherwise."""
        tail = text[max(position, len(text) - self._longest) :].lower()
        for start in range(len(tail)):
            if tail[start:] in self._beginnings:
                return len(text) - len(tail) + start
        return len(text)


def demanded(leaves: Iterable[JsonText]) -> frozenset[EntityType]:
    """Return the entity types whose format a schema in the request requires: by `format`, or by a pattern of a
    property with a known name."""
    entity_types = set()
    for leaf in leaves:
        place = leaf.path[-1]
        if place == "format" and leaf.text in _FORMATS:
            entity_types.add(_FORMATS[leaf.text])
        elif place == "pattern" and len(leaf.path) > 1:
            entity_types |= {entity_type for entity_type, name in _NAMES.items() if name.search(str(leaf.path[-2]))}
    return frozenset(entity_types)


def is_fixed(path: Path) -> bool:
    """Return whether replacing the string would change the meaning of a schema."""
    return path[-1] in _FIXED and path[0] in _SCHEMAS and JSON not in path


def is_in_schema(path: Path) -> bool:
    """Return whether a value is in a schema or a definition of a tool, whose keys mean something to the server."""
    return path[:1] != () and path[0] in _SCHEMAS


def _remainder(text: str) -> int:
    """Return the remainder modulo 97 of a number in letters and digits (ISO 7064)."""
    return int("".join(str(int(character, 36)) for character in text)) % 97


def _luhn_sum(digits: str) -> int:
    """Return the Luhn sum (ISO/IEC 7812-1, annex B)."""
    doubled = (int(digit) * 2 for digit in digits[-2::-2])
    return sum(map(int, digits[-1::-2])) + sum(value - 9 if value > 9 else value for value in doubled)
