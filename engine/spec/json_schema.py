"""JSON schema of site.yaml, and descriptions of its nodes, for editors, documentation and error messages.

words(node_at(["pools", 0, "tensor_parallel_size"]))     # "a whole number from 1 to 64"
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from pydantic_core import to_jsonable_python

from . import SiteSpec
from .types import SpecModel

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"

_FORMATS = {
    "ipv4": "an IPv4 address such as 10.77.0.11",
    "ipv4network": "an IPv4 network such as 10.77.0.0/24",
    "uri": "a URL such as https://10.77.0.1:8080/models",
}

_PLAIN = {"boolean": "true or false", "array": "a list", "object": "keys with values", "null": "nothing"}


@cache
def schema() -> dict[str, Any]:
    """Return the JSON schema of the whole site.yaml; cached, and not to be modified."""
    made = _without_titles(SiteSpec.model_json_schema())
    models = {model.__name__: model for model in _below(SpecModel)}
    for name, definition in {**made["$defs"], "SiteSpec": made}.items():
        if name in models:  # the rest are enumerations
            _add_made_defaults(definition, models[name])
    return {"$schema": SCHEMA_ID, "title": "sovctl site.yaml", **made}


def _below(model: type[SpecModel]) -> Iterator[type[SpecModel]]:
    for each in model.__subclasses__():
        yield each
        yield from _below(each)


def _add_made_defaults(definition: dict[str, Any], model: type[SpecModel]) -> None:
    """Add defaults from default factories (lists and mappings), which pydantic omits."""
    for field_name, field in model.model_fields.items():
        if field.default_factory is not None:
            default = field.get_default(call_default_factory=True)
            definition["properties"][field_name]["default"] = to_jsonable_python(default, exclude_none=True)


def _without_titles(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_titles(each) for each in node]
    if not isinstance(node, dict):
        return node
    # A string under "title" is pydantic's heading; a dict would be a field with that name.
    return {key: _without_titles(value) for key, value in node.items() if not (key == "title" and type(value) is str)}


def node_at(loc: Sequence[str | int]) -> dict[str, Any]:
    """Return the schema node at `loc`; empty if the schema has no such path.

    Args:
        loc: keys and item numbers, as pydantic reports them.
    """
    node = resolved(schema())
    for step in loc:
        if isinstance(step, int):
            node = resolved(node.get("items", {}))
        else:
            properties = node.get("properties", {})
            node = resolved(properties.get(step) or values(node))
    return node


def values(node: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the values of a mapping with free keys; empty for a mapping with fixed keys."""
    return node.get("additionalProperties") or next(iter(node.get("patternProperties", {}).values()), {})


def resolved(node: Any) -> dict[str, Any]:
    """Return the node with its reference resolved and `null` removed. Keys next to the reference take precedence."""
    if not isinstance(node, dict):
        return {}
    for option in node.get("anyOf", []):
        if option.get("type") != "null":
            return resolved(option) | {key: value for key, value in node.items() if key != "anyOf"}
    if "$ref" in node:
        target = schema_definitions()[node["$ref"].rsplit("/", 1)[1]]
        return resolved(target) | {key: value for key, value in node.items() if key != "$ref"}
    return node


@cache
def schema_definitions() -> dict[str, Any]:
    """Return the definitions of the schema by name."""
    definitions: dict[str, Any] = schema()["$defs"]
    return definitions


def choices(node: dict[str, Any]) -> list[str]:
    """Return the allowed values; empty if any value is allowed."""
    return [str(each) for each in node.get("enum", [node["const"]] if "const" in node else [])]


def words(node: dict[str, Any], *, got: Any = None) -> str:
    """Describe the expected value of a node, such as "a whole number from 1 to 64".

    Args:
        got: the actual value; allowed values are listed by similarity to it.
    """
    listed = choices(node)
    if listed:
        near = difflib.get_close_matches(str(got), listed, n=len(listed), cutoff=0.0)
        ordered = near + [each for each in listed if each not in near]
        return ordered[0] if len(ordered) == 1 else "one of " + ", ".join(ordered)
    kind = node.get("type", "")
    if kind == "integer":
        return "a whole number" + _range(node) + (f", or `{node['x-or']}`" if "x-or" in node else "")
    if kind == "number":
        return "a number" + _range(node)
    if kind == "string":
        return _text(node)
    if kind == "object" and node.get("properties"):
        keys = node.get("required") or list(node["properties"])
        return "keys with values: " + ", ".join(keys[:5]) + (", ..." if len(keys) > 5 else "")
    if kind == "array" and node.get("maxItems"):
        return f"a list of {node.get('minItems', 0)} to {node['maxItems']} items"
    if kind == "array" and node.get("minItems"):
        return "a list of at least one item"
    return _PLAIN.get(kind, "a value")


def _range(node: dict[str, Any]) -> str:
    least, most, above = node.get("minimum"), node.get("maximum"), node.get("exclusiveMinimum")
    if above is not None:
        return f" above {above:g}" + (f" and at most {_number(most)}" if most is not None else "")
    if least is not None and most is not None:
        return f" from {_number(least)} to {_number(most)}"
    return f" of at least {_number(least)}" if least is not None else ""


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def _text(node: dict[str, Any]) -> str:
    if "x-words" in node:
        return str(node["x-words"])
    if node.get("format") in _FORMATS:
        return _FORMATS[node["format"]]
    least = node.get("minLength", 0)
    return f"a text of {least} to {node['maxLength']} characters" if least > 1 else "a text"
