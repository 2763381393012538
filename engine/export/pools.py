"""Objects of a pool: its workload, Service, autoscaler, InferencePool and PodDisruptionBudget."""

from __future__ import annotations

from ..sizing.pool import autoscaler
from ..spec import Pool
from ..spec.rollout import count_of
from .server_pod import pod_template, probe_config_map
from .source import MODELS_CLAIM, SERVER, WORKER, Object, Serving, Source, labels, metadata, service_name

LWS = "leaderworkerset.x-k8s.io/v1"
PICKER_PORT = 9002
"""Port of an endpoint picker; default of llm-d's, read 2026-11 in kubernetes-sigs/gateway-api-inference-extension."""


def pool_objects(source: Source, pool: Pool) -> list[Object]:
    """Return the objects of a pool, in the order of creation."""
    found = [probe_config_map(source, pool), workload(source, pool), _service(source, pool)]
    scaled = _scaled_object(source, pool)
    return [*found, *([scaled] if scaled else []), _inference_pool(source, pool), _disruption_budget(source, pool)]


def workload(source: Source, pool: Pool) -> Object:
    """Return the LeaderWorkerSet of a pool with several nodes per replica; else its Deployment or LLMInferenceService.

    KServe's own form for several nodes takes its flags through a shell; LeaderWorkerSet does not.
    """
    if source.nnodes(pool) > 1:
        return _leader_worker_set(source, pool)
    return _llm_inference_service(source, pool) if source.serving is Serving.KSERVE else _deployment(source, pool)


def replicas(source: Source, pool: Pool) -> Object:
    """Return `replicas` of a workload; nothing if KEDA sets it, because a second apply would reset it."""
    return {} if is_scaled(source, pool) else {"replicas": pool.replicas}


def is_scaled(source: Source, pool: Pool) -> bool:
    """Return whether the pool has bounds and a Prometheus that KEDA can query."""
    return pool.name in source.bounds and bool(source.bounds[pool.name].prometheus_url)


def _deployment(source: Source, pool: Pool) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(pool.name, source.namespace(pool), labels=labels(pool, SERVER)),
        "spec": {
            **replicas(source, pool),
            "selector": {"matchLabels": labels(pool, SERVER)},
            # GPUs are full: a new pod starts only after an old one ended.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": pod_template(source, pool),
        },
    }


def _leader_worker_set(source: Source, pool: Pool) -> Object:
    return {
        "apiVersion": LWS,
        "kind": "LeaderWorkerSet",
        "metadata": metadata(pool.name, source.namespace(pool), labels=labels(pool, SERVER)),
        "spec": {
            **replicas(source, pool),
            "startupPolicy": "LeaderCreated",  # the leader becomes ready only with its workers
            "rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": {"maxSurge": 0, "maxUnavailable": 1},
            },
            "leaderWorkerTemplate": {
                "size": source.nnodes(pool),
                # Ranks of a replica do not reconnect, so that all of them restart.
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": pod_template(source, pool, SERVER),
                "workerTemplate": pod_template(source, pool, WORKER),
            },
        },
    }


def _llm_inference_service(source: Source, pool: Pool) -> Object:
    """Return KServe's form. Command and arguments are set, so that its shell expansion of flags is not used."""
    scaling: Object = replicas(source, pool)
    if not scaling:
        spec = autoscaler.keda(source.bounds[pool.name])["spec"]
        # KServe's rule reads the name, which must be empty; an API server refuses an object without one.
        horizontal = {**spec["advanced"]["horizontalPodAutoscalerConfig"], "name": ""}
        keda = {
            "pollingInterval": spec["pollingInterval"],
            "advanced": {"horizontalPodAutoscalerConfig": horizontal},
            "triggers": spec["triggers"],
        }
        scaling = {
            "scaling": {"minReplicas": spec["minReplicaCount"], "maxReplicas": spec["maxReplicaCount"], "keda": keda}
        }
    template = pod_template(source, pool, container="main")
    return {
        "apiVersion": "serving.kserve.io/v1alpha2",
        "kind": "LLMInferenceService",
        "metadata": metadata(pool.name, source.namespace(pool)),
        "spec": {
            **scaling,
            "labels": template["metadata"]["labels"],
            "annotations": template["metadata"]["annotations"],
            "model": {"name": pool.model, "uri": f"pvc://{MODELS_CLAIM}/{pool.model}"},
            "storageInitializer": {"enabled": False},
            "template": template["spec"],
        },
    }


def _service(source: Source, pool: Pool) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(service_name(pool), source.namespace(pool), labels=labels(pool, SERVER)),
        "spec": {
            "type": "ClusterIP",
            "selector": labels(pool, SERVER),
            "ports": [{"name": "https", "port": pool.port, "targetPort": pool.port, "protocol": "TCP"}],
        },
    }


def _scaled_object(source: Source, pool: Pool) -> Object | None:
    """Return KEDA's object; None without bounds, and for KServe, which creates its own."""
    made_by_kserve = source.serving is Serving.KSERVE and source.nnodes(pool) == 1
    if not is_scaled(source, pool) or made_by_kserve:
        return None
    made = autoscaler.keda(source.bounds[pool.name])
    made["metadata"] = metadata(pool.name, source.namespace(pool))
    if source.nnodes(pool) > 1:
        made["spec"]["scaleTargetRef"] |= {"apiVersion": LWS, "kind": "LeaderWorkerSet"}
    return made


def _inference_pool(source: Source, pool: Pool) -> Object:
    return {
        "apiVersion": "inference.networking.k8s.io/v1",
        "kind": "InferencePool",
        "metadata": metadata(pool.name, source.namespace(pool)),
        "spec": {
            "selector": {"matchLabels": labels(pool, SERVER)},
            "targetPorts": [{"number": pool.port}],
            "endpointPickerRef": {
                "name": f"{pool.name}-endpoint-picker",
                "port": {"number": PICKER_PORT},
                "failureMode": "FailClose",
            },
        },
    }


def _disruption_budget(source: Source, pool: Pool) -> Object:
    """Return the budget of voluntary disruptions: `min_serving` of site.yaml, counted in servers."""
    min_serving = pool.min_serving or source.context.spec.rollout.min_serving
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(pool.name, source.namespace(pool)),
        "spec": {
            "minAvailable": count_of(min_serving, pool.replicas),
            "selector": {"matchLabels": labels(pool, SERVER)},
        },
    }
