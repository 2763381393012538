"""What is written for KEDA, KServe and Ray Serve has fields that these have, and hours that KEDA's trigger means.

The schemas hold only the fields that we write, and no other is allowed: a Kubernetes API server drops a field that it
does not know, and the bound with it. Read on 2026-11-22 in kedacore/keda 8b4f083c (config/crd/bases, pkg/scalers),
kserve/kserve aaac4e29 (config/crd/full; `labels`: 017d86a9, pkg/apis/serving/v1beta1/component.go) and Ray Serve 2.60.0
(ray.serve.schema.ServeDeploySchema); forms of a whole site were passed through all three.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.engine.sizing.pool.autoscaler import FORMS, Bounds
from sovctl.engine.sizing.pool.busy_hours import Prescale, is_all_week, prescales
from sovctl.engine.spec.sizing_inputs import BusyHours

BOUNDS = Bounds(
    pool="chat",
    min_replicas=2,
    max_replicas=6,
    spare_replicas=1,
    target_in_flight=44.8,
    lead_time_s=1220,
    scale_down_delay_s=2440,
    min_replicas_reason="",
    timezone="Europe/Berlin",
    prescales=(Prescale("39 7 * * 1,2,3,4,5", "0 18 * * 1,2,3,4,5", 4),),
    prometheus_url="http://prometheus.example:9090",
)


def only(required: str = "", **properties: Any) -> dict[str, Any]:
    """An object with these fields and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
REPLICAS = {"type": "integer", "format": "int32", "minimum": 0}
SCALE_DOWN = only(scaleDown=only(stabilizationWindowSeconds={"type": "integer", "minimum": 0, "maximum": 3600}))
PROMETHEUS = only(
    "serverAddress query threshold", serverAddress=TEXT, query=TEXT, threshold=TEXT, ignoreNullValues=TEXT
)
CRON = only("start end timezone desiredReplicas", start=TEXT, end=TEXT, timezone=TEXT, desiredReplicas=TEXT)
TRIGGER = {
    "oneOf": [
        only("type metadata", type={"const": "prometheus"}, metadata=PROMETHEUS),
        only("type metadata", type={"const": "cron"}, metadata=CRON),
    ]
}
EXTERNAL = only(
    "metric target",
    metric=only("backend", backend={"enum": ["prometheus", "graphite"]}, serverAddress=TEXT, query=TEXT),
    target=only("", type={"enum": ["Utilization", "Value", "AverageValue"]}, value={"type": ["integer", "string"]}),
)
SCHEMAS = {
    "keda": only(
        "spec",
        apiVersion={"const": "keda.sh/v1alpha1"},
        kind={"const": "ScaledObject"},
        metadata={"type": "object"},
        spec=only(
            "scaleTargetRef triggers",
            scaleTargetRef=only("name", name=TEXT),
            minReplicaCount=REPLICAS,
            maxReplicaCount=REPLICAS,
            pollingInterval=WHOLE,
            advanced=only(horizontalPodAutoscalerConfig=only(behavior=SCALE_DOWN)),
            triggers={"type": "array", "items": TRIGGER},
        ),
    ),
    "kserve": only(
        "spec",
        apiVersion={"const": "serving.kserve.io/v1beta1"},
        kind={"const": "InferenceService"},
        metadata={"type": "object"},
        spec=only(
            "predictor",
            predictor=only(
                labels={"type": "object", "additionalProperties": TEXT},
                minReplicas=REPLICAS,
                maxReplicas=REPLICAS,
                autoScaling=only(
                    behavior=SCALE_DOWN,
                    metrics={
                        "type": "array",
                        "items": only("type", type={"enum": ["Resource", "External", "PodMetric"]}, external=EXTERNAL),
                    },
                ),
            ),
        ),
    ),
    "ray": only(
        "name",
        name=TEXT,
        max_ongoing_requests={"type": "integer", "minimum": 1},
        autoscaling_config=only(
            min_replicas={"type": "integer", "minimum": 0},
            initial_replicas={"type": "integer", "minimum": 0},
            max_replicas={"type": "integer", "minimum": 1},
            target_ongoing_requests={"type": "number", "exclusiveMinimum": 0},
            upscale_delay_s={"type": "number", "minimum": 0},
            downscale_delay_s={"type": "number", "minimum": 0},
        ),
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("least", [0, 2])
def test_a_form_has_only_fields_that_its_reader_has(form: str, least: int) -> None:
    jsonschema.validate(FORMS[form](replace(BOUNDS, min_replicas=least)), SCHEMAS[form])


def test_a_wait_is_never_longer_than_kubernetes_takes() -> None:
    slow = replace(BOUNDS, scale_down_delay_s=9000)
    for form in ("keda", "kserve"):
        jsonschema.validate(FORMS[form](slow), SCHEMAS[form])


def test_pools_of_one_model_are_told_apart() -> None:
    other = replace(BOUNDS, pool="drafts")
    queries = {
        each["spec"]["triggers"][0]["metadata"]["query"] for each in (FORMS["keda"](BOUNDS), FORMS["keda"](other))
    }
    assert len(queries) == 2
    served = FORMS["kserve"](other)["spec"]["predictor"]
    query = served["autoScaling"]["metrics"][0]["external"]["metric"]["query"]
    assert query.count('{pool="drafts"}') == 2
    assert served["labels"] == {"pool": "drafts"}


def test_modes_and_classes_are_ones_that_kserve_knows() -> None:
    annotations = FORMS["kserve"](BOUNDS)["metadata"]["annotations"]
    assert annotations["serving.kserve.io/autoscalerClass"] in {"hpa", "kpa", "external", "none", "keda"}
    assert annotations["serving.kserve.io/deploymentMode"] in {"Standard", "Knative", "ModelMesh"}


WEEK = 7 * 1440


def cron_minutes(expression: str) -> set[int]:
    """Minutes of a week that begins on Sunday at which a cron expression of ours is due."""
    minute, hour, day_of_month, month, days = expression.split()
    assert (day_of_month, month) == ("*", "*")
    return {int(day) * 1440 + int(hour) * 60 + int(minute) for day in days.split(",")}


def kedas_minutes(triggers: list[Prescale]) -> set[int]:
    """Minutes in which KEDA holds the replicas: those whose next end comes before the next start."""
    on: set[int] = set()
    for each in triggers:
        starts, ends = cron_minutes(each.start), cron_minutes(each.end)
        assert each.start != each.end
        for now in range(WEEK):
            next_start = min((start - now - 1) % WEEK for start in starts)
            next_end = min((end - now - 1) % WEEK for end in ends)
            if next_end < next_start:
                on.add(now)
    return on


def clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


@examples(25)
@given(
    days=st.one_of(
        st.integers(0, 6).map(str),
        st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda pair: f"{pair[0]}-{pair[1]}"),
    ),
    start=st.integers(0, 1439),
    length=st.one_of(st.integers(1, 1439), st.integers(1380, 1439)),
    lead=st.integers(0, 180),
)
def test_keda_holds_the_replicas_in_the_busy_hours_and_the_lead_time_and_in_no_other(
    days: str, start: int, length: int, lead: int
) -> None:
    busy = BusyHours(days=days, start=clock(start), end=clock((start + length) % 1440))
    first, last = int(days[0]), int(days[-1])
    wanted = {
        (day * 1440 + start - lead + minute) % WEEK
        for day in range(first, first + (last - first) % 7 + 1)
        for minute in range(length + lead)
    }
    found = prescales(busy, lead_time_s=lead * 60, replicas=3)
    if is_all_week(busy, lead_time_s=lead * 60):
        assert (found, len(wanted)) == ([], WEEK)
    else:
        assert kedas_minutes(found) == wanted


def test_hours_that_meet_through_the_lead_time_are_one() -> None:
    through = BusyHours(days="1-5", start="00:00", end="23:50")
    assert prescales(through, lead_time_s=1200, replicas=3) == [Prescale("40 23 * * 0", "50 23 * * 5", 3)]


def test_hours_without_a_gap_are_a_bound_and_no_trigger() -> None:
    through = BusyHours(days="0-6", start="00:00", end="23:40")
    assert is_all_week(through, lead_time_s=1200)
    assert prescales(through, lead_time_s=1200, replicas=3) == []
