"""Replaces invalid values of a site.yaml by valid placeholders, so that the remaining rules can run.

`well_formed` removes every item with an invalid value, because rules over numbers must not compute with placeholders.
Rules over names and single fields can: here only the invalid value is replaced by its default, or by an allowed number
if the field is required. Problems at the path of a placeholder are discarded.

    with_placeholders({"pools": [{"name": "chat", "gpu_memory_utilization": 92, "tensor_parallel_size": 3}]}, wrong)
    # the pool with gpu_memory_utilization 0.92
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from ..spec import json_schema as schema

_Loc = Sequence[str | int]
_PARTS = ("node_groups", "models", "pools", "workload", "sizing")


def with_placeholders(value: Any, wrong: Iterable[_Loc]) -> dict[str, Any]:
    """Return a copy of `value` with placeholders for invalid values. Required lists and texts stay unchanged.

    Args:
        value: the plain values of a site.yaml without unknown keys.
        wrong: paths of the values that pydantic rejects.
    """
    known: dict[str, Any] = copy.deepcopy(value)
    for loc in wrong:
        if loc and loc[0] in _PARTS:
            _replace(known, loc)
    return known


def _replace(known: dict[str, Any], loc: _Loc) -> None:
    while loc and isinstance(loc[-1], int):  # for a plain item, replace its whole list
        loc = loc[:-1]
    if len(loc) < 2 and loc != ("sizing",):
        return
    holder: Any = known
    for step in loc[:-1]:
        try:
            holder = holder[step]
        except (KeyError, IndexError, TypeError):
            return
    key = loc[-1]
    if not isinstance(holder, dict):
        return
    if key not in schema.node_at(loc[:-1]).get("required", []):
        holder.pop(key, None)
    elif (number := _number(schema.node_at(loc))) is not None:
        holder[key] = number


def _number(node: dict[str, Any]) -> int | float | None:
    """Return an allowed number; None if the field is not a number."""
    if node.get("type") not in ("integer", "number"):
        return None
    return next((node[bound] for bound in ("minimum", "maximum") if bound in node), 1)
