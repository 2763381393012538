"""Copies for other companies, such as a repair service: names, addresses and serial numbers become pseudonyms. Pure.

A pseudonym is stable within a site, so that the same part has the same one in every copy. `sanitized` searches its
result again, and raises an error if an original value is left.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from sovctl.support.errors import SovctlError

_PATTERNS = (
    ("uuid", re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b")),
    ("mac", re.compile(r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b")),
    ("guid", re.compile(r"\b(?:0x)?(?:[0-9a-fA-F]{4}:){3}[0-9a-fA-F]{4}\b")),
    ("address", re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")),
    ("address", re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}(?![\w:])")),
)
MINIMUM = 4
"""A value with at most so many characters may be left inside of a longer word, where it is another word (guess)."""


class NotSanitized(SovctlError):
    """An original value would be left in the copy."""


def sanitized(text: str, *, values: Iterable[tuple[str, str]], secret: bytes) -> str:
    """Return the text with pseudonyms.

    Args:
        values: (kind, original) such as ("serial", "1650000000001") or ("node", "dgx-1").
        secret: of the site. Only its owner can compute the pseudonym of a known value.

    Raises:
        NotSanitized: an original value is left, for example inside of a longer word.
    """
    # Longest first, because one name can contain another.
    known = sorted({(kind, value) for kind, value in values if value}, key=lambda each: (-len(each[1]), each))
    for kind, value in known:
        text = _whole(value).sub(_pseudonym(kind, value, secret), text)
    for kind, pattern in _PATTERNS:
        text = pattern.sub(lambda match, kind=kind: _pseudonym(kind, match[0], secret), text)  # type: ignore[misc]
    if left := next(_left(text, known), None):
        raise NotSanitized(f"expected no {left} in the copy, got one", hint="remove the output that contains it")
    return text


def _whole(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])", re.IGNORECASE)


def _left(text: str, known: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the kind of each original value that is part of a longer word."""
    lowered = text.lower()
    for kind, value in known:
        if len(value) > MINIMUM and value.lower() in lowered:
            yield kind


def _pseudonym(kind: str, value: str, secret: bytes) -> str:
    return f"{kind}-{hashlib.blake2b(value.lower().encode(), key=secret[:64], digest_size=6).hexdigest()}"
