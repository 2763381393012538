"""The published schema of a plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from planned_nodes import empty
from strategies import context

from sovctl.engine.plan.build import changes
from sovctl.engine.plan.file import Plan
from sovctl.engine.plan.json_schema import schema, text
from sovctl.engine.plan.scope import Scope
from sovctl.engine.plan.waves import waves

DOCS = Path(__file__).parents[3] / "docs"


def document() -> dict[str, object]:
    site = context("lab")
    found = changes(site, {node.name: empty(node.name) for _, node in site.spec.nodes()})
    seen = {"n1": "0" * 64}
    plan = Plan("lab", "2026-11-27T09:00:00Z", "0", "a", "b", seen, True, tuple(found), tuple(waves(site, found, ())))
    plan = replace(plan, scope=Scope(("n1",), ("package",)), unknown={"n2": "timed out"})
    return {**plan.body(), "sha256": plan.sha256}


def test_the_published_schema_is_current() -> None:
    assert (DOCS / "plan.schema.json").read_text() == text(), (
        "python -m sovctl.engine.plan.json_schema docs/plan.schema.json"
    )


def test_a_plan_is_valid() -> None:
    jsonschema.validate(document(), schema())


@pytest.mark.parametrize("key", ["waves", "changes", "unknown", "sha256"])
def test_a_plan_without_a_key_or_with_another_one_is_invalid(key: str) -> None:
    made = document()
    value = made.pop(key)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made, schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**made, key: value, "other": 1}, schema())
