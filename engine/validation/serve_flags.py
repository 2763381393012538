"""Messages for unknown keys of a pool that are flags of `vllm serve`: refused, set by sovctl, or in another section.

flag_problem(("pools", 0, "trust_remote_code"), "pools[0].trust_remote_code")
# expected no `trust_remote_code`: it loads code that no lock contains
"""

from __future__ import annotations

from collections.abc import Sequence

from sovctl.support.errors import Problem

from ..spec import json_schema as schema
from ..spec.serving.section import flag_name
from ..spec.serving.withheld import REFUSED, SET_BY_SOVCTL


def flag_problem(loc: Sequence[str | int], where: str) -> Problem | None:
    """Return the problem of an unknown key; None if it is not below a pool, or is not a flag.

    Args:
        loc: keys and item numbers, as pydantic reports them.
        where: `loc` as a path.
    """
    if len(loc) < 3 or loc[0] != "pools":
        return None
    key = str(loc[-1])
    flag = flag_name(key).removeprefix("--")
    flag = flag if flag in REFUSED or flag in SET_BY_SOVCTL else flag.removeprefix("no-")
    if flag in REFUSED:
        return Problem(f"expected no `{key}`: {REFUSED[flag]}", where=where, hint="remove it")
    if flag in SET_BY_SOVCTL:
        hint = f"remove it; its value follows from {SET_BY_SOVCTL[flag]}"
        return Problem(f"expected no `{key}`: sovctl sets this flag", where=where, hint=hint)
    place = _place_of(flag.replace("-", "_"))
    if place is None or place == where:
        return None
    return Problem(f"unknown key `{key}`", where=where, hint=f"write it as `{place}`")


def _place_of(field: str) -> str | None:
    """Return the path of a field below a pool; None if a pool has no such field."""
    pool = schema.node_at(("pools", 0))["properties"]
    if field in pool:
        return f"pools[].{field}"
    sections = (name for name, node in pool.items() if field in schema.resolved(node).get("properties", {}))
    return next((f"pools[].{section}.{field}" for section in sections), None)
