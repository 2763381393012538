"""MIG in a cluster: the MIG manager of the GPU operator with the layouts of site.yaml.

The manager divides the GPUs of a node when its label `nvidia.com/mig.config` names a configuration, and stops GPU
clients of the operator before. It chooses the places of instances itself.

Sources: NVIDIA, "GPU Operator with MIG" (read 2026-11-29); NVIDIA/mig-parted 0.9.1, `mig-configs` (read 2026-11).
Never run.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from ..spec import NodeGroup
from .images import Image
from .source import Object, Source, metadata

IMAGE = "mig-manager"
"""Name in the image table."""
LABEL = "nvidia.com/mig.config"
CONFIG_MAP, NAMESPACE = "sovctl-mig", "gpu-operator"
"""The operator reads the ConfigMap in its own namespace; `gpu-operator` is that of its documentation."""
ALL_DISABLED = "all-disabled"
"""Configuration of nodes without the label. The definition of ClusterPolicy permits no other name."""


def divided_groups(source: Source) -> list[NodeGroup]:
    """Return the node groups with MIG, in the order of site.yaml."""
    return [group for group in source.context.spec.node_groups if group.is_divided]


def labelled_nodes(source: Source) -> Iterator[tuple[NodeGroup, str]]:
    """Yield each divided group with the names of its nodes."""
    for group in divided_groups(source):
        yield group, ", ".join(node.name for node in group.nodes)


def policy_fields(image: Image) -> Object:
    """Return the fields of a ClusterPolicy: instances as resources by profile, and the manager."""
    config = {"name": CONFIG_MAP, "default": ALL_DISABLED}
    return {"mig": {"strategy": "mixed"}, "migManager": {"enabled": True, **image.operator_fields(), "config": config}}


def config_map(source: Source) -> Object:
    """Return the configurations of the manager: one for each divided group, under its name."""
    disabled: list[Object] = [{"devices": "all", "mig-enabled": False}]
    configs = {ALL_DISABLED: disabled} | {group.name: _devices(source, group) for group in divided_groups(source)}
    text = yaml.safe_dump({"version": "v1", "mig-configs": configs}, sort_keys=False)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(CONFIG_MAP, NAMESPACE),
        "data": {"config.yaml": text},
    }


def _devices(source: Source, group: NodeGroup) -> list[Object]:
    """Return the entries of a group: GPUs with equal instances together, in the order of their first GPU."""
    wanted: dict[int, dict[str, int]] = {}
    for each in source.context.divided[group.name]:
        instances = wanted.setdefault(each.gpu, {})
        if each.profile is not None:
            instances[each.profile] = instances.get(each.profile, 0) + 1
    gpus: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for gpu, instances in wanted.items():
        gpus.setdefault(tuple(sorted(instances.items())), []).append(gpu)
    return [
        {"devices": indices, "mig-enabled": bool(instances)} | ({"mig-devices": dict(instances)} if instances else {})
        for instances, indices in gpus.items()
    ]
