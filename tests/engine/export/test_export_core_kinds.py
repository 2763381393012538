"""Objects of core kinds against the strict schemas of Kubernetes."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from export_sites import PRESETS, exported, objects, of_kind, site_text

from sovctl.engine.export.source import Target

VERSION = "1.36"
"""Kubernetes of the schemas; the newest one that the reference has tried."""
CORE_GROUPS = ("apps/", "policy/", "networking.k8s.io/", "admissionregistration.k8s.io/")


def is_core(made: dict[str, Any]) -> bool:
    """Whether the object is of a kind that Kubernetes itself has."""
    return made["apiVersion"] == "v1" or made["apiVersion"].startswith(CORE_GROUPS)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("target", "serving"), [("kubernetes", "lws"), ("kubernetes", "kserve"), ("ray", "lws")])
def test_core_kinds_are_strictly_valid(preset: str, target: str, serving: str, tmp_path: Path) -> None:
    found = [each for each in objects(exported(tmp_path, site_text(preset), Target(target), serving)) if is_core(each)]
    assert {each["kind"] for each in found} >= {"Namespace", "NetworkPolicy"}
    for each in found:
        kubernetes_validate.validate(each, VERSION, strict=True)


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Deployment", ("spec", "template", "spec", "terminationGracePeriod"), 90),  # unknown field
        ("Deployment", ("spec", "selector"), None),  # required field is absent
        ("NetworkPolicy", ("spec", "policyTypes"), "Ingress"),  # text for a list
        ("PodDisruptionBudget", ("spec", "minAvailble"), 1),
    ],
)
def test_a_wrong_object_is_refused(kind: str, path: tuple[str, ...], value: object, tmp_path: Path) -> None:
    made = copy.deepcopy(of_kind(exported(tmp_path, site_text("bank-hybrid")), kind)[0])
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(made, VERSION, strict=True)
