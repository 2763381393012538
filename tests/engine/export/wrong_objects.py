"""Wrong objects of custom kinds: a kind, and one change of a good object."""

from __future__ import annotations

import copy
from typing import Any

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
