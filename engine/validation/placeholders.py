"""A site.yaml with its wrong values put right for the sake of the rules: what else is wrong is said in the same breath.

`well_formed` leaves out every item that has a wrong value, so that rules over numbers reckon with nothing that nobody
wrote. Rules over names and single fields need less: here only the wrong value is replaced, by its default or, where one
is required, by some number that is allowed. What a rule finds at such a place is the stand-in's fault and is left out.

    with_placeholders({"pools": [{"name": "chat", "gpu_memory_utilization": 92, "tensor_parallel_size": 3}]}, wrong)
    # the pool is there, with gpu_memory_utilization 0.92
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from ..spec import json_schema as schema

_Loc = Sequence[str | int]
_PARTS = ("node_groups", "models", "pools", "workload", "sizing")


def with_placeholders(value: Any, wrong: Iterable[_Loc]) -> dict[str, Any]:
    """`value` without what is wrong, as far as something may stand in for it; lists and texts that are required stay.

    Args:
        value: the plain values of a site.yaml, without keys that nobody knows.
        wrong: where pydantic found fault.
    """
    known: dict[str, Any] = copy.deepcopy(value)
    for loc in wrong:
        if loc and loc[0] in _PARTS:
            _mend(known, loc)
    return known


def _mend(known: dict[str, Any], loc: _Loc) -> None:
    while loc and isinstance(loc[-1], int):  # an item that is a plain value: its whole list
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
    """A number that is allowed there; None where it is no place for one."""
    if node.get("type") not in ("integer", "number"):
        return None
    return next((node[bound] for bound in ("minimum", "maximum") if bound in node), 1)
