"""Extracts the valid parts of an invalid site.yaml, so that rules can run on them and one run reports all problems.

Invalid top-level keys are removed. Of `node_groups`, `models`, `pools` and `workload`, only the invalid items are
removed.

    found = well_formed({"pools": [{"name": 7}, {"name": "chat", ...}], ...}, problems)
    found.spec.pools[0].name, found.places["pools"]      # "chat", (1,)
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, get_args

from pydantic import TypeAdapter, ValidationError

from sovctl.support.errors import Problem

from ..spec import SiteSpec
from ..spec.types import AUTO
from .placeholders import with_placeholders
from .problems import structure_problems, suggested_path, unknown_keys

_LISTS = ("node_groups", "models", "pools", "workload")
_INDEX = re.compile(rf"\b({'|'.join(_LISTS)})\[(\d+)\]")
# Keys of `sizing` that rules over other keys do not read, and numbers that no rule needs exactly. An invalid one is
# removed or replaced, so that its section is still checked.
_INDEPENDENT = frozenset(("sizing", part) for part in ("racks", "fabric", "storage", "costs", "autoscaling"))
_REPLACEMENTS = {("workload", "users"): 1}


@dataclass(frozen=True)
class WellFormed:
    """The valid parts of a site.yaml."""

    spec: SiteSpec
    broken: frozenset[str] = frozenset()
    """Invalid top-level keys, absent from `spec`."""
    places: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Index in the file of each item, by name of the lists that lack items."""
    misspelt: frozenset[str] = frozenset()
    """Paths of known keys that misspelt keys resemble; further problems there are not reported."""
    with_placeholders: WellFormed | None = None
    """The site with placeholders for invalid values, for rules over names and single fields; None for a valid site."""

    def without_auto(self, names: Iterable[str]) -> WellFormed:
        """Return a copy without pools in which one of these fields is `auto`."""
        if "pools" in self.broken:
            return self
        places = self.places.get("pools", tuple(range(len(self.spec.pools))))
        kept = [
            (place, pool)
            for place, pool in zip(places, self.spec.pools, strict=True)
            if AUTO not in (getattr(pool, name) for name in names)
        ]
        if len(kept) == len(places):
            return self
        spec = self.spec.model_copy(update={"pools": [pool for _, pool in kept]})
        return replace(self, spec=spec, places={**self.places, "pools": tuple(place for place, _ in kept)})

    def placed(self, problem: Problem) -> Problem:
        """Return a problem of `spec` with the item numbers of the file."""
        if not self.places:
            return problem
        words = (_INDEX.sub(self._place, text) for text in (problem.message, problem.where, problem.hint))
        message, where, hint = words
        return Problem(message, where=where, hint=hint)

    def _place(self, found: re.Match[str]) -> str:
        name, index = found[1], int(found[2])
        return f"{name}[{self.places[name][index]}]" if name in self.places else found[0]


def well_formed(value: Any, problems: list[Problem]) -> WellFormed:
    """Return the valid parts of a site, and append the problems of the other parts to `problems`.

    Validation is strict JSON: "8" is not a number and true is not 1, and addresses and choices are strings.
    """
    try:
        return WellFormed(SiteSpec.model_validate_json(json.dumps(value), strict=True))
    except ValidationError as error:
        problems += structure_problems(error)
        unknown = unknown_keys(error)
        wrong = [tuple(each["loc"]) for each in error.errors(include_url=False)]
    known = json.loads(json.dumps(value)) if isinstance(value, dict) else {}
    for loc in unknown:
        _remove(known, loc)
    misspelt = frozenset(filter(None, map(suggested_path, unknown)))
    filled = _parts(with_placeholders(known, [loc for loc in wrong if loc not in unknown]))
    for loc in wrong:
        _remove_independent(known, loc)
    return replace(_parts(known), misspelt=misspelt, with_placeholders=filled)


def _parts(known: Mapping[str, Any]) -> WellFormed:
    """Return the valid top-level keys and list items."""
    whole: dict[str, Any] = {}
    places: dict[str, tuple[int, ...]] = {}
    for name, about in SiteSpec.model_fields.items():
        if name not in known and not about.is_required():
            whole[name] = about.get_default(call_default_factory=True)
            continue
        with contextlib.suppress(ValidationError):
            whole[name] = _section(name).validate_json(json.dumps(known.get(name)), strict=True)
        if name not in whole and name in _LISTS and isinstance(known.get(name), list):
            items = list(_valid_items(name, known[name]))
            if items:
                whole[name], places[name] = [item for _, item in items], tuple(index for index, _ in items)
    return WellFormed(SiteSpec.model_construct(**whole), frozenset(SiteSpec.model_fields) - whole.keys(), places)


def _valid_items(name: str, values: Sequence[Any]) -> Iterable[tuple[int, Any]]:
    for index, value in enumerate(values):
        with contextlib.suppress(ValidationError):
            yield index, _item(name).validate_json(json.dumps(value), strict=True)


@cache  # making one takes longer than all validation
def _section(name: str) -> TypeAdapter[Any]:
    about = SiteSpec.model_fields[name]
    return TypeAdapter(Annotated[about.annotation, about])  # type: ignore[arg-type]


@cache
def _item(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(get_args(SiteSpec.model_fields[name].annotation)[0])


def _remove_independent(known: Any, loc: Sequence[str | int]) -> None:
    """Remove or replace the invalid value at `loc` if no rule over other keys reads it."""
    if tuple(loc[:2]) in _INDEPENDENT and isinstance(known.get("sizing"), dict):
        known["sizing"].pop(loc[1], None)
    elif len(loc) == 3 and (number := _REPLACEMENTS.get((str(loc[0]), str(loc[2])))) is not None:
        with contextlib.suppress(KeyError, IndexError, TypeError):
            known[loc[0]][loc[1]][loc[2]] = number


def _remove(value: Any, loc: Sequence[str | int]) -> None:
    for step in loc[:-1]:
        value = value[step]
    del value[loc[-1]]
