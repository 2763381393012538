"""Catalogue entries of a site: the file `catalog_file` of site.yaml, which extends or overrides the shipped catalogue.

    models:
    - id: llama-3.3-70b                 # shipped entry with another context
      max_context: 65536
      source: our own checkpoint, config.json
      kind: config
      date: 2026-11-21
    gpus:
    - id: house-gpu                     # new entry with all fields of a GPU
      ...

Keys of a shipped entry are overridden one by one; source, kind and date always come from the site. One run reports all
problems, each with line and path.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.strict_yaml import read_file
from sovctl.support.suggestions import nearest

from . import Catalog, load_catalog
from .figure import CatalogModel, read_entries
from .gpus import Gpu
from .models import ModelEntry
from .parameters import problems as parameter_problems
from .platforms import Platform, ScalableUnit, completed

_PARTS: dict[str, type[CatalogModel]] = {
    "models": ModelEntry,
    "gpus": Gpu,
    "platforms": Platform,
    "scalable_units": ScalableUnit,
}
_FILES = {"scalable_units": "platforms"}  # data files with another name than the part
_OWN = ("source", "kind", "date")
_MADE = ("checks", "sysctls", "limits")  # of a platform; computed from its profile


def read_site_catalog(path: Path) -> Catalog:
    """Return the shipped catalogue with the entries of a site.

    Raises:
        InputError: the file is unreadable.
        SpecError: all problems of the file.
    """
    text = read_file(path, what="the catalogue's file")
    if text.value is None:
        raise InputError(f"expected {_listed(_PARTS)}, got an empty file", where=str(path))
    catalog, problems = with_entries(load_catalog(), text.value)
    problems = [*text.problems, *problems]
    if problems:
        ordered = sorted(problems, key=lambda problem: text.line(problem.where))
        raise SpecError([text.placed(path, each) for each in ordered], what="the catalogue's file")
    return catalog


def with_entries(shipped: Catalog, content: Any) -> tuple[Catalog, list[Problem]]:
    """Return `shipped` with the entries of a file's content, and the problems of these entries. Pure."""
    if not isinstance(content, dict):
        return shipped, [Problem(f"expected {_listed(_PARTS)}, got another type", hint="see docs/commands/catalog.md")]
    problems = [
        Problem(
            f"expected one of {_listed(_PARTS)}, got `{key}`", where=str(key), hint="remove it, or correct its name"
        )
        for key in content
        if key not in _PARTS
    ]
    entries: dict[str, dict[str, Any]] = {part: {} for part in _PARTS}
    places: dict[tuple[str, str], str] = {}
    for part, model in _PARTS.items():
        rows = content.get(part) or []
        if not isinstance(rows, list):
            problems.append(Problem("expected a list of entries", where=part, hint="begin each with `- id: `"))
            continue
        for index, row in enumerate(rows):
            entry = _entry(part, model, row, f"{part}[{index}]", entries[part], problems)
            if entry is not None:
                entries[part][entry.id] = entry
                places[part, entry.id] = f"{part}[{index}]"
    made = replace(
        shipped,
        models={**shipped.models, **entries["models"]},
        gpus={**shipped.gpus, **entries["gpus"]},
        platforms={**shipped.platforms, **entries["platforms"]},
        scalable_units={**shipped.scalable_units, **entries["scalable_units"]},
    )
    return made, [*problems, *_cross_problems(made, entries, places)]


def _entry(
    part: str, model: type[CatalogModel], row: Any, where: str, so_far: Mapping[str, Any], problems: list[Problem]
) -> Any:
    """Return one entry; None if it is invalid, with its problems appended to `problems`."""
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        problems.append(Problem("expected an entry with an id, got none", where=where, hint="id: a-name"))
        return None
    if row["id"] in so_far:
        problems.append(Problem(f"expected every id once, got `{row['id']}` again", where=f"{where}.id"))
        return None
    missing = [key for key in _OWN if key not in row]
    for key in missing:
        hint = "every entry needs source, kind (measured, config, vendor, community, guess) and date"
        problems.append(Problem(f"expected {key}, got nothing", where=f"{where}.{key}", hint=hint))
    ours = {each["id"]: each for each in read_entries(_FILES.get(part, part), part)}
    whole = {"verified": False, **_merged(ours.get(row["id"], {}), row)}
    if part == "platforms":
        problems += [
            Problem("this key is computed from profile", where=f"{where}.{key}") for key in _MADE if key in row
        ]
        whole = completed(whole)
    try:
        return model.model_validate_json(json.dumps(whole, default=str))
    except ValidationError as error:
        problems += [
            _problem(where, each, list(model.model_fields), is_new=row["id"] not in ours)
            for each in error.errors(include_url=False)
            if not set(each["loc"][:1]) & set(missing)
        ]
        return None


def _problem(where: str, found: Mapping[str, Any], known: list[str], *, is_new: bool) -> Problem:
    path = where + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in found["loc"])
    if found["type"] == "missing":
        hint = "a new entry needs all keys; compare: sovctl catalog show ID --json" if is_new else ""
        return Problem("expected a value, got nothing", where=path, hint=hint)
    if found["type"] == "extra_forbidden":
        near = nearest(str(found["loc"][0]), known) if len(found["loc"]) == 1 else ""
        hint = f"did you mean `{near}`?" if near else "compare: sovctl catalog show ID --json"
        return Problem(f"unknown key `{found['loc'][-1]}`", where=path, hint=hint)
    if found["type"] == "value_error":  # a condition over several keys
        return Problem(f"expected {found['msg'].removeprefix('Value error, ')}", where=path)
    expected = found["msg"].removeprefix("Input should be ")
    return Problem(f"expected {expected}, got {found['input']!r:.60}", where=path)


def _cross_problems(
    catalog: Catalog, entries: Mapping[str, Mapping[str, Any]], places: Mapping[tuple[str, str], str]
) -> Iterator[Problem]:
    for platform in entries["platforms"].values():
        if platform.gpu is not None and platform.gpu not in catalog.gpus:
            hint = f"add it under gpus; known: {', '.join(list(catalog.gpus)[:6])}, ..."
            yield Problem(
                f"expected a known GPU, got `{platform.gpu}`",
                where=f"{places['platforms', platform.id]}.gpu",
                hint=hint,
            )
    for unit in entries["scalable_units"].values():
        if unit.platform not in catalog.platforms:
            yield Problem(
                f"expected a known platform, got `{unit.platform}`",
                where=f"{places['scalable_units', unit.id]}.platform",
                hint=f"add it under platforms; known: {', '.join(catalog.platforms)}",
            )
    for model in entries["models"].values():
        where = f"{places['models', model.id]}.arch"
        for sentence in parameter_problems(iter([model])):
            yield Problem(sentence, where=where, hint="compare with the checkpoint's config.json")


def _merged(ours: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return `ours` with the values of `row`, recursively."""
    whole = dict(ours)
    for key, value in row.items():
        nested = whole.get(key)
        whole[key] = _merged(nested, value) if isinstance(nested, dict) and isinstance(value, dict) else value
    return whole


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(names)
