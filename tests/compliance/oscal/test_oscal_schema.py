"""Validation of OSCAL: complete, equal to another implementation, and never silent about a keyword."""

from __future__ import annotations

import copy
import json
import random
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from sovctl.compliance.oscal import schema

SCHEMA = (files("sovctl.compliance.oscal") / schema.SCHEMA_FILE).read_bytes()
UUID = "6e9a8b1c-1111-4222-8333-444455556666"
METADATA = {"title": "t", "last-modified": "2026-11-21T10:30:00Z", "version": "1", "oscal-version": "1.2.1"}
CATALOG: dict[str, Any] = {
    "catalog": {
        "uuid": UUID,
        "metadata": METADATA,
        "groups": [
            {
                "id": "ac",
                "title": "Access",
                "controls": [
                    {
                        "id": "ac-1",
                        "title": "One",
                        "props": [{"name": "label", "value": "AC-1", "ns": "https://example.test/ns"}],
                        "links": [{"href": "#" + UUID, "rel": "reference"}],
                        "parts": [{"id": "ac-1_smt", "name": "statement", "prose": "text"}],
                    }
                ],
            }
        ],
    }
}
VALUES: list[Any] = [
    "",
    " x",
    "x\n",
    "a b",
    "é",
    "9a",
    "http://x y",
    "%zz",
    "#a#b",
    "2026-02-30",
    None,
    1,
    True,
    [],
    {},
]


def test_is_the_schema_of_nist_unmodified() -> None:
    assert sha256(SCHEMA).hexdigest() == "1fb34a1db562f06fa48669fb38a9af2dc3e87f52e44116071d7b564551911171"


def test_a_valid_document_has_no_problem() -> None:
    assert schema.validate(CATALOG) == []


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("catalog", "uuid"), "x", "catalog.uuid: expected a text like"),
        (("catalog", "surprise"), "x", "catalog.surprise: unknown key"),
        (("catalog", "groups"), [], "catalog.groups: expected at least 1 items, got 0"),
        (
            ("catalog", "groups", 0, "controls", 0, "id"),
            "9 x",
            "catalog.groups[0].controls[0].id: expected a text like",
        ),
        (("catalog", "metadata"), {"title": "t"}, "catalog.metadata: missing last-modified"),
        (("catalog", "metadata"), 1, "catalog.metadata: expected an object, got 1"),
    ],
)
def test_a_problem_has_its_place(path: tuple[Any, ...], value: Any, message: str) -> None:
    broken = copy.deepcopy(CATALOG)
    at: Any = broken
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    assert any(each.startswith(message) for each in schema.validate(broken)), schema.validate(broken)


def test_a_document_of_no_model_is_refused() -> None:
    assert schema.validate({"other": {}})
    assert schema.validate([])


def test_an_unknown_keyword_is_an_error_and_not_ignored() -> None:
    with pytest.raises(ValueError, match="patternProperties"):
        schema._Compiler({}).rule({"patternProperties": {}})


def mutated(document: Any, chance: random.Random) -> Any:
    """Return the document with one value changed, removed or added."""
    changed = copy.deepcopy(document)
    places: list[tuple[Any, Any]] = []
    waiting = [changed]
    while waiting:
        at = waiting.pop()
        places += [(at, key) for key in (at if isinstance(at, dict) else range(len(at)))]
        waiting += [each for each in (at.values() if isinstance(at, dict) else at) if isinstance(each, dict | list)]
    at, key = chance.choice(places)
    action = chance.randrange(3)
    if action == 0:
        del at[key]
    elif action == 1:
        at[key] = chance.choice(VALUES)
    elif isinstance(at, dict):
        at["unknown"] = "x"
    return changed


def test_agrees_with_another_implementation_on_broken_documents() -> None:
    other = jsonschema_rs.Draft7Validator(json.loads(SCHEMA), validate_formats=True)
    chance, different, invalid = random.Random(18), [], 0
    for _ in range(1500):
        broken = mutated(CATALOG, chance)
        ours, theirs = not schema.validate(broken), other.is_valid(broken)
        invalid += not theirs
        if ours != theirs:
            different.append((schema.validate(broken), broken))
    assert different == []
    assert invalid > 500  # the mutations reach the rules


@pytest.mark.shared
@pytest.mark.parametrize("pattern", ["examples/*.json", "nist-800-53r5/NIST*.json"])
def test_documents_of_nist_are_valid(pattern: str) -> None:
    folder = Path(__file__).parents[4] / "shared" / "oscal"
    if not folder.is_dir():
        pytest.skip("shared data is absent")
    found = sorted(folder.glob(pattern))
    assert found
    for path in found:
        assert schema.validate(json.loads(path.read_text())) == [], path.name
