"""How hard does a request look? A heuristic in shadow mode: what it would have chosen is recorded, and never decides.

Each sign counts a point; a request with `COMPLEX_FROM` of them looks complex. The thresholds are guesses (2026-11), to
be held against a site's own records before anybody lets them decide.

| sign | points |
|---|---|
| prompt and answer of more than 1,000 tokens; of more than 8,000 | 1; 2 |
| more than 6 messages | 1 |
| code | 1 |
| mathematics | 1 |
| 3 questions or more | 1 |
| tools, a JSON schema, reasoning, pictures or sound are asked for | 1 |

    complexity = complexity_of(raw, body, demand)
    shadow_of(complexity, ShadowSettings(simple="small", complex="large"), plan.upstreams)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..settings import ShadowSettings
from .demand import Demand

COMPLEX_FROM = 2
_LONG_TOKENS, _VERY_LONG_TOKENS = 1000, 8000
_MANY_MESSAGES = 6
_MANY_QUESTIONS = 3
# As they stand in JSON. Looking for one byte takes a tenth of looking for several (0.5 us and 5 us in 2 KB, measured
# 2026-11), so each sign is looked for only where its rarest byte is.
_CODE = ((b"`", (b"```",)), (b";", (b";\\n",)), (b"#", (b"#include",)))
_MATHEMATICS = (
    (b"\xe2", (b"\xe2\x88",)),  # U+2200 to U+223F in UTF-8: the sums, integrals and roots of mathematics
    (b"\\", (b"\\\\frac", b"\\\\sum", b"\\\\int", b"\\\\sqrt")),
)


class Complexity(NamedTuple):
    """How hard a request looks."""

    points: int

    @property
    def is_complex(self) -> bool:
        """True when enough speaks for it."""
        return self.points >= COMPLEX_FROM


class Shadow(NamedTuple):
    """What the heuristic would have chosen."""

    points: int
    complexity: str
    """`simple` or `complex`."""
    upstream: str
    """Of the plan's."""

    def plain(self) -> dict[str, Any]:
        """For the audit record; no text of anybody's."""
        return self._asdict()


def complexity_of(raw: bytes, body: Mapping[str, Any], demand: Demand) -> Complexity:
    """How hard a request looks.

    Args:
        raw: the request's JSON.
        body: the same, read.
    """
    points = (demand.tokens > _LONG_TOKENS) + (demand.tokens > _VERY_LONG_TOKENS) + bool(demand.needs)
    messages = body.get("messages", body.get("input"))
    points += isinstance(messages, list) and len(messages) > _MANY_MESSAGES
    points += raw.count(b"?") >= _MANY_QUESTIONS
    return Complexity(points + _has(raw, _CODE) + _has(raw, _MATHEMATICS))


def _has(raw: bytes, signs: Sequence[tuple[bytes, Sequence[bytes]]]) -> bool:
    for rare, written in signs:  # noqa: SIM110 - a generator costs as much as the search
        if rare in raw and any(sign in raw for sign in written):
            return True
    return False


def shadow_of(complexity: Complexity, settings: ShadowSettings, upstreams: Sequence[str]) -> Shadow:
    """What would have been chosen of a plan; its first one where the plan does not hold what the site names.

    Args:
        upstreams: of the plan, at least one.
    """
    word, name = ("complex", settings.complex) if complexity.is_complex else ("simple", settings.simple)
    return Shadow(complexity.points, word, name if name in upstreams else upstreams[0])
