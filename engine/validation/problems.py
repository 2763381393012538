"""Translates pydantic's errors for a site.yaml into problems with expected value, actual value and hint.

Messages never contain the value of a field with the name of a secret, or a value in the format of a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from sovctl.support.errors import Problem
from sovctl.support.strict_yaml import join
from sovctl.support.suggestions import nearest

from ..catalog.engines import REFUSED
from ..spec import SiteSpec
from ..spec import json_schema as schema
from ..spec.types import Secret
from ..spec.units import in_unit
from .serve_flags import flag_problem

LONGEST_ECHO = 40  # characters; longer values are not repeated in messages

_SECRET_NAME = re.compile(
    r"pass(word|wd|phrase)|secret|token$|api_?key|private_?key|credential|bearer|^pin$", re.IGNORECASE
)

# Formats of secrets: PEM, OpenAI, GitHub, AWS, JWT, password in a URL.
_SECRET_VALUE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\b(sk|pk|rk)-[A-Za-z0-9_-]{16,}"
    r"|\b(ghp|gho|ghs|glpat|xox[bap])[_-][A-Za-z0-9_-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}"
    r"|://[^/@\s]*:[^/@\s]*@"
)

_SECRET_HINT = "write it to a file with mode 600 and reference it as `{file: secrets/NAME}`, or use `{env: NAME}`"

SECRET_FIELDS = ("api_key", "password", "pin")
"""Fields of the schema that contain the reference of a secret."""

# Fields with the name, but not the content, of a secret.
_NOT_SECRET = ("apt_key_file", "key_file")


def structure_problems(error: ValidationError, *, below: tuple[str, ...] = ()) -> Iterator[Problem]:
    """Yield one problem for each error; `where` is a path in site.yaml.

    Args:
        below: path of the section that was validated, if it was not the whole site.
    """
    for each in error.errors(include_url=False, include_context=True):
        loc = (*below, *each["loc"])
        if loc and loc[-1] == "[key]":  # a wrong key of `entity_types`: (..., "entity_types", "EMIAL", "[key]")
            yield _wrong_key(loc[:-1])
        else:
            yield _problem(each["type"], loc, each.get("input"))


def unknown_keys(error: ValidationError) -> list[tuple[str | int, ...]]:
    """Return the paths of unknown keys."""
    return [tuple(each["loc"]) for each in error.errors(include_url=False) if each["type"] == "extra_forbidden"]


def suggested_path(loc: Sequence[str | int]) -> str:
    """Return the path of the known key most similar to an unknown one; empty if none is similar."""
    near = nearest(str(loc[-1]), list(schema.node_at(loc[:-1]).get("properties", {})))
    return path_of([*loc[:-1], near]) if near else ""


def path_of(loc: Sequence[str | int]) -> str:
    """Return steps as a path: `pools[0].name` for ("pools", 0, "name")."""
    path = ""
    for step in loc:
        path = join(path, step)
    return path


def secret_problems(value: Any, path: str = "") -> Iterator[Problem]:
    """Yield a problem for every value in the format of a secret."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from secret_problems(item, join(path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from secret_problems(item, join(path, index))
    elif isinstance(value, str) and _SECRET_VALUE.search(value):
        yield Problem(
            "expected no secret in site.yaml, got a value in the format of one", where=path, hint=_SECRET_HINT
        )


def _problem(kind: str, loc: tuple[str | int, ...], got: Any) -> Problem:
    where = path_of(loc)
    node = schema.node_at(loc)
    if kind == "extra_forbidden":
        return _unknown_key(loc, where, got)
    if kind == "missing":
        return Problem(f"expected {schema.words(node)}, got nothing", where=where, hint=_hint(node, loc))
    if _is_secret(loc, got):
        is_reference = schema.node_at(loc).get("properties", {}).keys() == Secret.model_fields.keys()
        expected = "a reference to a secret" if is_reference else schema.words(node)
        return Problem(f"expected {expected}, got a literal value (not shown)", where=where, hint=_SECRET_HINT)
    if where == "software.engine" and str(got).lower() in REFUSED:
        reason = REFUSED[str(got).lower()]
        return Problem(f"expected another engine than {got}: {reason}", where=where, hint="use vllm")
    return Problem(
        f"expected {schema.words(node, got=got)}, got {format_value(got)}", where=where, hint=_hint(node, loc, got)
    )


def _wrong_key(loc: tuple[str | int, ...]) -> Problem:
    key = str(loc[-1])
    known = schema.choices(schema.node_at(loc[:-1]).get("propertyNames", {}))
    near = nearest(key, known)
    return Problem(
        f"expected a known entity type, got `{key}`",
        where=path_of(loc),
        hint=(f"did you mean `{near}`? " if near else "") + f"known: {', '.join(known)}",
    )


def _unknown_key(loc: Sequence[str | int], where: str, got: Any) -> Problem:
    key = str(loc[-1])
    if _SECRET_NAME.search(key) and isinstance(got, str | int | float):
        return Problem(
            f"expected no secret in site.yaml, got one as `{key}` (not shown)", where=where, hint=_SECRET_HINT
        )
    if (of_flag := flag_problem(loc, where)) is not None:
        return of_flag
    known = list(schema.node_at(loc[:-1]).get("properties", {}))
    near = nearest(key, known)
    if near:
        return Problem(f"unknown key `{key}`", where=where, hint=f"did you mean `{near}`?")
    elsewhere = _sections_with(key)
    if elsewhere:
        return Problem(f"unknown key `{key}`", where=where, hint=f"move it to {elsewhere}")
    return Problem(f"unknown key `{key}`", where=where, hint="remove it; known keys: " + ", ".join(known))


def _sections_with(key: str) -> str:
    """Return the sections of the schema with this key, in words; empty if no section has it."""
    found = []
    for section, field in SiteSpec.model_fields.items():
        node = schema.node_at([section])
        item = schema.resolved(node.get("items", {}))
        if field is not None and key in {**node.get("properties", {}), **item.get("properties", {})}:
            found.append(f"`{section}`")
    return " or ".join(found[:3])


def _hint(node: dict[str, Any], loc: Sequence[str | int], got: Any = None) -> str:
    if written := in_unit(loc, got):
        return written
    if "x-or" in node and str(got).lower() == node["x-or"]:
        return f"did you mean `{node['x-or']}`?"
    listed = schema.choices(node)
    if listed and isinstance(got, str):
        near = nearest(got, listed)
        if near:
            return f"did you mean `{near}`?"
    if node.get("type") == "array" and isinstance(got, str | int | float):
        return "write a list: use [brackets], or one line per item after `- `"
    if node.get("type") in ("integer", "number") and isinstance(got, str) and _looks_like_number(got):
        return "write the number without quotes, unit or leading zero"
    if node.get("type") == "boolean" and str(got).lower() in ("yes", "no", "on", "off", "1", "0"):
        return "write true or false"
    about = node if "description" in node else schema.node_at(loc[:-1])  # items and values have no description
    meaning = about.get("description", "").split(". ")[0].replace("\n", " ").rstrip(".")
    default = node.get("default")
    omit = (
        f"remove it for the default {default}" if default is not None and not isinstance(default, dict | list) else ""
    )
    return "; ".join(part for part in (meaning, omit) if part) or "see docs/site-yaml.md"


def _looks_like_number(text: str) -> bool:
    return bool(re.fullmatch(r"[-+]?[0-9][0-9_.,]*\s*[A-Za-z%]*", text))


def _is_secret(loc: Sequence[str | int], got: Any) -> bool:
    names = [step for step in loc if isinstance(step, str)]
    return bool(names) and (
        any(name in SECRET_FIELDS for name in names)
        or (isinstance(got, str) and _SECRET_VALUE.search(got) is not None)
        or (names[-1] not in _NOT_SECRET and names[-1].islower() and _SECRET_NAME.search(names[-1]) is not None)
    )


def format_value(got: Any) -> str:
    """Return short texts and numbers as they are, and a description of other values."""
    if got is None:
        return "nothing"
    if isinstance(got, dict):
        return "keys with values"
    if isinstance(got, list):
        return f"a list of {len(got)}"
    if isinstance(got, bool):
        return str(got).lower()
    if isinstance(got, str) and (len(got) > LONGEST_ECHO or _SECRET_VALUE.search(got)):
        return f"a text of {len(got)} characters"
    return repr(got)
