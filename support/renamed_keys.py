"""Renamed keys of a YAML document: moves old keys to their new paths, and reports each of them.

    value, problems = move_renamed_keys({"limits": {"ttl": 5}}, {"limits.ttl": "vault.ttl_s"})
    value, problems[0].where       # {"limits": {}, "vault": {"ttl_s": 5}}, "limits.ttl"

The schema is then checked on the moved document, so that one run reports renamed keys and all other problems.
A path names keys separated by dots; `[]` is every item of a list, `*` every key of a mapping.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .errors import Problem

_Step = str | int


def move_renamed_keys(document: Any, renamed: Mapping[str, str]) -> tuple[Any, list[Problem]]:
    """Return a copy of `document` without old keys, and a problem for each old key in it.

    Args:
        document: plain values as YAML loads them; any type.
        renamed: new path by old path, applied in this order; a key inside a renamed section comes before the section.
            A new path with one `[]` more than the old one, as in `token_keys[].version`, moves every item of the old
            list into a mapping with that key.

    Returns:
        The copy, and the problems in the order of `renamed`. A value at both paths keeps the new one.
    """
    found: list[Problem] = []
    moved = copy.deepcopy(document)
    for old, new in renamed.items():
        for path, parent in list(_parents(moved, _steps(old))):
            key = str(path[-1])
            if key not in parent:
                continue
            value = parent.pop(key)
            fills = [step for step, pattern in zip(path, _steps(old), strict=True) if pattern in ("[]", "*")]
            target, item_key = _target(_steps(new), fills)
            _put(moved, target, value if item_key is None else _wrapped(value, item_key))
            is_sibling = old.rpartition(".")[0] == new.rpartition(".")[0]
            hint = "rename the key" if is_sibling else "move the value to the new key"
            found.append(Problem(f"the key was renamed to `{new}`", where=_written(path), hint=hint))
    return moved, found


def _steps(path: str) -> list[str]:
    return [step for part in path.split(".") for step in ([part[:-2], "[]"] if part.endswith("[]") else [part])]


def _parents(value: Any, steps: Sequence[str], path: tuple[_Step, ...] = ()) -> Iterator[tuple[list[_Step], Any]]:
    """Mappings that may contain the last step, each with the whole path of the key."""
    step, *rest = steps
    if not rest:
        if isinstance(value, dict):
            yield [*path, step], value
    elif step == "[]":
        for index, item in enumerate(value if isinstance(value, list) else []):
            yield from _parents(item, rest, (*path, index))
    elif step == "*":
        for key in list(value) if isinstance(value, dict) else []:
            yield from _parents(value[key], rest, (*path, key))
    elif isinstance(value, dict) and step in value:
        yield from _parents(value[step], rest, (*path, step))


def _target(steps: Sequence[str], fills: Sequence[_Step]) -> tuple[list[_Step], str | None]:
    """Return the concrete new path, and the key of each item if the value is a list to be wrapped."""
    rest, target = list(fills), list[_Step]()
    for number, step in enumerate(steps):
        if step in ("[]", "*"):
            if not rest:
                return target, steps[number + 1]
            target.append(rest.pop(0))
        else:
            target.append(step)
    return target, None


def _wrapped(value: Any, key: str) -> Any:
    return [{key: each} for each in value] if isinstance(value, list) else value


def _put(document: Any, path: Sequence[_Step], value: Any) -> None:
    """Set `value` at `path` unless a value is there; two mappings are merged."""
    here = document
    for step in path[:-1]:
        if isinstance(here, dict):
            here = here.setdefault(step, {})
        elif isinstance(here, list) and isinstance(step, int):
            here = here[step]
    if not isinstance(here, dict):
        return  # the schema reports that a mapping is expected here
    present = here.setdefault(path[-1], value)
    if present is not value and isinstance(present, dict) and isinstance(value, dict):
        here[path[-1]] = {**value, **present}


def _written(path: Sequence[_Step]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
