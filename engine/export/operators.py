"""Policies of the GPU operator and the network operator, for nodes whose drivers sovctl or the site installs."""

from __future__ import annotations

import json

from ..spec import NodeGroup
from . import mig
from .source import RDMA_NAME, Object, Source, metadata

GPU_IMAGES = ("gpu-device-plugin", "gpu-feature-discovery", "gpu-operator-validator", "dcgm-exporter")
RDMA_IMAGES = ("rdma-device-plugin",)
MAX_PODS = 64
"""Pods of one node that may share its compute ports; chosen, above the 16 GPUs of the largest platform."""


def has_gpus(source: Source) -> bool:
    """Return whether a node has GPUs."""
    return any(source.context.platforms[group.platform].gpu for group in source.context.spec.node_groups)


def needs_rdma(source: Source) -> bool:
    """Return whether a pool connects its ranks over compute ports."""
    return any(source.uses_rdma(pool) for pool in source.pools)


def operator_objects(source: Source) -> list[Object]:
    """Return the policies that the site's hardware needs."""
    found = [_cluster_policy(source)] if has_gpus(source) else []
    found += [mig.config_map(source)] if mig.divided_groups(source) else []
    return found + ([_nic_cluster_policy(source)] if needs_rdma(source) else [])


def _cluster_policy(source: Source) -> Object:
    """Return the ClusterPolicy. The lock of site.yaml installs the driver on the host, so the operator does not."""
    images = {name: source.images[name].operator_fields() for name in GPU_IMAGES}
    is_divided = bool(mig.divided_groups(source))
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": metadata("cluster-policy"),
        "spec": {
            "operator": {"defaultRuntime": "containerd"},
            "daemonsets": {"updateStrategy": "OnDelete"},
            "driver": {"enabled": False},
            "toolkit": {"enabled": False},  # `host.container_toolkit`
            "devicePlugin": {"enabled": True, **images["gpu-device-plugin"]},
            "gfd": {"enabled": True, **images["gpu-feature-discovery"]},
            "validator": images["gpu-operator-validator"],
            "dcgm": {"enabled": False},  # the exporter has an embedded engine
            "dcgmExporter": {"enabled": True, **images["dcgm-exporter"]},
            "nodeStatusExporter": {"enabled": False},
            **(mig.policy_fields(source.images[mig.IMAGE]) if is_divided else {"migManager": {"enabled": False}}),
        },
    }


def _nic_cluster_policy(source: Source) -> Object:
    """Return the NicClusterPolicy: no driver, because DOCA is on the host, and the device plugin of compute ports."""
    groups = dict.fromkeys(pool.node_group for pool in source.pools if source.uses_rdma(pool))
    by_name = {group.name: group for group in source.context.spec.node_groups}
    slots = sorted({slot for name in groups for slot in _compute_slots(source, by_name[name])})
    # Source of the settings: Mellanox/k8s-rdma-shared-dev-plugin, README, "Configurations", read 2026-11.
    selectors: Object = {"pciAddresses": slots} if slots else {"vendors": ["15b3"], "linkTypes": ["infiniband"]}
    config = {"configList": [{"resourceName": RDMA_NAME, "rdmaHcaMax": MAX_PODS, "selectors": selectors}]}
    return {
        "apiVersion": "mellanox.com/v1alpha1",
        "kind": "NicClusterPolicy",
        "metadata": metadata("nic-cluster-policy"),
        "spec": {
            "rdmaSharedDevicePlugin": {
                **source.images["rdma-device-plugin"].operator_fields(),
                "config": json.dumps(config, indent=2),
            }
        },
    }


def _compute_slots(source: Source, group: NodeGroup) -> list[str]:
    if group.ports.compute:
        return list(group.ports.compute)
    slots = source.context.platforms[group.platform].compute_slots
    return str(slots.value).split() if slots is not None else []
