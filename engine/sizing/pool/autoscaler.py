"""Settings of an external autoscaler for a pool, for KEDA, KServe and Ray: bounds, target, lead time, schedule.

sovctl generates these settings and does not run an autoscaler. A replica takes minutes to load. Replicas for known busy
hours are therefore started before them, and spare replicas are not scaled down.

    bounds = bounds_of(size_pool(case), spec.sizing)
    keda(bounds), kserve(bounds), ray(bounds)

Fields and their meaning: kedacore/keda 8b4f083c (2026-08-20), kserve/kserve aaac4e29 (2026-08-21), Ray Serve 2.60.0,
each form is validated against its consumer's schema (tests/engine/sizing/test_autoscaler_forms.py), read 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from ...catalog.overheads import load_overheads
from ...catalog.start_times import load_start_times
from ...spec.workload import Sizing
from .busy_hours import Prescale, is_all_week, prescales
from .pool import PoolCase, PoolSizing
from .server import Server
from .start import engine_start

TARGET_SHARE = 0.7
"""Load / capacity of a replica at which another one is started; guess, 2026-11-20."""
_MAX_SCALE_DOWN_S = (
    3600  # limit of a HorizontalPodAutoscaler: Kubernetes API autoscaling/v2, HPAScalingRules, read 2026-11-22
)
_MIN_SCALE_DOWN_S = 120  # minimum stabilization advised by workload-variant-autoscaler (read 2026-11-20)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Autoscaling settings of one pool."""

    pool: str
    min_replicas: int
    """Minimum replicas."""
    max_replicas: int
    """Maximum replicas."""
    spare_replicas: int
    """Loaded spare replicas, included in `min_replicas`."""
    target_in_flight: float
    """Requests in flight per replica."""
    lead_time_s: float
    """Seconds from the scaling decision to the first answer of a new replica."""
    scale_down_delay_s: float
    """Seconds of low load before a replica is removed."""
    min_replicas_reason: str
    """Reason to keep the last replica; empty if the pool may scale to 0."""
    timezone: str
    prescales: tuple[Prescale, ...]
    prometheus_url: str


def lead_time_s(case: PoolCase) -> float:
    """Return the seconds from the start of a replica to its first answer: the slow end for its class of model.

    Raises:
        InputError: the catalogue lacks a figure of the model.
    """
    server = case.server()
    start = engine_start(case.model, server.precision, is_eager=case.pool.enforce_eager)
    return load_s(node_weights(server, case.platform.gpus), case.read_gb_s, start.high_s)


def load_s(weights_bytes_per_node: float, read_gb_s: float | None, engine_s: float | None = None) -> float:
    """Return the seconds until a new replica answers: reading of the weights plus the start of the engine.

    Args:
        weights_bytes_per_node: see `node_weights`.
        read_gb_s: read speed of the node's model store in GB/s; None: at least the slowest published start.
        engine_s: start of the engine without weights; None: the slow end of the slowest measured class of models.
    """
    if engine_s is None:
        engine_s = load_start_times().slowest_s
    if read_gb_s is None:
        return max(engine_s, *(each.high_s for each in load_overheads().cold_start))
    return weights_bytes_per_node / (read_gb_s * 1e9) + engine_s


def node_weights(server: Server, node_gpus: int) -> float:
    """Return the bytes of weights that one node reads for a replica."""
    total = server.weights.total_bytes(tensor_parallel_size=server.tensor_parallel_size)
    return total / max(1, server.gpus // node_gpus)


def replicas_for(sized: PoolSizing, sizing: Sizing, percent: float, *, max_replicas: int) -> int:
    """Return the replicas of a sized pool for a percentage of its peak, with spare replicas, at most `max_replicas`."""
    assert sized.case.demand is not None
    assert sized.performance is not None
    assert sized.limit is not None
    point = sized.limit.point
    in_flight = sized.performance.needed_in_flight(point, sized.case.demand, share=percent / 100)
    needed = max(1, ceil(in_flight / point.in_flight - 1e-9)) + sizing.reserve.spare_replicas
    return min(max_replicas, needed)


def bounds_of(sized: PoolSizing, sizing: Sizing) -> Bounds | None:
    """Return the settings of a pool; None if its workload was not sized."""
    if sized.limit is None or sized.need is None or sized.server is None:
        return None
    case, scaling = sized.case, sizing.autoscaling
    demand, carries = case.demand, sized.limit.point.in_flight
    assert demand is not None
    lead_s = lead_time_s(case)
    spare_replicas = sizing.reserve.spare_replicas
    max_replicas = max(case.pool.replicas, sized.need.with_reserve or sized.need.replicas)

    def replicas(percent: float) -> int:
        return replicas_for(sized, sizing, percent, max_replicas=max_replicas)

    ttft_s = demand.ttft_s
    stays = ""
    if ttft_s is not None and ttft_s < lead_s:
        stays = f"a start takes {lead_s:.0f} s, the limit of the first token is {ttft_s:g} s"
    may_be_zero = not stays and spare_replicas == 0 and scaling.min_replicas_percent == 0
    min_replicas = 0 if may_be_zero else replicas(scaling.min_replicas_percent)
    always = [replicas(each.percent) for each in scaling.busy_hours if is_all_week(each, lead_time_s=lead_s)]
    return Bounds(
        pool=case.pool.name,
        min_replicas=max([min_replicas, *always]),
        max_replicas=max_replicas,
        spare_replicas=spare_replicas,
        target_in_flight=round(TARGET_SHARE * carries, 1),
        lead_time_s=round(lead_s),
        scale_down_delay_s=round(max(_MIN_SCALE_DOWN_S, 2 * lead_s)),
        min_replicas_reason=stays,
        timezone=scaling.timezone,
        prescales=tuple(
            made
            for each in scaling.busy_hours
            for made in prescales(each, lead_time_s=lead_s, replicas=replicas(each.percent))
        ),
        prometheus_url=str(scaling.prometheus_url or "").rstrip("/"),  # KEDA appends "/api/v1/query"
    )


def _query(bounds: Bounds) -> str:
    """Return the PromQL query of the pool's requests in flight.

    The query selects the label `pool`, because all pools of a model have the same `model_name`. Pods have this label,
    and a PodMonitor with `podTargetLabels: [pool]` copies it to their metrics.
    """
    of_pool = f'{{pool="{bounds.pool}"}}'
    return f"sum(vllm:num_requests_running{of_pool}) + sum(vllm:num_requests_waiting{of_pool})"


def _scale_down(bounds: Bounds) -> dict[str, Any]:
    """Return the scale-down behavior; Kubernetes defaults to 5 minutes and accepts at most 1 hour."""
    return {"scaleDown": {"stabilizationWindowSeconds": min(_MAX_SCALE_DOWN_S, int(bounds.scale_down_delay_s))}}


def keda(bounds: Bounds) -> dict[str, Any]:
    """Return a KEDA ScaledObject: running and waiting requests of vLLM, and the scheduled replicas."""
    triggers: list[dict[str, Any]] = [
        {
            "type": "prometheus",
            "metadata": {
                "serverAddress": bounds.prometheus_url,
                "query": _query(bounds),
                "threshold": str(bounds.target_in_flight),
                "ignoreNullValues": "false",  # otherwise a missing answer of Prometheus counts as zero load
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
        for each in bounds.prescales
    ]
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": bounds.pool},
        "spec": {
            "scaleTargetRef": {"name": bounds.pool},
            "minReplicaCount": bounds.min_replicas,
            "maxReplicaCount": bounds.max_replicas,
            "pollingInterval": 15,
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _scale_down(bounds)}},
            "triggers": triggers,
        },
    }


def kserve(bounds: Bounds) -> dict[str, Any]:
    """Return the scaling part of a KServe InferenceService, which KServe passes to KEDA; without scheduled replicas."""
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
                "minReplicas": bounds.min_replicas,
                "maxReplicas": bounds.max_replicas,
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
    """Return one of the `deployments` of a Ray Serve application; without scheduled replicas."""
    return {
        "name": bounds.pool,
        "max_ongoing_requests": max(1, round(bounds.target_in_flight / TARGET_SHARE)),
        "autoscaling_config": {
            "min_replicas": bounds.min_replicas,
            "initial_replicas": bounds.min_replicas,
            "max_replicas": bounds.max_replicas,
            "target_ongoing_requests": bounds.target_in_flight,
            "upscale_delay_s": 30,
            "downscale_delay_s": bounds.scale_down_delay_s,
        },
    }


FORMS: Mapping[str, Callable[[Bounds], dict[str, Any]]] = {"keda": keda, "kserve": kserve, "ray": ray}
"""Renderers by the name of the autoscaler."""
