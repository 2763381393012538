"""Parts of site.yaml that an export omits, by path, with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..spec import Pool, SiteSpec
from .network import prometheus_address
from .source import Source, Target

APPLY = "run `sovctl apply` on the nodes"


@dataclass(frozen=True)
class Omission:
    """A part of site.yaml that is not in the folder.

    Args:
        path: in site.yaml, or `cluster: ` and a need of the cluster.
        reason: why, and the remedy if there is one.
    """

    path: str
    reason: str


_NODES: Mapping[str, str] = {
    "access": "ssh access to nodes has no object in a cluster",
    "artifacts": "packages, wheels and models of nodes; images come from the image table",
    "mirror": "serves packages, wheels and models to nodes; images come from the image table",
    "perimeter": f"the firewall of nodes (nftables) is outside the cluster: {APPLY}",
    "perimeter.flows": "connections with services inside the site: add NetworkPolicies",
    "clock": f"time sources of nodes: {APPLY}",
    "host": f"accounts, ssh, kernel, swap and driver parameters of nodes: {APPLY}",
    "host.mounts": "encrypted disks and RAID: choose a StorageClass with the same properties",
    "host.audit": f"audit log of the kernel of nodes: {APPLY}",
    "host.logs": f"transmission of the system log of nodes: {APPLY}",
    "node_groups[].hardware": "the size of nodes is compared by `sovctl verify`",
    "node_groups[].firmware": "firmware of nodes is compared by `sovctl verify`",
    "fabric": "the subnet manager and its checks are outside the cluster",
    "roce": f"settings of Ethernet compute ports (PFC, ECN, DSCP): {APPLY}",
    "software.lock": "the driver is on the host, and the GPU operator does not install one",
    "software.engine_version": "the image has the version, which a digest does not show: compare them",
    "models[].manifest_sha256": "pods do not hash model files: hash them on the volume",
    "unmanaged": "nodes are compared with their baseline by `sovctl plan`",
    "unmanaged_allowed": "exceptions of this comparison",
    "rollout": "waves, failure budget and draining; only `min_serving` is exported to Kubernetes",
    "monitoring": "rules for Prometheus: `sovctl monitoring rules`; the server is that of the cluster",
    "retrieval": "PostgreSQL with pgvector and its service run on a node; a cluster has databases of its own",
    "lifecycle": "drain, quarantine and certificates of nodes: `sovctl node`",
    "verify": "active tests run on nodes: `sovctl verify`",
    "scaling": "moves replicas on fixed nodes: `sovctl scaling`. A cluster scales with the exported autoscaler",
    "workload": "only the bounds of autoscaling are exported",
    "compliance": "controls and reports: `sovctl report`. This folder is not evidence",
}
_OF_TARGET: Mapping[Target, Mapping[str, str]] = {
    Target.KUBERNETES: {
        "gateway.nodes": "exported as affinity and number of replicas; addresses are the cluster's",
        "gateway.routing": "the gateway has one Service for each pool, and does not select servers by load",
        "gateway.vault": "the StorageClass encrypts the volume of vault and ledger, or does not",
        "gateway.vault.postgresql": "add a NetworkPolicy from the gateway to the database",
        "gateway.identity_providers": "add a NetworkPolicy from the gateway to the identity providers",
    },
    Target.RAY: {
        "node_groups[].mig": "pods request whole GPUs (`nvidia.com/gpu`): export such pools to Kubernetes",
        "node_groups[].mig_layout": "see `node_groups[].mig`",
        "pools[].mig_profile": "see `node_groups[].mig`",
        "gateway": "export it with `sovctl export kubernetes`, and name the application's URL in its settings",
        "pools[].port": "Ray Serve has one port for all pools, and one path for each",
        "pools[].max_num_queued_reqs": "Ray Serve limits requests by `max_ongoing_requests`",
    },
}
_CLUSTER: Mapping[Target, Mapping[str, str]] = {
    Target.KUBERNETES: {
        "certificates": "Secrets with the files in README.txt, issued by the site's authority or cert-manager",
        "endpoint picker": "its Deployment, a client certificate for metrics of servers, and NetworkPolicies",
        "metrics": "a PodMonitor with `podTargetLabels: [pool]` and a client certificate for Prometheus",
        "memory and CPU of pods": "site.yaml has no such field: add requests by a kustomize patch",
        "RDMA": "NetworkPolicies do not filter RDMA: isolate it by partitions or VLANs of the fabric",
        "roles": "administrators and their rights are the cluster's (RBAC)",
    },
    Target.RAY: {
        "certificates": "Secrets with the files in README.txt, issued by the site's authority or cert-manager",
        "encryption": "Ray encrypts its calls; objects and NCCL are in clear between pods",
        "HTTP": "Ray Serve accepts HTTP without TLS and without a key: NetworkPolicies permit the gateway only",
        "memory and CPU of pods": "site.yaml has no such field: add requests by a kustomize patch",
        "number of pods": "fixed, because Ray's autoscaler of pods is off",
        "operators": "policies of the GPU and network operator: `sovctl export kubernetes`; pods do not use RDMA",
    },
}


def omissions(source: Source, target: Target) -> list[Omission]:
    """Return the omitted parts of site.yaml, then parts of each pool, then needs of the cluster."""
    spec = source.context.spec
    rows = {**_NODES, **_OF_TARGET[target]}
    found = [Omission(path, reason) for path, reason in rows.items() if _is_stated(spec, path)]
    if target is Target.KUBERNETES:
        for pool in source.pools:
            found += _of_pool(source, pool)
        if spec.sizing.autoscaling.prometheus_url is not None and prometheus_address(source) is None:
            reason = "a NetworkPolicy needs an address: permit Prometheus by its labels"
            found.append(Omission("sizing.autoscaling.prometheus_url", reason))
    return found + [Omission(f"cluster: {need}", reason) for need, reason in _CLUSTER[target].items()]


def _is_stated(spec: SiteSpec, path: str) -> bool:
    """Return whether site.yaml or a default has a value at a path; the path after `[]` counts as stated."""
    value: Any = spec
    for step in path.split("[]")[0].split("."):
        value = getattr(value, step)
        if not value:
            return False
    return True


def _of_pool(source: Source, pool: Pool) -> Iterator[Omission]:
    where = f"pools[{pool.name}]"
    if pool.gpus:
        yield Omission(f"{where}.gpus", "the device plugin assigns GPUs")
    if pool.evaluation is not None:
        yield Omission(f"{where}.evaluation", "`sovctl apply` admits pools; evaluate a pool before its rollout")
    if pool.cpu_affinity is not None:
        yield Omission(f"{where}.cpu_affinity", "the kubelet assigns cores: use its CPU manager with policy static")
    if pool.swap_group is not None:
        yield Omission(f"{where}.swap_group", "pods do not share GPUs in turns: each replica has GPUs of its own")
    if pool.mps is not None:
        yield Omission(f"{where}.mps", "pods do not share GPUs by MPS: each replica has GPUs of its own")
    if pool.replicas > 1:
        yield Omission(f"{where}.port", f"every replica has port {pool.port} in its own pod, not consecutive ports")
    if pool.name not in source.bounds:
        yield Omission(f"{where}: autoscaling", "no ScaledObject: the pool has no workload, or its size is unknown")
    elif not source.bounds[pool.name].prometheus_url:
        yield Omission(f"{where}: autoscaling", "no ScaledObject: set sizing.autoscaling.prometheus_url")


def as_markdown(found: list[Omission]) -> str:
    """Return `not-exported.md`."""
    rows = "".join(f"| `{each.path}` | {each.reason} |\n" for each in found)
    return (
        "# Not exported\n\nParts of site.yaml, and needs of a cluster, that this folder does not have.\n\n"
        f"| part | reason |\n|---|---|\n{rows}"
    )
