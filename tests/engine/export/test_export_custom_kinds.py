"""Objects of custom kinds against the definitions of LeaderWorkerSet, KServe, KEDA, KubeRay and the operators."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from custom_schemas import DEFINITIONS, strict_schema
from export_sites import FORMS, PRESETS, exported, objects, site_text
from test_export_core_kinds import is_core
from wrong_objects import ACCEPTED, REFUSED, changed

from sovctl.engine.export.source import Target

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not DEFINITIONS.exists(), reason="the definitions are not here"),
]


@cache
def validator(api_version: str, kind: str) -> jsonschema.Draft202012Validator:
    """Return the validator of a kind, which takes seconds to build for KServe and Ray."""
    return jsonschema.Draft202012Validator(strict_schema(api_version, kind))


def problems(made: dict[str, Any]) -> list[str]:
    """Return the first problems of an object."""
    found = validator(made["apiVersion"], made["kind"]).iter_errors(made)
    return [f"{error.json_path}: {error.message[:200]}" for error in found]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("target", "serving"), FORMS)
def test_custom_kinds_are_strictly_valid(preset: str, target: str, serving: str, tmp_path: Path) -> None:
    files = exported(tmp_path, site_text(preset), Target(target), serving)
    custom = [each for each in objects(files) if not is_core(each)]
    assert custom
    assert {f"{each['kind']} {each['metadata']['name']}": problems(each) for each in custom if problems(each)} == {}


@pytest.mark.parametrize(("kind", "path", "value"), REFUSED)
def test_a_wrong_object_is_refused(kind: str, path: str, value: object, good: dict[str, dict[str, Any]]) -> None:
    assert problems(good[kind]) == []
    assert problems(changed(good[kind], path, value))


@pytest.mark.parametrize(("kind", "path", "value"), ACCEPTED)
def test_a_schema_alone_accepts_these_wrong_objects(
    kind: str, path: str, value: object, good: dict[str, dict[str, Any]]
) -> None:
    assert problems(changed(good[kind], path, value)) == []
