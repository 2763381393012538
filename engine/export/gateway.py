"""The gateway as a StatefulSet: each replica has its own vault and ledger, as each gateway node has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.package_files import package_folder, package_text

from ..resources.credential import SECRETS, TLS
from ..resources.gateway.service import CACHE, CONFIG, DATA, configuration
from ..spec.rollout import count_of
from ..spec.service_accounts import GATEWAY_UID
from .network import GATEWAY_LABELS
from .server_pod import on_nodes, restricted, unprivileged
from .source import GATEWAY, Object, Source, metadata

NAME = "sovctl-gateway"
TLS_SECRET, FILES_SECRET = "gateway-tls", "gateway-secrets"
"""Secrets whose keys are the file names in `/etc/sovctl/tls` and `/etc/sovctl/secrets` of a gateway node."""
SCRIPT = package_folder("engine/export") / "private_files.py"
DATA_SIZE = "20Gi"
"""Volume of vault and ledger of one replica; chosen, because site.yaml has no size. Change it by a kustomize patch."""


def gateway_objects(source: Source) -> list[Object]:
    """Return the objects of the gateway; empty without one."""
    if source.context.spec.gateway is None:
        return []
    text = yaml.safe_dump(settings(source), sort_keys=False, allow_unicode=True)
    config: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(NAME, GATEWAY),
        "data": {"gateway.yaml": text, SCRIPT.name: package_text(SCRIPT)},
    }
    return [config, _service(source), _stateful_set(source, sha256_hex(text)), _disruption_budget(source)]


def settings(source: Source) -> dict[str, Any]:
    """Return gateway.yaml as on nodes, with the Services of the pools as servers."""
    made = configuration(source.context)
    served = source.context.spec.served()
    for upstream in made["upstreams"]:
        if upstream["kind"] == "pool":
            pool = served[upstream["name"]]
            upstream["base_urls"] = [f"https://{source.host(pool)}:{pool.port}/v1"]
    return made


def secret_files(source: Source) -> dict[str, list[str]]:
    """Return the files that gateway.yaml names, by Secret, sorted."""
    if source.context.spec.gateway is None:
        return {}
    texts = set(_texts(settings(source)))
    folders = {TLS_SECRET: f"{TLS}/", FILES_SECRET: f"{SECRETS}/"}
    return {
        secret: sorted(text.removeprefix(folder) for text in texts if text.startswith(folder))
        for secret, folder in folders.items()
    }


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _service(source: Source) -> Object:
    gateway = source.context.gateway
    ports = [{"name": "https", "port": gateway.port, "targetPort": gateway.port, "protocol": "TCP"}]
    if gateway.admin is not None and gateway.admin.reach == "management":
        ports.append({"name": "admin", "port": gateway.admin.port, "targetPort": gateway.admin.port, "protocol": "TCP"})
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(NAME, GATEWAY, labels=GATEWAY_LABELS),
        "spec": {"type": "ClusterIP", "selector": GATEWAY_LABELS, "ports": ports},
    }


def _stateful_set(source: Source, config_sha256: str) -> Object:
    nodes = list(source.context.gateway.nodes)
    anti = {"labelSelector": {"matchLabels": GATEWAY_LABELS}, "topologyKey": "kubernetes.io/hostname"}
    data: Object = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": DATA_SIZE}}},
    }
    secrets: list[Object] = [
        {"name": name, "secret": {"secretName": secret, "defaultMode": 0o440}}
        for name, secret in (("tls", TLS_SECRET), ("secrets", FILES_SECRET))
    ]
    pod: Object = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": restricted(GATEWAY_UID),
        "terminationGracePeriodSeconds": 60,
        "affinity": {
            **on_nodes(nodes),
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [anti]},
        },
        "initContainers": [_init_container(source)],
        "containers": [_container(source)],
        "volumes": [
            {"name": "config", "configMap": {"name": NAME}},
            *secrets,
            {"name": "private", "emptyDir": {"medium": "Memory"}},
            {"name": "cache", "emptyDir": {}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }
    template = {"metadata": {"labels": GATEWAY_LABELS, "annotations": {"sovctl/config-sha256": config_sha256}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(NAME, GATEWAY, labels=GATEWAY_LABELS),
        "spec": {
            "serviceName": NAME,
            "replicas": len(nodes),
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": GATEWAY_LABELS},
            "template": {**template, "spec": pod},
            "volumeClaimTemplates": [data],
        },
    }


def _init_container(source: Source) -> Object:
    """Return the container that prepares the modes of secrets and data; see `private_files.py`."""
    folders = ["/volumes/secrets", "/volumes/private/secrets", "/volumes/data/gateway"]
    return {
        "name": "private-files",
        "image": source.images["gateway"].reference,
        "command": ["python", f"/volumes/config/{SCRIPT.name}", *folders],
        "securityContext": unprivileged(),
        "volumeMounts": [
            {"name": "config", "mountPath": "/volumes/config", "readOnly": True},
            {"name": "secrets", "mountPath": "/volumes/secrets", "readOnly": True},
            {"name": "private", "mountPath": "/volumes/private"},
            {"name": "data", "mountPath": "/volumes/data"},
        ],
    }


def _container(source: Source) -> Object:
    gateway = source.context.gateway
    mutual = gateway.client_ca_file is not None and gateway.requires_client_certificate

    def probe(path: str) -> Object:
        # A kubelet has no client certificate.
        return (
            {"tcpSocket": {"port": "https"}}
            if mutual
            else {"httpGet": {"path": path, "port": "https", "scheme": "HTTPS"}}
        )

    return {
        "name": "gateway",
        "image": source.images["gateway"].reference,
        "command": ["python", "-m", "sovctl.gateway", "serve", "--config", CONFIG],
        "ports": [{"name": "https", "containerPort": gateway.port, "protocol": "TCP"}],
        "securityContext": unprivileged(),
        "startupProbe": {**probe("/healthz"), "periodSeconds": 5, "failureThreshold": 60},
        "readinessProbe": {**probe("/readyz"), "periodSeconds": 10, "timeoutSeconds": 5},
        "livenessProbe": {**probe("/healthz"), "periodSeconds": 10, "timeoutSeconds": 5},
        "volumeMounts": [
            {"name": "config", "mountPath": CONFIG, "subPath": "gateway.yaml", "readOnly": True},
            {"name": "tls", "mountPath": TLS, "readOnly": True},
            {"name": "private", "mountPath": SECRETS, "subPath": "secrets", "readOnly": True},
            {"name": "data", "mountPath": DATA, "subPath": "gateway"},
            {"name": "cache", "mountPath": CACHE},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - a mount of the pod
        ],
    }


def _disruption_budget(source: Source) -> Object:
    spec, gateway = source.context.spec, source.context.gateway
    least = count_of(gateway.min_serving or spec.rollout.min_serving, len(gateway.nodes))
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(NAME, GATEWAY),
        "spec": {"minAvailable": least, "selector": {"matchLabels": GATEWAY_LABELS}},
    }
