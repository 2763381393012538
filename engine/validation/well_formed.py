"""What is well formed of a site.yaml that is not whole: the rules go on over it, so that all problems are seen at once.

A top-level key that is not well formed is absent. Of a list, only the items are that are not well formed; rules that
judge every item by itself still see the others.

    found = well_formed({"pools": [{"name": 7}, {"name": "chat", ...}], ...}, problems)
    found.spec.pools[0].name, found.places["pools"]      # "chat", (1,)
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, get_args

from pydantic import TypeAdapter, ValidationError

from sovctl.support.errors import Problem

from ..spec import SiteSpec
from ..spec.types import AUTO
from .placeholders import with_placeholders
from .problems import structure_problems, suggested_path, unknown_keys

_LISTS = ("node_groups", "models", "pools", "workload")
_INDEX = re.compile(rf"\b({'|'.join(_LISTS)})\[(\d+)\]")
# Parts that no rule needs that looks at anything else, and a number that none needs to be right: where one of them is
# wrong, everything around it is still looked at.
_APART = frozenset(("sizing", part) for part in ("racks", "fabric", "storage", "costs", "scaling"))
_INSTEAD = {("workload", "users"): 1}


@dataclass(frozen=True)
class WellFormed:
    """What is left of a site.yaml."""

    spec: SiteSpec
    broken: frozenset[str] = frozenset()
    """Top-level keys that are absent from it."""
    places: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Of every list that lacks items, where each of the others stands in the file."""
    misspelt: frozenset[str] = frozenset()
    """Paths that misspelt keys probably meant, about which nothing more need be said."""
    with_placeholders: WellFormed | None = None
    """For rules over names and single fields, with stand-ins where a value is wrong; None where all is well."""

    def without_auto(self, names: Iterable[str]) -> WellFormed:
        """The same without pools of which one of these fields is still `auto`."""
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
        """A problem of `spec` with its items numbered as in the file."""
        if not self.places:
            return problem
        words = (_INDEX.sub(self._place, text) for text in (problem.message, problem.where, problem.hint))
        message, where, hint = words
        return Problem(message, where=where, hint=hint)

    def _place(self, found: re.Match[str]) -> str:
        name, index = found[1], int(found[2])
        return f"{name}[{self.places[name][index]}]" if name in self.places else found[0]


def well_formed(value: Any, problems: list[Problem]) -> WellFormed:
    """What is well formed of a site; problems of the rest are added to `problems`.

    Strict, and as JSON: "8" is no number and true is no 1, while addresses and choices are still texts.
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
    stood_in = _parts(with_placeholders(known, [loc for loc in wrong if loc not in unknown]))
    for loc in wrong:
        _mend(known, loc)
    return replace(_parts(known), misspelt=misspelt, with_placeholders=stood_in)


def _parts(known: Mapping[str, Any]) -> WellFormed:
    """The top-level keys, and items of lists, that are well formed."""
    whole: dict[str, Any] = {}
    places: dict[str, tuple[int, ...]] = {}
    for name, about in SiteSpec.model_fields.items():
        section: TypeAdapter[Any] = TypeAdapter(Annotated[about.annotation, about])  # type: ignore[arg-type]
        if name not in known and not about.is_required():
            whole[name] = about.get_default(call_default_factory=True)
            continue
        with contextlib.suppress(ValidationError):
            whole[name] = section.validate_json(json.dumps(known.get(name)), strict=True)
        if name not in whole and name in _LISTS and isinstance(known.get(name), list):
            items = list(_items(get_args(about.annotation)[0], known[name]))
            if items:
                whole[name], places[name] = [item for _, item in items], tuple(index for index, _ in items)
    return WellFormed(SiteSpec.model_construct(**whole), frozenset(SiteSpec.model_fields) - whole.keys(), places)


def _items(kind: Any, values: Sequence[Any]) -> Iterable[tuple[int, Any]]:
    item: TypeAdapter[Any] = TypeAdapter(kind)
    for index, value in enumerate(values):
        with contextlib.suppress(ValidationError):
            yield index, item.validate_json(json.dumps(value), strict=True)


def _mend(known: Any, loc: Sequence[str | int]) -> None:
    """Take out or replace what is wrong at `loc`, where nothing else hangs on it."""
    if tuple(loc[:2]) in _APART and isinstance(known.get("sizing"), dict):
        known["sizing"].pop(loc[1], None)
    elif len(loc) == 3 and (instead := _INSTEAD.get((str(loc[0]), str(loc[2])))) is not None:
        with contextlib.suppress(KeyError, IndexError, TypeError):
            known[loc[0]][loc[1]][loc[2]] = instead


def _remove(value: Any, loc: Sequence[str | int]) -> None:
    for step in loc[:-1]:
        value = value[step]
    del value[loc[-1]]
