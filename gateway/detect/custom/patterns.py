"""Checks one pattern of a site's recognizer: Hyperscan supports it, and its matches have bounded length.

    pattern = Pattern(r"(a+)+$", is_unicode=True)
    problem_of(pattern, pattern)      # PatternProblem("expected matches of at most 256 bytes, ...", ...)

Hyperscan has no backtracking, so every pattern that it compiles is searched for in linear time. The limits of length
bound the work of each hit.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import hyperscan

from ..text.scanner import Pattern, flags_of

SHORTEST, LONGEST = 3, 256  # bytes of a match
_EXTENDED: Any = vars(hyperscan)["ExpressionExt"]  # not in its type stub
_NEEDLESS = 0  # of an extended parameter that is not used

# Messages of Hyperscan 5.4 (src/parser, src/nfagraph; read 2026-11), and what to do.
_REMEDIES = (
    ("Back-references", "write the repeated part out; a checksum can replace a back-reference"),
    ("Zero-width assertions", "remove look-around; use `context` for words around the match"),
    ("Atomic groups", "use a plain group `(?:...)`"),
    ("Possessive", "use a plain quantifier"),
    ("matches empty buffer", "require at least one fixed character"),
    ("too large", "use fewer or narrower character classes, and shorter repetition"),
)
_OTHER_REMEDY = "correct the expression, or quote it with single quotes in YAML"


class PatternProblem(NamedTuple):
    """Why a pattern is rejected."""

    message: str
    hint: str


@lru_cache(1024)  # a reload checks the same patterns again
def problem_of(pattern: Pattern, scanned: Pattern) -> PatternProblem | None:
    """Return why a pattern is rejected; None if it is accepted.

    Args:
        pattern: as the settings contain it.
        scanned: the form in which it is searched for.
    """
    plain = replace(pattern, has_start=False)
    if (said := _error(plain)) is not None:
        return _not_compiled(said)
    # Hyperscan rejects a minimum length that no match has, and a last offset that every match exceeds.
    if "min_length" not in (_error(plain, min_length=LONGEST + 1) or ""):
        return PatternProblem(
            f"expected matches of at most {LONGEST} bytes, got longer or unlimited ones",
            "replace `*`, `+` and `{n,}` by a range such as `{1,20}`",
        )
    if "max_offset" not in (_error(plain, max_offset=SHORTEST - 1) or ""):
        return PatternProblem(
            f"expected matches of at least {SHORTEST} bytes, got shorter ones", "require more characters"
        )
    return _not_compiled(said) if (said := _error(scanned)) is not None else None


def _not_compiled(said: str) -> PatternProblem:
    remedy = next((remedy for part, remedy in _REMEDIES if part in said), _OTHER_REMEDY)
    return PatternProblem(f"expected an expression that Hyperscan compiles, got: {_in_one_line(said)}", remedy)


def _error(pattern: Pattern, *, min_length: int = _NEEDLESS, max_offset: int = _NEEDLESS) -> str | None:
    """Return why Hyperscan does not compile a pattern; None if it does."""
    used = (min_length and hyperscan.HS_EXT_FLAG_MIN_LENGTH) | (max_offset and hyperscan.HS_EXT_FLAG_MAX_OFFSET)
    extended = _EXTENDED(
        flags=used,
        min_offset=_NEEDLESS,
        max_offset=max_offset,
        min_length=min_length,
        edit_distance=_NEEDLESS,
        hamming_distance=_NEEDLESS,
    )
    # Extended parameters of a pattern without any make it larger.
    more: dict[str, Any] = {"ext": [extended]} if used else {}
    try:
        hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK).compile(
            expressions=[pattern.expression.encode()], ids=[0], flags=[flags_of(pattern)], **more
        )
    except hyperscan.HyperscanError as error:
        return str(error)
    return None


def _in_one_line(text: str) -> str:
    return " ".join(text.split()).rstrip(".")
