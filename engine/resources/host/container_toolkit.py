"""NVIDIA container toolkit: CDI devices of all GPUs, for the driver of the lock.

Toolkit 1.18 and newer has the service nvidia-cdi-refresh, which writes /var/run/cdi/nvidia.yaml at boot and after a
change of the driver. Without the service the role writes /etc/cdi/nvidia.yaml.
Source: NVIDIA container toolkit, Support for Container Device Interface (read 2026-11-27).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context
from ..resource import Desired, State
from ..resource_type import Query, ResourceType

PACKAGE = "nvidia-container-toolkit-base"
SPECIFICATIONS = ("/var/run/cdi/nvidia.yaml", "/etc/cdi/nvidia.yaml")
_LIBRARY = re.compile(r"libcuda\.so\.(\d+\.\d+(?:\.\d+)?)")


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    platform = context.platform(node)
    if not context.spec.host.container_toolkit or not platform.has_gpus:
        return
    devices = [f"nvidia.com/gpu={index}" for index in range(platform.gpus)]
    yield Desired(
        kind="container_toolkit",
        name="cdi",
        state={
            "devices": [*devices, "nvidia.com/gpu=all"],
            "driver": context.lock.driver_version,
        },
        why="containers on this node can use each GPU",
        minutes=0.3,
    )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    if PACKAGE not in facts.packages:
        return None
    listed = {line.strip() for line in facts.answer("cdi", may_fail=True).splitlines()}
    texts = [text for path in SPECIFICATIONS if (text := facts.texts.get(path))]
    driver = _LIBRARY.search(texts[0]) if texts else None
    return {
        "devices": [each for each in (desired.state or {})["devices"] if each in listed],
        "driver": driver[1] if driver else None,
    }


def _query(context: Context, node: Node) -> Query:
    if not context.spec.host.container_toolkit or not context.platform(node).has_gpus:
        return Query()
    # Without the package `sh` reports an absent command, and no device is listed.
    return Query(read=SPECIFICATIONS, commands={"cdi": ["sh", "-c", "nvidia-ctk --quiet cdi list"]})


RESOURCE_TYPE = ResourceType("container_toolkit", _expect, _observe, _query)
