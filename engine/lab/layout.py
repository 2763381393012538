"""What a lab consists of: its machines, their addresses, and where everything is kept.

Every namespace, cgroup, machine name and path carries the lab's name, so that several labs live side by side. The
addresses are the same in each: they are only reachable inside the lab's own network namespaces.

    cache (survives `down`): /var/cache/sovctl/lab
    state (gone after `down`): /var/lib/sovctl/lab/NAME
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sovctl.support.errors import InputError

DEFAULT_NAME = "sovlab"
CACHE_VARIABLE = "SOVCTL_LAB_CACHE"
_CACHE = Path("/var/cache/sovctl/lab")
_STATE = Path("/var/lib/sovctl/lab")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")

MANAGEMENT_NETWORK = "10.77.0.0/24"
CONTROLLER_ADDRESS = "10.77.0.1"
WALL_INSIDE_ADDRESS = "10.77.0.254"
OUTSIDE_NETWORK = "10.88.0.0/24"
WALL_OUTSIDE_ADDRESS = "10.88.0.1"
CLOUD_ADDRESS = "10.88.0.2"
PREFIX_LENGTH = 24

WEB_PORT = 8080
CLOUD_PORT = 443
CATCH_ALL_PORT = 9  # "discard" (RFC 863): whatever is sent there is only kept

USER = "ops"


class NodeKind(StrEnum):
    """What a lab node pretends to be."""

    GPU = "gpu"
    SERVICE = "service"

    @property
    def has_gpus(self) -> bool:
        """True when the node carries simulated GPUs."""
        return self is NodeKind.GPU


@dataclass(frozen=True)
class LabNode:
    """One booted machine."""

    name: str
    address: str
    kind: NodeKind


NODES = (
    LabNode("n1", "10.77.0.11", NodeKind.GPU),
    LabNode("n2", "10.77.0.12", NodeKind.GPU),
    LabNode("s1", "10.77.0.21", NodeKind.SERVICE),
)


def node_named(name: str) -> LabNode:
    """The lab node of that name.

    Raises:
        InputError: there is none.
    """
    for node in NODES:
        if node.name == name:
            return node
    raise InputError(f"expected one of {', '.join(node.name for node in NODES)}, got {name!r}", where="NODE")


def cache_folder() -> Path:
    """The cache of images and packages, shared by all labs of this machine."""
    return Path(os.environ.get(CACHE_VARIABLE) or _CACHE)


@dataclass(frozen=True)
class Lab:
    """The names and paths of one lab; touches nothing.

    Raises:
        InputError: the name is not 1 to 20 lower-case letters, digits and hyphens, a letter first.
    """

    name: str = DEFAULT_NAME

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InputError(
                f"expected 1 to 20 lower-case letters, digits and hyphens, a letter first, got {self.name!r}",
                where="--name",
            )

    @property
    def state(self) -> Path:
        """Everything of this lab that `down` removes."""
        return _STATE / self.name

    @property
    def lock_file(self) -> Path:
        """Held while the lab is built or taken down; beside the state, so that it outlives it."""
        return _STATE / f".{self.name}.lock"

    @property
    def record_file(self) -> Path:
        """Written last by `up`: where it is, the lab is whole."""
        return self.state / "lab.json"

    @property
    def image_mount(self) -> Path:
        """The image that all nodes share, read-only."""
        return self.state / "image"

    @property
    def tools_mount(self) -> Path:
        """The tools that the controller's own services run from, read-only."""
        return self.state / "tools"

    @property
    def tools_root(self) -> Path:
        """Root of the controller's own services: image and tools with a writable layer."""
        return self.state / "controller" / "root"

    @property
    def web(self) -> Path:
        """What the controller serves over HTTP: apt, wheels, models."""
        return self.state / "www"

    @property
    def run(self) -> Path:
        """One file per daemon: who it is."""
        return self.state / "run"

    @property
    def log(self) -> Path:
        """One file per daemon and per node console."""
        return self.state / "log"

    @property
    def cloud(self) -> Path:
        """Keys, certificate and capture of the cloud host."""
        return self.state / "cloud"

    @property
    def capture_file(self) -> Path:
        """Everything that reached the cloud host, one JSON object per line."""
        return self.cloud / "capture.jsonl"

    @property
    def namespace(self) -> str:
        """The controller's network namespace."""
        return self.name

    @property
    def wall_namespace(self) -> str:
        """The router between inside and outside."""
        return f"{self.name}-wall"

    @property
    def cloud_namespace(self) -> str:
        """The host outside the perimeter."""
        return f"{self.name}-cloud"

    def machine(self, node: LabNode) -> str:
        """Name of a node's network namespace, cgroup and nspawn machine."""
        return f"{self.name}-{node.name}"

    def node_folder(self, node: LabNode) -> Path:
        """Upper layer, work folder and merged root of a node."""
        return self.state / "nodes" / node.name

    def root(self, node: LabNode) -> Path:
        """A node's file system as the node sees it; what is written here is there at once."""
        return self.node_folder(node) / "root"

    @property
    def namespaces(self) -> tuple[str, ...]:
        """All network namespaces, the controller's first."""
        return (
            self.namespace,
            self.wall_namespace,
            self.cloud_namespace,
            *(self.machine(node) for node in NODES),
        )
