"""Estimates how complex a request is. Shadow mode: the choice is recorded and not used.

Each sign is worth points; a request with `COMPLEX_FROM` points is complex. The thresholds are guesses (2026-11), to be
compared with a site's records before they decide anything.

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
# As JSON encodes them. A search for one byte takes 10 % of the time of one for several (0.5 us and 5 us in 2 KB,
# measured 2026-11), so a sign is searched only if its rarest byte occurs.
_CODE = ((b"`", (b"```",)), (b";", (b";\\n",)), (b"#", (b"#include",)))
_MATHEMATICS = (
    (b"\xe2", (b"\xe2\x88",)),  # U+2200 to U+223F in UTF-8: the sums, integrals and roots of mathematics
    (b"\\", (b"\\\\frac", b"\\\\sum", b"\\\\int", b"\\\\sqrt")),
)


class Complexity(NamedTuple):
    """Complexity of a request."""

    points: int

    @property
    def is_complex(self) -> bool:
        """True from `COMPLEX_FROM` points on."""
        return self.points >= COMPLEX_FROM


class ShadowChoice(NamedTuple):
    """Choice of the heuristic."""

    points: int
    complexity: str
    """`simple` or `complex`."""
    upstream: str
    """One of the plan's upstreams."""

    def plain(self) -> dict[str, Any]:
        """Return the values for the audit record."""
        return self._asdict()


def complexity_of(raw: bytes, body: Mapping[str, Any], demand: Demand) -> Complexity:
    """Return the complexity of a request.

    Args:
        raw: JSON of the request.
        body: `raw`, decoded.
    """
    points = (demand.tokens > _LONG_TOKENS) + (demand.tokens > _VERY_LONG_TOKENS) + bool(demand.needs)
    messages = body.get("messages", body.get("input"))
    points += isinstance(messages, list) and len(messages) > _MANY_MESSAGES
    points += raw.count(b"?") >= _MANY_QUESTIONS
    return Complexity(points + _has(raw, _CODE) + _has(raw, _MATHEMATICS))


def _has(raw: bytes, signs: Sequence[tuple[bytes, Sequence[bytes]]]) -> bool:
    for rare, written in signs:  # noqa: SIM110 - a generator would double the time
        if rare in raw and any(sign in raw for sign in written):
            return True
    return False


def shadow_of(complexity: Complexity, settings: ShadowSettings, upstreams: Sequence[str]) -> ShadowChoice:
    """Return the upstream that the settings name for this complexity; the first of the plan if it is not in the plan.

    Args:
        upstreams: upstreams of the plan, at least one.
    """
    word, name = ("complex", settings.complex) if complexity.is_complex else ("simple", settings.simple)
    return ShadowChoice(complexity.points, word, name if name in upstreams else upstreams[0])
