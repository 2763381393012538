"""`rollout` of `site.yaml`: capacity that keeps serving during an apply, tolerated failures, and draining."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import Field, GetJsonSchemaHandler, StringConstraints, WrapValidator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from .types import SpecModel


class _OrCount:
    """The schema of a text that may also be a whole number."""

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {
            "anyOf": [handler(core_schema), {"type": "integer", "minimum": 0, "maximum": 9999}],
            "x-kind": "count or percentage",
            "x-words": "a count such as 2, or a percentage from 0% to 100%",
        }


def _text_of_count(value: Any, handler: Any) -> Any:
    return handler(str(value) if isinstance(value, int) and not isinstance(value, bool) else value)


MinServing = Annotated[
    str,
    StringConstraints(pattern=r"^([0-9]{1,4}|([1-9]?[0-9]|100)%)$"),
    WrapValidator(_text_of_count),
    _OrCount(),
]
"""Number of servers that must keep serving, as a count or as a percentage."""


def count_of(min_serving: str, total: int) -> int:
    """Return the number of servers that must keep serving, at most `total`. Percentages are rounded up.

    Kubernetes rounds percentages of a PodDisruptionBudget up too (kubernetes.io, "Specifying a Disruption Budget",
    read 2026-11).
    """
    if min_serving.endswith("%"):
        return math.ceil(total * int(min_serving[:-1]) / 100)
    return min(int(min_serving), total)


class Rollout(SpecModel):
    """Limits of an apply."""

    min_serving: MinServing = "50%"
    """Replicas of each pool, and gateways, that keep serving while nodes change: a count, or a percentage, rounded up.
    `0` permits downtime. `pools[].min_serving` and `gateway.min_serving` take precedence."""
    max_failed_nodes: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Failed nodes that one apply tolerates, over all waves. With one more, no further wave is started."""
    drain_timeout_s: Annotated[int, Field(ge=0, le=7200)] = 300
    """Seconds for running requests of a server to finish after the gateways send it no more."""
    mirror_gb_s: Annotated[float, Field(gt=0, le=1000)] | None = None
    """Measured rate of the mirror to all nodes together in GB/s, for the minutes of a plan. Default: an estimate for
    10 Gbit/s Ethernet."""
