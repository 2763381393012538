"""Requirements of a request: its API, capabilities of the model, context length. Pure.

demand = demand_of(body, family=SurfaceName.CHAT, body_bytes=2048, max_answer_tokens=256, obstacles=frozenset())
demand.needs                # frozenset({Capability.TOOLS})
demand.tokens_at_least      # 512
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from ..domain.obstacles import Obstacle
from ..settings import Capability, SurfaceName

# A token has at most about 8 bytes of prose on average (English with vocabularies of 200,000: 4 to 5; guess, 2026-11).
# This gives a lower bound of a prompt's tokens.
_BYTES_PER_TOKEN_AT_MOST = 8
_BYTES_PER_TOKEN = 4

_NOTHING: frozenset[Capability] = frozenset()


class Demand(NamedTuple):  # created for every request; a frozen dataclass takes three times as long
    """Requirements of one request."""

    family: SurfaceName
    """Family of its surface."""
    needs: frozenset[Capability]
    tokens_at_least: int
    """Lower bound of prompt and answer; a model with a shorter context cannot serve the request."""
    tokens: int
    """Estimate of prompt and answer."""
    surface: str = ""
    """Name of its surface."""


def demand_of(
    body: Mapping[str, Any],
    *,
    family: SurfaceName,
    body_bytes: int,
    max_answer_tokens: int,
    obstacles: Collection[Obstacle],
    surface: str = "",
) -> Demand:
    """Return the requirements of a request.

    Args:
        body_bytes: size of its JSON.
        max_answer_tokens: most tokens of an answer that the client allows; 0 if it sets no limit.
        obstacles: content that cannot be inspected, pictures and sound among it.
        surface: name of its surface.
    """
    return Demand(
        family,
        _needs(body, obstacles),
        body_bytes // _BYTES_PER_TOKEN_AT_MOST + max_answer_tokens,
        body_bytes // _BYTES_PER_TOKEN + max_answer_tokens,
        surface,
    )


def _needs(body: Mapping[str, Any], obstacles: Collection[Obstacle]) -> frozenset[Capability]:
    if not obstacles and _ASKING.isdisjoint(body):
        return _NOTHING
    needs = [capability for capability, fields in _FIELDS if any(body.get(field) for field in fields)]
    if _is_schema(body.get("response_format")) or _is_schema(_inner(body.get("text"))):
        needs.append(Capability.JSON_SCHEMA)
    if obstacles:
        needs += [capability for obstacle, capability in _OBSTACLES.items() if obstacle in obstacles]
    return frozenset(needs)


# Top-level fields of OpenAI, Anthropic and vLLM.
_FIELDS = (
    (Capability.TOOLS, ("tools", "functions")),
    (Capability.REASONING, ("reasoning_effort", "reasoning", "thinking")),
    (Capability.JSON_SCHEMA, ("structured_outputs", "guided_json", "output_format")),
)
_ASKING = frozenset({"response_format", "text", *(field for _, fields in _FIELDS for field in fields)})
_OBSTACLES = {Obstacle.IMAGE: Capability.VISION, Obstacle.AUDIO: Capability.AUDIO}


def _is_schema(wanted: Any) -> bool:
    return isinstance(wanted, dict) and wanted.get("type") == "json_schema"


def _inner(text: Any) -> Any:
    return text.get("format") if isinstance(text, dict) else None
