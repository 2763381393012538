"""A RayService with all pools of a site, for Ray Serve LLM.

- Ray Serve LLM has its own vLLM version, which differs from the site's (`README.txt`).
- A token is required of every client, and all connections of Ray have TLS with certificates on both sides.
- Engine arguments are the flags of `vllm serve` without those of the API server's address and TLS.

Source: ray 2.60.0, `ray.serve.llm`; ray-project/kuberay feeaf72f, RayService v1.
"""

from __future__ import annotations

from typing import Any

import yaml

from ..resources.credential import TLS
from ..resources.software.model import STORE
from ..sizing.pool import autoscaler
from ..spec import Pool
from ..spec.service_accounts import ENGINE_UID
from .network import GATEWAY_LABELS, in_namespace, policy, tcp
from .server_pod import ACCOUNT, on_nodes, restricted, server_flags, tls_volume, unprivileged
from .source import GATEWAY, MODELS_CLAIM, SERVER, Object, Source, metadata

NAMESPACE = "sovctl-ray"
VERSION = "2.60.0"
ENGINE = "0.29.0"
"""vLLM that ray[llm] of `VERSION` requires; read 2026-11 in its metadata."""
DASHBOARD_PORT, SERVE_PORT = 8265, 8000
"""Defaults of Ray and of Ray Serve."""
TOKEN_SECRET, TLS_SECRET = "ray-token", "ray-tls"

_NOT_ENGINE = frozenset(
    [
        "model",
        "served-model-name",
        "host",
        "port",
        "nnodes",
        "node-rank",
        "master-addr",
        "master-port",
        "headless",
        "ssl-certfile",
        "ssl-keyfile",
        "ssl-ca-certs",
        "ssl-cert-reqs",
        "disable-uvicorn-access-log",
        "disable-fastapi-docs",
        "middleware",
        "shutdown-timeout",
        "max-num-queued-reqs",
    ]
)
"""Flags of the API server, and of vLLM's own connection of ranks, which Ray replaces."""
_LABELS = {"app.kubernetes.io/part-of": "sovctl"}
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_USE_TLS": "1",
    "RAY_TLS_SERVER_CERT": f"{TLS}/node.pem",
    "RAY_TLS_SERVER_KEY": f"{TLS}/node.key",
    "RAY_TLS_CA_CERT": f"{TLS}/ca.pem",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    **ACCOUNT,
}


def ray_service(source: Source) -> Object:
    """Return the RayService."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": metadata("sovctl", NAMESPACE),
        "spec": {
            "serveConfigV2": yaml.safe_dump(serve_config(source), sort_keys=False, width=10_000),
            "rayClusterConfig": {
                "rayVersion": VERSION,
                "authOptions": {"mode": "token", "secretName": TOKEN_SECRET},
                "headGroupSpec": {
                    "serviceType": "ClusterIP",
                    "rayStartParams": {"num-cpus": "0", "disable-usage-stats": "true"},
                    "template": _template(source, "ray-head", None),
                },
                "workerGroupSpecs": [_worker_group(source, pool) for pool in source.pools],
            },
        },
    }


def cluster_policy() -> Object:
    """Return the policy of Ray's pods: connections between them, from the gateway, and from the KubeRay operator.

    Ray and NCCL choose ports at random. The operator sends the serve config, and queries the health of the proxy.
    """
    peer = {"podSelector": {"matchLabels": _LABELS}}
    operator = {
        "namespaceSelector": {},
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "kuberay-operator"}},
    }
    ingress: list[Object] = [
        {"from": [peer]},
        {"from": [operator], "ports": [tcp(DASHBOARD_PORT), tcp(SERVE_PORT)]},
        {"from": [in_namespace(GATEWAY, GATEWAY_LABELS)], "ports": [tcp(SERVE_PORT)]},
    ]
    return policy("allow-ray", NAMESPACE, _LABELS, ingress=ingress, egress=[{"to": [peer]}])


def serve_config(source: Source) -> dict[str, Any]:
    """Return the configuration of Ray Serve: one application for each pool."""
    applications = [
        {
            "name": pool.name,
            "route_prefix": f"/{pool.name}",
            "import_path": "ray.serve.llm:build_openai_app",
            "args": {"llm_configs": [_llm_config(source, pool)]},
        }
        for pool in source.pools
    ]
    return {"proxy_location": "HeadOnly", "http_options": {"host": "0.0.0.0"}, "applications": applications}  # noqa: S104


def _llm_config(source: Source, pool: Pool) -> dict[str, Any]:
    chosen = server_flags(source, pool, SERVER)
    engine = {name.replace("-", "_"): value for name, value in chosen.items() if name not in _NOT_ENGINE}
    bounds = source.bounds.get(pool.name)
    deployment = autoscaler.ray(bounds) if bounds else {"name": pool.name, "num_replicas": pool.replicas}
    del deployment["name"]  # Ray Serve LLM names its deployments itself
    return {
        "model_loading_config": {"model_id": pool.model, "model_source": f"{STORE}/{pool.model}"},
        "engine_kwargs": engine,
        "deployment_config": deployment,
    }


def _worker_group(source: Source, pool: Pool) -> Object:
    """Return the pods of a pool: one for each node of each replica."""
    nnodes = source.nnodes(pool)
    return {
        "groupName": pool.name,
        "replicas": pool.replicas,
        "minReplicas": pool.replicas,
        "maxReplicas": source.max_replicas(pool),
        "numOfHosts": nnodes,
        "rayStartParams": {"disable-usage-stats": "true"},
        "template": _template(source, "ray-worker", pool),
    }


def _template(source: Source, name: str, pool: Pool | None) -> Object:
    container: Object = {
        "name": name,
        "image": source.images["ray-llm"].reference,
        "env": [{"name": key, "value": value} for key, value in _ENVIRONMENT.items()],
        "securityContext": unprivileged(),
        "volumeMounts": [
            {"name": "models", "mountPath": STORE, "readOnly": True},
            {"name": "tls", "mountPath": TLS, "readOnly": True},
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - a mount of the pod
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - a mount of the pod
        ],
    }
    spec: Object = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": restricted(ENGINE_UID),
        "containers": [container],
        "volumes": [
            {"name": "models", "persistentVolumeClaim": {"claimName": MODELS_CLAIM, "readOnly": True}},
            tls_volume(TLS_SECRET),
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }
    if pool is not None:
        gpus = {"nvidia.com/gpu": source.gpus_per_node(pool)}
        container["resources"] = {"limits": gpus, "requests": dict(gpus)}
        spec["affinity"] = on_nodes(source.nodes(pool))
    return {"metadata": {"labels": _LABELS}, "spec": spec}
