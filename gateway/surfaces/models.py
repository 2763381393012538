"""The list of models, in the formats of OpenAI and Anthropic.

listed(Usable("lab", ["assistant"]), is_anthropic=False)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

_EPOCH = "1970-01-01T00:00:00Z"  # both APIs require a time of creation, which is not meaningful here


@dataclass(frozen=True, slots=True)
class Usable:
    """Models that a principal may use."""

    site: str
    models: Sequence[str]


def listed(usable: Usable, *, is_anthropic: bool) -> bytes:
    """Return the list, as one page."""
    data = [_entry(usable, model, is_anthropic) for model in usable.models]
    if not is_anthropic:
        return orjson.dumps({"object": "list", "data": data})
    ends = {"first_id": usable.models[0], "last_id": usable.models[-1]} if data else {"first_id": None, "last_id": None}
    return orjson.dumps({"data": data, "has_more": False, **ends})


def one(usable: Usable, model: str, *, is_anthropic: bool) -> bytes | None:
    """Return one model; None if the name is unknown."""
    return orjson.dumps(_entry(usable, model, is_anthropic)) if model in usable.models else None


def _entry(usable: Usable, model: str, is_anthropic: bool) -> dict[str, Any]:
    if is_anthropic:
        return {"type": "model", "id": model, "display_name": model, "created_at": _EPOCH}
    return {"id": model, "object": "model", "created": 0, "owned_by": usable.site}
