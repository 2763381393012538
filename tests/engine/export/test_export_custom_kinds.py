"""Objects of custom kinds against the definitions of LeaderWorkerSet, KServe, KEDA, KubeRay and the operators."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from custom_schemas import DEFINITIONS, strict_schema
from export_sites import PRESETS, exported, objects, site_text
from test_export_core_kinds import is_core

from sovctl.engine.export.source import Target

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not DEFINITIONS.exists(), reason="the definitions are not here"),
]
FORMS = (("kubernetes", "lws"), ("kubernetes", "kserve"), ("ray", "lws"))


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


# (kind, path, value): a value that replaces the one at the path; None removes it.
REFUSED = [
    ("LeaderWorkerSet", "spec.replica", 2),
    ("LeaderWorkerSet", "spec.leaderWorkerTemplate.restartPolicy", "Always"),
    ("LeaderWorkerSet", "spec.leaderWorkerTemplate.size", "2"),
    ("LeaderWorkerSet", "spec.leaderWorkerTemplate.workerTemplate", None),
    ("ScaledObject", "spec.triggers", None),
    ("ScaledObject", "spec.triggers.0.metadata.threshold", 54.1),
    ("InferencePool", "spec.selector", None),
    ("InferencePool", "spec.targetPorts.0.number", 70000),
    ("LLMInferenceService", "spec.scaling.maxReplicas", None),
    ("RayService", "spec.rayClusterConfig.authOptions.mode", "open"),
    ("ClusterPolicy", "spec.driver", None),
]
ACCEPTED = [  # rules in CEL, webhooks and controllers; an API server refuses the first three
    ("LLMInferenceService", "spec.replicas", 2),  # with `scaling`
    ("LLMInferenceService", "spec.scaling.wva", {}),  # with `keda`
    ("InferencePool", "spec.endpointPickerRef.port", None),
    ("LLMInferenceService", "spec.model", None),
    ("LeaderWorkerSet", "spec.leaderWorkerTemplate.size", -1),
    ("InferencePool", "spec.endpointPickerRef", None),
]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """One object of each kind."""
    folder = tmp_path_factory.mktemp("good")
    found = {}
    for preset in ("superpod-b200", "bank-hybrid"):
        for target, serving in FORMS:
            made = objects(exported(folder, site_text(preset), Target(target), serving))
            found |= {each["kind"]: each for each in made if each["kind"] != "LLMInferenceService"}
            found |= {each["kind"]: each for each in made if "scaling" in each.get("spec", {})}
    return found


def changed(made: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return a copy with another value at a path, or without it."""
    copied = copy.deepcopy(made)
    *above, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    inner: Any = copied
    for step in above:
        inner = inner[step]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return copied


@pytest.mark.parametrize(("kind", "path", "value"), REFUSED)
def test_a_wrong_object_is_refused(kind: str, path: str, value: object, good: dict[str, dict[str, Any]]) -> None:
    assert problems(good[kind]) == []
    assert problems(changed(good[kind], path, value))


@pytest.mark.parametrize(("kind", "path", "value"), ACCEPTED)
def test_a_schema_alone_accepts_these_wrong_objects(
    kind: str, path: str, value: object, good: dict[str, dict[str, Any]]
) -> None:
    assert problems(changed(good[kind], path, value)) == []
