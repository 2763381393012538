"""Pods of vLLM servers: the flags and the environment that systemd units have, with the addresses of a pod.

Kubernetes replaces `$(NAME)` in arguments and environment by the value of the variable, without a shell.
"""

from __future__ import annotations

import json
from typing import Any

from sovctl.support.errors import InputError
from sovctl.support.package_files import package_text

from ..resources.context import ROLES
from ..resources.credential import TLS
from ..resources.serving.command_line import arguments
from ..resources.serving.environment import environment
from ..resources.serving.flags import SHUTDOWN_TIMEOUT_S, flags
from ..resources.serving.probe_request import probe_request
from ..resources.serving.routes import PROGRAM
from ..resources.serving.start_time import start_timeout_s
from ..resources.software.model import STORE
from ..spec import Pool
from ..spec.service_accounts import ENGINE_UID, ENGINE_USER, SECRETS_GID
from ..spec.serving.section import FlagValue
from .source import MODELS_CLAIM, RDMA_NAME, SERVER, Object, Source, labels, metadata

PROBE = "/etc/sovctl/probe"
ROUTES = PROGRAM.rpartition("/")[2]
"""File of the middleware, next to the probe."""
ACCOUNT = {"HOME": "/tmp", "USER": ENGINE_USER}  # noqa: S108 - the only writable folder of a pod
"""Variables of a user that the image's /etc/passwd lacks. Without USER, PyTorch looks the user up and fails."""
_OF_NODE = frozenset(
    [
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
        "CUDA_MPS_LOG_DIRECTORY",
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
        "CUDA_MPS_PIPE_DIRECTORY",
        "CUDA_VISIBLE_DEVICES",
        "GLOO_SOCKET_IFNAME",
        "NCCL_SOCKET_IFNAME",
        "NCCL_IB_HCA",
        "SOVCTL_MIG_INSTANCE",
        "UCX_NET_DEVICES",
    ]
)
"""Variables with names of devices of a node, which a pod does not have. The device plugin assigns GPUs."""
PROBE_PERIOD_S, PROBE_TIMEOUT_S = 60, 65
"""The probe's request has a timeout of 60 s, as on nodes."""
LEADER_ADDRESS, GROUP_SIZE, WORKER_INDEX = "$(LWS_LEADER_ADDRESS)", "$(LWS_GROUP_SIZE)", "$(LWS_WORKER_INDEX)"
"""Variables that LeaderWorkerSet sets. Source: kubernetes-sigs/lws 060ab4d, api/leaderworkerset/v1."""


def restricted(uid: int) -> Object:
    """Return the security context of a pod for the Pod Security Standard `restricted`."""
    return {
        "runAsNonRoot": True,
        "runAsUser": uid,
        "runAsGroup": uid,
        "fsGroup": SECRETS_GID,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def unprivileged(*added: str) -> Object:
    """Return the security context of a container; `added`: its only capabilities."""
    capabilities: Object = {"drop": ["ALL"]} | ({"add": list(added)} if added else {})
    return {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": capabilities}


def tls_volume(secret: str) -> Object:
    """Return the volume of a Secret of type kubernetes.io/tls with `ca.crt`, under the file names of nodes."""
    names = {"ca.crt": "ca.pem", "tls.crt": "node.pem", "tls.key": "node.key"}
    items = [{"key": key, "path": path} for key, path in names.items()]
    return {"name": "tls", "secret": {"secretName": secret, "defaultMode": 0o440, "items": items}}


def server_flags(source: Source, pool: Pool, role: str) -> dict[str, FlagValue]:
    """Return the flags of a rank, by name: those of its unit on a node, with the addresses of a pod.

    Raises:
        InputError: data-parallel ranks on several nodes, which need a start rank for each pod.
    """
    replica = source.replica(pool)
    if pool.data_parallel_size > 1 and pool.nodes_per_stage > 1:
        raise InputError(
            f"expected data-parallel ranks on one node for an export, got {pool.nodes_per_stage} nodes",
            where=f"site.yaml: pools: {pool.name}: nodes_per_stage",
            hint="serve this pool on the nodes with `sovctl apply`, and remove it from the exported site",
        )
    rank = replica.ranks[0 if role == SERVER else 1]
    of_pod: dict[str, FlagValue] = {
        "host": "0.0.0.0",  # noqa: S104 - NetworkPolicies limit access
        "port": pool.port,
        "nnodes": GROUP_SIZE,
        "node-rank": 0 if role == SERVER else WORKER_INDEX,
        "master-addr": LEADER_ADDRESS,
    }
    return {name: of_pod.get(name, value) for name, value in flags(source.context, replica, rank).items()}


def pod_template(source: Source, pool: Pool, role: str = SERVER, *, container: str = "vllm") -> Object:
    """Return the pod template of a rank.

    Args:
        container: name of the container; KServe requires `main`.
    """
    rank_flags = server_flags(source, pool, role)
    resources = {source.gpu_resource(pool): source.gpus_per_node(pool)}
    if source.uses_rdma(pool):
        resources[f"rdma/{RDMA_NAME}"] = 1
    server: Object = {
        "name": container,
        "image": source.images["vllm"].reference,
        "command": ["vllm", "serve"],
        "args": [_literal(each) for each in arguments(rank_flags)],
        "env": _environment(source, pool),
        "resources": {"limits": dict(resources), "requests": dict(resources)},
        "securityContext": unprivileged(*(["IPC_LOCK"] if source.uses_rdma(pool) else [])),
        "volumeMounts": [
            {"name": "models", "mountPath": STORE, "readOnly": True},
            {"name": "tls", "mountPath": TLS, "readOnly": True},
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - a mount of the pod
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - a mount of the pod
        ],
    }
    volumes: list[Object] = [
        {"name": "models", "persistentVolumeClaim": {"claimName": MODELS_CLAIM, "readOnly": True}},
        tls_volume(f"{pool.name}-tls"),
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    aliases: list[Object] = []
    if role == SERVER:
        # The pod resolves the name of its Service to itself, so that the probe verifies the certificate of this server.
        aliases = [{"ip": "127.0.0.1", "hostnames": [source.host(pool)]}]
        server["ports"] = [{"name": "https", "containerPort": pool.port, "protocol": "TCP"}]
        server |= _probes(source, pool)
        server["volumeMounts"].append({"name": "probe", "mountPath": PROBE, "readOnly": True})
        volumes.append({"name": "probe", "configMap": {"name": f"{pool.name}-probe"}})
    spec: Object = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": restricted(ENGINE_UID),
        "terminationGracePeriodSeconds": SHUTDOWN_TIMEOUT_S + 30,
        "affinity": on_nodes(source.nodes(pool)),
        "containers": [server],
        "volumes": volumes,
    } | ({"hostAliases": aliases} if aliases else {})
    if source.nnodes(pool) == 1:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": labels(pool, SERVER)},
            }
        ]
    manifest = source.context.model(pool.model).manifest_sha256
    return {
        "metadata": {"labels": labels(pool, role), "annotations": {"sovctl/model-manifest-sha256": manifest}},
        "spec": spec,
    }


def probe_config_map(source: Source, pool: Pool) -> Object:
    """Return the probe of nodes with its settings."""
    settings = {
        "url": f"https://{source.host(pool)}:{pool.port}/v1",
        "model": pool.model,
        "request": probe_request(source.context, pool),
        "ca_file": f"{TLS}/ca.pem",
        "certificate_file": f"{TLS}/node.pem",
        "key_file": f"{TLS}/node.key",
        "timeout_s": 60,
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(f"{pool.name}-probe", source.namespace(pool)),
        "data": {
            "probe": package_text(ROLES / "pool" / "files" / "probe"),
            ROUTES: package_text(ROLES / "pool" / "files" / ROUTES),
            "probe.json": json.dumps(settings, indent=2) + "\n",
        },
    }


def _literal(argument: str) -> str:
    """Return an argument in which Kubernetes replaces no other variable than those of LeaderWorkerSet."""
    return argument if argument in (LEADER_ADDRESS, GROUP_SIZE, WORKER_INDEX) else argument.replace("$(", "$$(")


def _environment(source: Source, pool: Pool) -> list[Object]:
    replica = source.replica(pool)
    chosen = environment(source.context, replica, replica.ranks[0])
    chosen = {name: value for name, value in chosen.items() if name not in _OF_NODE}
    chosen |= {"VLLM_HOST_IP": "$(POD_IP)", "VLLM_CACHE_ROOT": "/tmp/vllm", "PYTHONPATH": PROBE} | ACCOUNT  # noqa: S108
    pod_ip: Object = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    return [pod_ip, *({"name": name, "value": value} for name, value in chosen.items())]


def _probes(source: Source, pool: Pool) -> Object:
    """Return the probes of a server. A whole answer is required, because /health returns 200 while a rank hangs."""
    start_s = start_timeout_s(source.context, source.replica(pool))
    action: Object = {"exec": {"command": ["python3", f"{PROBE}/probe", "--config", f"{PROBE}/probe.json"]}}
    periodic: Object = action | {"periodSeconds": PROBE_PERIOD_S, "timeoutSeconds": PROBE_TIMEOUT_S}
    starts = int(start_s // PROBE_PERIOD_S) + 2
    return {
        "startupProbe": action
        | {"periodSeconds": 10, "timeoutSeconds": PROBE_TIMEOUT_S, "failureThreshold": starts * PROBE_PERIOD_S // 10},
        "readinessProbe": periodic | {"failureThreshold": 1},
        "livenessProbe": periodic | {"failureThreshold": 3},
    }


def on_nodes(names: list[str]) -> Object:
    """Return the affinity of pods to nodes by host name, which is the name in site.yaml."""
    expression: dict[str, Any] = {"key": "kubernetes.io/hostname", "operator": "In", "values": names}
    term = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}
