"""Problems of a file that pydantic found, each with the path in the file and a remedy. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sovctl.support.errors import Problem
from sovctl.support.suggestions import nearest


def problem_of(error: Mapping[str, Any], *, known: Collection[str], page: str) -> Problem:
    """Return the problem for one error of pydantic.

    Args:
        error: item of `ValidationError.errors()`.
        known: keys that are allowed at its path.
        page: documentation of the file, for the hint of a missing key.
    """
    where = path_of(error["loc"])
    if error["type"] == "missing":
        return Problem("missing key", where=where, hint=f"compare with {page}")
    if error["type"] == "extra_forbidden":
        key = str(error["loc"][-1])
        near = nearest(key, list(known))
        hint = f"did you mean `{near}`?" if near else f"remove it; known here: {', '.join(known)}"
        return Problem(f"unknown key `{key}`", where=where, hint=hint)
    if error["type"] == "value_error":  # of several fields together
        return Problem(error["msg"].removeprefix("Value error, "), where=where)
    words = error["msg"].removeprefix("Input should be ").removeprefix("Input should have ")
    return Problem(f"expected {words[:1].lower()}{words[1:]}, got {error['input']!r:.60}", where=where)


def unknown_name(kind: str, name: str, known: Collection[str], where: str) -> Problem:
    """Return the problem of a name that is not defined, with the most similar one."""
    near = nearest(name, list(known))
    few = ", ".join(sorted(known)[:6]) or "none"
    return Problem(f"unknown {kind}: {name}", where=where, hint=f"did you mean {near}?" if near else f"such as {few}")


def path_of(steps: Sequence[str | int]) -> str:
    """Return the path of a value as messages show it, such as `controls.a-1.title` or `waivers[0].id`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
