"""Validates OSCAL 1.2.1 documents against the JSON Schema of NIST. Imports the standard library only.

`sovctl report` refuses to write a document with a problem, and `sovctl-verify.pyz` repeats the validation. The packages
for JSON Schema were not usable: jsonschema 4.26 cannot compile the patterns of OSCAL (`bad escape \\p`), and
jsonschema-rs is compiled code. A test compares the results of this module with jsonschema-rs.

- The schema is compiled once into functions. A keyword that this module does not implement is an error, not ignored.
- `format` counts for URIs only; the other formats of the schema have a pattern, which is stricter.

    problems = validate({"catalog": {...}})      # ["catalog.metadata: missing title"]

Schema: NIST, release 1.2.1 of 2026-03-06, public domain; usnistgov/OSCAL, oscal_complete_schema.json, unmodified.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

VERSION = "1.2.1"
SCHEMA_FILE = "oscal_complete_schema-1.2.1.json"

Path = tuple[str | int, ...]
Found = Sequence[tuple[Path, str]]
Rule = Callable[[Any], Found]
"""Returns the problems of a value; the paths are relative to it."""

_NONE: Found = ()
_ANNOTATIONS = {"$schema", "$id", "$comment", "title", "description", "definitions", "contentEncoding"}
_OBJECT_KEYWORDS = {"properties", "required", "additionalProperties"}
_ARRAY_KEYWORDS = {"items", "minItems"}
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
# RFC 3986, 2 and 4.1: characters of a URI reference. Percent signs begin two hexadecimal digits.
_URI = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")
_MARK = re.compile(r"[^#]*(#[^#]*)?")
_SHOWN = 60  # characters of a value in a message


def validate(document: Any) -> list[str]:
    """Return the problems of an OSCAL document, each with its place; empty if it is valid."""
    return [f"{_place(path)}: {message}" for path, message in _compiled()(document)]


@cache
def _compiled() -> Rule:
    schema = json.loads((files("sovctl.compliance.oscal") / SCHEMA_FILE).read_bytes())
    return _Compiler(schema["definitions"]).rule(schema)


class _Compiler:
    """Compiles schemas that refer to `definitions`."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._rules: dict[str, Rule] = {}

    def rule(self, schema: Mapping[str, Any]) -> Rule:
        """Return the function of a schema.

        Raises:
            ValueError: the schema has a keyword that is not implemented.
        """
        if "$ref" in schema:  # JSON Schema draft 7, 8.3: other keywords next to $ref are ignored
            return self._reference(schema["$ref"])
        parts = [each for name, value in schema.items() if (each := self._keyword(name, value, schema))]
        if schema.keys() & _OBJECT_KEYWORDS:
            parts.insert(0, self._object(schema))
        return parts[0] if len(parts) == 1 else _all(parts)

    def _keyword(self, name: str, value: Any, schema: Mapping[str, Any]) -> Rule | None:
        if name in _ANNOTATIONS or name in _OBJECT_KEYWORDS or (name in _ARRAY_KEYWORDS and schema["type"] == "array"):
            return None  # compiled together
        compilers: dict[str, Callable[[], Rule | None]] = {
            "type": lambda: self._typed(value, schema),
            "anyOf": lambda: _any([self.rule(each) for each in value]),
            "oneOf": lambda: _one([self.rule(each) for each in value]),
            "allOf": lambda: _all([self.rule(each) for each in value]),
            "enum": lambda: _enum(value),
            "pattern": lambda: _pattern(value),
            "format": lambda: _uri if value in ("uri", "uri-reference") else None,
            "minimum": lambda: _minimum(value),
        }
        if name not in compilers:
            raise ValueError(f"the schema has the keyword {name}, which is not implemented")
        return compilers[name]()

    def _reference(self, reference: str) -> Rule:
        """Return a function that looks up the definition on the first call, because definitions can be recursive."""
        name = reference.removeprefix("#/definitions/")
        definition = self._definitions[name]

        def deferred(value: Any) -> Found:
            found = self._rules.get(name)
            if found is None:
                found = self._rules[name] = self.rule(definition)
            return found(value)

        return deferred

    def _typed(self, kind: str, schema: Mapping[str, Any]) -> Rule:
        if kind == "array":
            return _array(self.rule(schema["items"]), schema.get("minItems", 0))
        return _type(kind)

    def _object(self, schema: Mapping[str, Any]) -> Rule:
        rules = {name: self.rule(each) for name, each in schema.get("properties", {}).items()}
        required, is_open = frozenset(schema.get("required", ())), schema.get("additionalProperties", True)
        if not isinstance(is_open, bool):
            raise ValueError("additionalProperties with a schema is not implemented")

        def check(value: Any) -> Found:
            if type(value) is not dict:
                return [((), f"expected an object, got {_shown(value)}")]
            problems: list[tuple[Path, str]] = []
            for name, each in value.items():
                rule = rules.get(name)
                if rule is not None:
                    if found := rule(each):
                        problems += [((name, *path), message) for path, message in found]
                elif not is_open:
                    problems.append(((name,), "unknown key"))
            problems += [((), f"missing {name}") for name in sorted(required - value.keys())]
            return problems

        return check


def _array(item: Rule, least: int) -> Rule:
    def check(value: Any) -> Found:
        if type(value) is not list:
            return [((), f"expected an array, got {_shown(value)}")]
        if len(value) < least:
            return [((), f"expected at least {least} items, got {len(value)}")]
        return [
            ((number, *path), message)
            for number, each in enumerate(value)
            if (found := item(each))
            for path, message in found
        ]

    return check


def _type(kind: str) -> Rule:
    kinds = _TYPES[kind]

    def check(value: Any) -> Found:
        if isinstance(value, kinds) and (kind == "boolean" or not isinstance(value, bool)):
            return _NONE
        return [((), f"expected {kind}, got {_shown(value)}")]

    return check


def _enum(values: Sequence[Any]) -> Rule:
    return lambda value: _NONE if value in values else [((), f"expected one of {values}, got {_shown(value)}")]


def _pattern(pattern: str) -> Rule:
    # ECMA 262: `$` is the end of the text, \p{L} a letter, \p{N} a number.
    translated = pattern.replace(r"\p{L}", r"[^\W\d_]").replace(r"\p{N}", r"\d").replace("$", r"\Z")
    matches = re.compile(translated).match

    def check(value: Any) -> Found:
        if type(value) is str and matches(value) is None:
            return [((), f"expected a text like {pattern[:_SHOWN]}, got {_shown(value)}")]
        return _NONE

    return check


def _uri(value: Any) -> Found:
    if isinstance(value, str) and not (_URI.fullmatch(value) and _MARK.fullmatch(value)):
        return [((), f"expected a URI, got {_shown(value)}")]
    return _NONE


def _minimum(least: float) -> Rule:
    return lambda value: [((), f"expected at least {least}, got {value}")] if _is_below(value, least) else _NONE


def _is_below(value: Any, least: float) -> bool:
    return isinstance(value, int | float) and value < least


def _all(rules: Sequence[Rule]) -> Rule:
    def check(value: Any) -> Found:
        for rule in rules:
            if found := rule(value):
                return found
        return _NONE

    return check


def _any(rules: Sequence[Rule]) -> Rule:
    def check(value: Any) -> Found:
        problems = []
        for rule in rules:
            found = rule(value)
            if not found:
                return _NONE
            problems.append(found)
        return max(problems, key=_depth)

    return check


def _one(rules: Sequence[Rule]) -> Rule:
    def check(value: Any) -> Found:
        problems = [rule(value) for rule in rules]
        matching = sum(not found for found in problems)
        if matching == 1:
            return _NONE
        return max(problems, key=_depth) if not matching else [((), f"matches {matching} alternatives, expected one")]

    return check


def _depth(found: Found) -> int:
    """Return the length of the longest path: the alternative with the deepest problem is the intended one."""
    return max((len(path) for path, _ in found), default=0)


def _place(path: Path) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".") or "document"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, default=str) if not isinstance(value, dict | list) else "a container"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
