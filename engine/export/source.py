"""Input of an export, and names that several of its objects use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..placement import Replica
from ..resources.context import Context
from ..sizing.pool.autoscaler import Bounds
from ..spec import Node, NodeGroup, Pool
from .images import Image

Object = dict[str, Any]
"""A Kubernetes object."""

POOLS, RDMA_POOLS, GATEWAY = "sovctl-pools", "sovctl-pools-rdma", "sovctl-gateway"
"""Namespaces."""
MODELS_CLAIM = "models"
"""PersistentVolumeClaim with the model folders, in each namespace of pools."""
RDMA_NAME = "sovctl_compute"
"""Resource of the RDMA shared device plugin, `rdma/sovctl_compute`."""
SERVER, WORKER = "server", "worker"
"""Values of the label `role`: the rank with the API, and all other ranks."""


class Target(StrEnum):
    """System that an export is written for."""

    KUBERNETES = "kubernetes"
    RAY = "ray"


class Serving(StrEnum):
    """Form of a pool whose replicas are each on one node."""

    LWS = "lws"
    KSERVE = "kserve"


@dataclass(frozen=True)
class Source:
    """A site as input of an export.

    Args:
        bounds: autoscaling settings by pool; without pools that were not sized.
        lock_sha256: digest of the lock; empty without one.
    """

    context: Context
    images: Mapping[str, Image]
    bounds: Mapping[str, Bounds]
    serving: Serving = Serving.LWS
    lock_sha256: str = ""

    @property
    def pools(self) -> list[Pool]:
        """Pools in the order of site.yaml."""
        return self.context.spec.pools

    def replica(self, pool: Pool) -> Replica:
        """Return the first replica of a pool. The others differ in nodes, GPUs and ports only."""
        return next(each for each in self.context.replicas if each.pool == pool.name)

    def nnodes(self, pool: Pool) -> int:
        """Return the nodes of one replica."""
        return len(self.replica(pool).ranks)

    def gpus_per_node(self, pool: Pool) -> int:
        """Return the GPUs of one pod."""
        return len(self.replica(pool).ranks[0].gpus)

    def gpu_resource(self, pool: Pool) -> str:
        """Return the resource of the device plugin that a pod requests: whole GPUs, or MIG instances of a profile.

        The names of instances are those of its strategy `mixed` (NVIDIA/k8s-device-plugin, README).
        """
        instance = self.context.mig_instance(self.replica(pool).ranks[0])
        return "nvidia.com/gpu" if instance is None else f"nvidia.com/mig-{instance.profile}"

    def group(self, pool: Pool) -> NodeGroup:
        """Return the node group of a pool."""
        return next(group for group in self.context.spec.node_groups if group.name == pool.node_group)

    def nodes(self, pool: Pool) -> list[str]:
        """Return the nodes that a pool may use, in the order of site.yaml."""
        return list(pool.nodes) or [node.name for node in self.group(pool).nodes]

    def uses_rdma(self, pool: Pool) -> bool:
        """Return whether ranks of a replica connect over compute ports, which need locked memory."""
        return self.nnodes(pool) > 1 and self.has_compute_ports(self.group(pool).nodes[0])

    def has_compute_ports(self, node: Node) -> bool:
        """Return whether site.yaml or the catalogue has ports between GPUs of different nodes."""
        nics = self.context.platform(node).checks.compute_nics
        return bool(self.context.group(node).ports.compute or (nics is not None and nics.value))

    def namespace(self, pool: Pool) -> str:
        """Return the namespace of a pool."""
        return RDMA_POOLS if self.uses_rdma(pool) else POOLS

    @property
    def pool_namespaces(self) -> list[str]:
        """Namespaces of pools, sorted."""
        return sorted({self.namespace(pool) for pool in self.pools})

    def host(self, pool: Pool) -> str:
        """Return the name of a pool's Service, which the certificate of its servers must have."""
        return f"{service_name(pool)}.{self.namespace(pool)}.svc"

    def max_replicas(self, pool: Pool) -> int:
        """Return the largest number of replicas of a pool."""
        return self.bounds[pool.name].max_replicas if pool.name in self.bounds else pool.replicas


def service_name(pool: Pool) -> str:
    """Return the name of a pool's Service. LeaderWorkerSet uses the pool's name for its own headless Service."""
    return f"{pool.name}-api"


def labels(pool: Pool, role: str) -> dict[str, str]:
    """Return the labels of a pod. KEDA's query selects `pool`; see `sizing/pool/autoscaler.py`."""
    return {"app.kubernetes.io/part-of": "sovctl", "pool": pool.name, "role": role}


def metadata(name: str, namespace: str = "", **fields: Any) -> Object:
    """Return the metadata of an object."""
    return {"name": name} | ({"namespace": namespace} if namespace else {}) | fields
