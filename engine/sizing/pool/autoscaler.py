"""What an autoscaler is told about a pool: bounds, target, lead time, calendar; in the forms of KEDA, KServe and Ray.

sovctl runs no autoscaler. A replica takes minutes to load, so bounds that ignore the lead time promise what cannot be
kept: replicas for known busy hours are started before them, and the spare ones are never scaled away.

    bounds = bounds_of(size_pool(case), spec.sizing)
    keda(bounds), kserve(bounds), ray(bounds)

Fields and their meaning: kedacore/keda 8b4f083c (2026-08-20), kserve/kserve aaac4e29 (2026-08-21), Ray Serve 2.60.0,
each form held to what its consumer accepts (tests/engine/sizing/test_autoscaler_forms.py), read 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from ...catalog.overheads import load_overheads
from ...spec.workload import Sizing
from .busy_hours import Prescale, is_all_week, prescales
from .pool import PoolSizing
from .server import Server

TARGET_SHARE = 0.7
"""Of what a replica carries, at which the next one is started: reference, autoscaling bounds; our guess, 2026-11-20."""
_MOST_DOWN_S = 3600  # of a HorizontalPodAutoscaler: Kubernetes API autoscaling/v2, HPAScalingRules, read 2026-11-22
_LEAST_DOWN_S = 120  # stabilisation that workload-variant-autoscaler advises at least (read 2026-11-20)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one pool."""

    pool: str
    least: int
    most: int
    warm: int
    """Of `least`, spare ones that wait loaded."""
    target_in_flight: float
    """Per replica."""
    lead_s: float
    """From the decision to the first answer of a new replica."""
    down_s: float
    """How long load must stay low before a replica goes."""
    why_not_zero: str
    """Why the last replica stays; empty where it may go."""
    timezone: str
    calendar: tuple[Prescale, ...]
    prometheus_url: str


def load_s(weights_bytes_per_node: float, read_gb_s: float | None) -> float:
    """Seconds until a replica answers: its weights read, then the engine's start, the slow end of what was measured.

    Args:
        read_gb_s: of the node's model store; None takes the slowest published start.
    """
    starts = load_overheads().cold_start
    if read_gb_s is None:
        return max(each.high_s for each in starts)
    return weights_bytes_per_node / (read_gb_s * 1e9) + min(each.high_s for each in starts)


def node_weights(server: Server, node_gpus: int) -> float:
    """Bytes of weights that one node reads for a replica."""
    total = server.weights.total_bytes(tensor_parallel_size=server.tensor_parallel_size)
    return total / max(1, server.gpus // node_gpus)


def bounds_of(sized: PoolSizing, sizing: Sizing) -> Bounds | None:
    """The bounds of a pool; None where its workload was not sized."""
    if sized.limit is None or sized.need is None or sized.server is None:
        return None
    case, scaling = sized.case, sizing.scaling
    demand, performance, point = case.demand, sized.performance, sized.limit.point
    assert demand is not None
    assert performance is not None
    carries = point.in_flight
    lead_s = load_s(node_weights(sized.server, case.platform.gpus), sizing.storage.read_gb_s)
    warm = sizing.reserve.spare_replicas
    most = max(case.pool.replicas, sized.need.with_reserve or sized.need.replicas)

    def replicas(percent: float) -> int:
        in_flight = performance.needed_in_flight(point, demand, share=percent / 100)
        return min(most, max(1, ceil(in_flight / carries - 1e-9)) + warm)

    ttft_s = demand.ttft_s
    stays = ""
    if ttft_s is not None and ttft_s < lead_s:
        stays = f"the first token may take {ttft_s:g} s, a start takes {lead_s:.0f} s"
    may_be_zero = not stays and warm == 0 and scaling.base_percent == 0
    least = 0 if may_be_zero else replicas(scaling.base_percent)
    always = [replicas(each.percent) for each in scaling.calendar if is_all_week(each, lead_s=lead_s)]
    return Bounds(
        pool=case.pool.name,
        least=max([least, *always]),
        most=most,
        warm=warm,
        target_in_flight=round(TARGET_SHARE * carries, 1),
        lead_s=round(lead_s),
        down_s=round(max(_LEAST_DOWN_S, 2 * lead_s)),
        why_not_zero=stays,
        timezone=scaling.timezone,
        calendar=tuple(
            made
            for each in scaling.calendar
            for made in prescales(each, lead_s=lead_s, replicas=replicas(each.percent))
        ),
        prometheus_url=str(scaling.prometheus_url or "").rstrip("/"),  # KEDA appends "/api/v1/query"
    )


def _query(bounds: Bounds) -> str:
    """Requests in flight in the whole pool, in PromQL; the metrics' names have a colon.

    By pool, which vLLM cannot know: its `model_name` is that of every pool of one model. Pods carry the label `pool`,
    and a PodMonitor with `podTargetLabels: [pool]` makes it one of their metrics.
    """
    of_pool = f'{{pool="{bounds.pool}"}}'
    return f"sum(vllm:num_requests_running{of_pool}) + sum(vllm:num_requests_waiting{of_pool})"


def _scale_down(bounds: Bounds) -> dict[str, Any]:
    """An autoscaler's own wait is 5 minutes; it takes an hour at most."""
    return {"scaleDown": {"stabilizationWindowSeconds": min(_MOST_DOWN_S, int(bounds.down_s))}}


def keda(bounds: Bounds) -> dict[str, Any]:
    """A KEDA ScaledObject: running and waiting requests of vLLM, and the calendar."""
    triggers: list[dict[str, Any]] = [
        {
            "type": "prometheus",
            "metadata": {
                "serverAddress": bounds.prometheus_url,
                "query": _query(bounds),
                "threshold": str(bounds.target_in_flight),
                "ignoreNullValues": "false",  # else a Prometheus without an answer counts as no load
            },
        }
    ]
    triggers += [
        {
            "type": "cron",
            "metadata": {
                "timezone": bounds.timezone,
                "start": each.start,
                "end": each.end,
                "desiredReplicas": str(each.replicas),
            },
        }
        for each in bounds.calendar
    ]
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": bounds.pool},
        "spec": {
            "scaleTargetRef": {"name": bounds.pool},
            "minReplicaCount": bounds.least,
            "maxReplicaCount": bounds.most,
            "pollingInterval": 15,
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _scale_down(bounds)}},
            "triggers": triggers,
        },
    }


def kserve(bounds: Bounds) -> dict[str, Any]:
    """The scaling part of a KServe InferenceService, which KServe gives to KEDA; it has no calendar."""
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {
            "name": bounds.pool,
            "annotations": {
                "serving.kserve.io/deploymentMode": "Standard",
                "serving.kserve.io/autoscalerClass": "keda",
            },
        },
        "spec": {
            "predictor": {
                "labels": {"pool": bounds.pool},  # of its pods
                "minReplicas": bounds.least,
                "maxReplicas": bounds.most,
                "autoScaling": {
                    "behavior": _scale_down(bounds),
                    "metrics": [
                        {
                            "type": "External",
                            "external": {
                                "metric": {
                                    "backend": "prometheus",
                                    "serverAddress": bounds.prometheus_url,
                                    "query": _query(bounds),
                                },
                                "target": {"type": "AverageValue", "value": str(bounds.target_in_flight)},
                            },
                        }
                    ],
                },
            }
        },
    }


def ray(bounds: Bounds) -> dict[str, Any]:
    """One of the `deployments` of a Ray Serve application; it has no calendar."""
    return {
        "name": bounds.pool,
        "max_ongoing_requests": max(1, round(bounds.target_in_flight / TARGET_SHARE)),
        "autoscaling_config": {
            "min_replicas": bounds.least,
            "initial_replicas": bounds.least,
            "max_replicas": bounds.most,
            "target_ongoing_requests": bounds.target_in_flight,
            "upscale_delay_s": 30,
            "downscale_delay_s": bounds.down_s,
        },
    }


FORMS: Mapping[str, Callable[[Bounds], dict[str, Any]]] = {"keda": keda, "kserve": kserve, "ray": ray}
"""By the name of who reads them."""
