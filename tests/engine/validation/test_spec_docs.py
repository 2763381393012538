"""What is generated from the spec is current, and every field says what it means."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from sovctl.engine import spec
from sovctl.engine.spec import json_schema as spec_schema
from sovctl.engine.spec.gateway import access as spec_access
from sovctl.engine.spec.gateway import policy as spec_policy
from sovctl.engine.spec.gateway import routing as spec_routing
from sovctl.engine.spec.types import SpecModel
from sovctl.engine.validation.documentation import main, render_markdown, render_schema
from sovctl.engine.validation.presets import FOLDER, names
from sovctl.engine.validation.rules import RULES
from sovctl.gateway.domain.entities import EntityType

ROOT = Path(__file__).parent.parent.parent.parent


@pytest.mark.parametrize(
    ("file", "content"), [("site-yaml.md", render_markdown()), ("site.schema.json", render_schema())]
)
def test_generated_documents_are_current(file: str, content: str) -> None:
    hint = "run: build/venv/bin/python -m sovctl.engine.validation.documentation docs"
    assert (ROOT / "docs" / file).read_text() == content, hint


def test_the_generator_writes_both(tmp_path: Path) -> None:
    main(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["site-yaml.md", "site.schema.json"]


def _models() -> list[type[SpecModel]]:
    named = {**vars(spec_access), **vars(spec_policy), **vars(spec_routing), **vars(spec)}.values()
    found = [each for each in named if isinstance(each, type) and issubclass(each, SpecModel)]
    return [each for each in found if each is not SpecModel]


@pytest.mark.parametrize("model", _models(), ids=lambda model: model.__name__)
def test_every_model_and_field_says_what_it_means(model: type[SpecModel]) -> None:
    assert model.__doc__
    for name, field in model.model_fields.items():
        assert field.description, name


@pytest.mark.parametrize("model", _models(), ids=lambda model: model.__name__)
def test_every_number_has_a_range_and_no_text_is_unbounded(model: type[SpecModel]) -> None:
    properties = spec_schema.schema()["properties"]
    if model is not spec.SiteSpec:
        properties = spec_schema.schema_definitions()[model.__name__]["properties"]
    for name, field in properties.items():
        node = spec_schema.resolved(field)
        node = spec_schema.resolved(node["items"]) if node.get("type") == "array" else node
        if node.get("type") in ("integer", "number") and not spec_schema.choices(node):
            assert "maximum" in node, name
            assert "minimum" in node or "exclusiveMinimum" in node, name
        if node.get("type") == "string" and not spec_schema.choices(node) and "format" not in node:
            assert "maxLength" in node, name


def test_the_page_has_every_field_and_every_rule() -> None:
    page = render_markdown()
    for model in _models():
        for name in model.model_fields:
            assert f"| `{name}` |" in page
    for rule in RULES:
        assert f"- {rule.sentence}\n" in page


def test_the_schema_is_one_that_editors_read() -> None:
    schema = json.loads(render_schema())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["additionalProperties"] is False
    assert {"site", "access", "clock"} <= set(schema["required"])
    references = set(re.findall(r'"#/\$defs/(\w+)"', render_schema()))
    assert references == set(schema["$defs"])


@pytest.mark.parametrize("name", names())
def test_every_key_of_a_preset_is_in_the_schema(name: str) -> None:
    def places(value: Any, loc: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return [loc, *(place for key, item in inner for place in places(item, (*loc, key)))]

    for loc in places(yaml.safe_load((FOLDER / f"{name}.yaml").read_text())):
        assert spec_schema.node_at(loc), loc


def test_policy_speaks_of_what_the_detector_finds() -> None:
    node = spec_schema.node_at(["gateway", "policy", "entity_types"])
    assert set(spec_schema.choices(node["propertyNames"])) == {kind.value for kind in EntityType}


@pytest.mark.parametrize(
    ("loc", "words"),
    [
        (["pools", 0, "tensor_parallel_size"], "a whole number from 1 to 64, or `auto`"),
        (["pools", 0, "gpu_memory_utilization"], "a number above 0 and at most 1"),
        (["gateway", "policy", "default"], "one of tokenize, on-prem, block, mask, allow"),
        (["gateway", "policy", "entity_types", "EMAIL"], "one of tokenize, on-prem, block, mask, allow"),
        (["node_groups", 0, "nodes", 0, "address"], "an IPv4 address such as 10.77.0.11"),
        (["perimeter", "management", 0], "an IPv4 network such as 10.77.0.0/24"),
        (["perimeter", "exceptions", 0, "reason"], "a text of 10 to 500 characters"),
        (["gateway", "clients"], "a list of at least one item"),
        (["site"], "keys with values: name, jurisdiction"),
        (["nowhere"], "a value"),
    ],
)
def test_places_are_described_in_words(loc: list[str | int], words: str) -> None:
    assert spec_schema.words(spec_schema.node_at(loc), got="tokenise") == words
