"""Generates docs/site-yaml.md and docs/site.schema.json from the schema and the table of rules.

python -m sovctl.engine.validation.documentation docs      # writes both; a test compares them
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic

from ..spec import json_schema as schema
from .rules import RULES

_HEAD = """\
# site.yaml

<!-- Generated from engine/spec/ by `python -m sovctl.engine.validation.documentation docs`: no edits. -->

One file describes a site. `sovctl init --preset NAME` writes a commented example, and `sovctl validate site.yaml`
reports all problems of a file in one run. `sovctl validate --schema` prints the JSON schema for editors
(`docs/site.schema.json`; the first line of every preset names it).

YAML is read strictly: duplicate keys, anchors, aliases and tags are errors; `yes`, `NO` and dates are texts; numbers
have no quotes and no leading zeros. The file contains no secrets, only references: `{file: PATH}` (mode 600) or
`{env: NAME}`. Paths are relative to site.yaml. Fields without a default are optional unless they are required.

Types of texts:
"""

_RULES_HEAD = """\
## Rules across fields

One run checks all rules whose fields are valid.
"""


def render_schema() -> str:
    """Return docs/site.schema.json: the JSON schema, keys in the order of the models."""
    return json.dumps(schema.schema(), indent=2, ensure_ascii=False) + "\n"


def render_markdown() -> str:
    """Return docs/site-yaml.md: every field with type, range, default and meaning, then the rules."""
    parts = [_HEAD, *(f"- *{kind}*: {words}" for kind, words in sorted(_kinds(schema.schema()))), ""]
    for path, node in _sections("", schema.schema()):
        parts.append(_section(path, node))
    rules = "\n".join(f"- {rule.sentence}" for rule in RULES)
    return "\n".join([*parts, f"{_RULES_HEAD}\n{rules}\n"])


def _kinds(node: Any) -> set[tuple[str, str]]:
    """Return the types of texts in a part of the schema, each with its format."""
    if isinstance(node, list):
        return set().union(*map(_kinds, node))
    if not isinstance(node, dict):
        return set()
    own = {(node["x-kind"], node["x-words"])} if "x-kind" in node else set()
    return own.union(*map(_kinds, node.values()))


def _sections(path: str, node: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every mapping of the file with its path, in the order of the models; `[]` is an item of a list."""
    yield path, node
    for name, field in node.get("properties", {}).items():
        inner = schema.resolved(field)
        place = f"{path}.{name}" if path else name
        while inner.get("type") == "array":
            inner, place = schema.resolved(inner.get("items", {})), f"{place}[]"
        if inner.get("properties"):
            yield from _sections(place, inner)


def _section(path: str, node: dict[str, Any]) -> str:
    heading = f"## `{path}`" if path else "## The file"
    rows = [
        "| field | type and range | default | meaning |",
        "|---|---|---|---|",
        *(_row(name, field, required=name in node.get("required", [])) for name, field in node["properties"].items()),
    ]
    about = _model_about(node)
    return "\n".join([heading, "", *([about, ""] if about else []), *rows, ""])


def _model_about(node: dict[str, Any]) -> str:
    for model in schema.schema_definitions().values():
        if model.get("properties") == node.get("properties"):
            return _one_line(model.get("description", ""))
    return ""


def _row(name: str, field: dict[str, Any], *, required: bool) -> str:
    node = schema.resolved(field)
    meaning = field.get("description", node.get("description", ""))
    return f"| `{name}` | {_type(node)} | {_default(field, required=required)} | {_cell(meaning)} |"


def _type(node: dict[str, Any]) -> str:
    if node.get("type") == "array":
        items = schema.resolved(node.get("items", {}))
        least = "; at least one" if node.get("minItems") else ""
        if items.get("type") == "array":
            return f"list of {_type(items).replace('list', 'lists', 1).partition(';')[0]}{least}"
        return f"list of {'mappings' if items.get('properties') else _kind(items)}{least}"
    if node.get("properties"):
        return "mapping"
    if node.get("type") == "object" and "x-kind" not in node:
        values = schema.resolved(schema.values(node))
        keys = node.get("propertyNames") or {"x-kind": "name"}
        return f"mapping of {_kind(keys)} to {_type(values)}"
    return _kind(node)


def _kind(node: dict[str, Any]) -> str:
    listed = schema.choices(node)
    if listed:
        return ", ".join(f"`{each}`" for each in listed)
    if "x-kind" in node:
        return f"*{node['x-kind']}*"
    words = schema.words(node).removeprefix("an ").removeprefix("a ")
    return _cell(words.split(" such as ")[0])


def _default(field: dict[str, Any], *, required: bool) -> str:
    if required:
        return "required"
    default = field.get("default")
    if default is None:
        return ""
    if isinstance(default, dict):
        return "each field's own" if default else "`{}`"
    return f"`{default}`" if isinstance(default, str) else f"`{json.dumps(default)}`"


def _cell(text: str) -> str:
    return _one_line(text).replace("|", "\\|")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def main(folder: str) -> None:
    """Write both files."""
    write_atomic(Path(folder) / "site-yaml.md", render_markdown())
    write_atomic(Path(folder) / "site.schema.json", render_schema())


if __name__ == "__main__":
    main(sys.argv[1])
