"""Input of the resource types: the site description, the catalogue and digests, all plain values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TypeVar, cast

from jinja2 import Environment, StrictUndefined, Template

from sovctl.support.package_files import package_folder

from ..catalog.drivers import DriverLock
from ..catalog.engines import ENGINES, Engine
from ..catalog.mig_layout import Device
from ..catalog.models import ModelEntry
from ..catalog.platforms import Platform
from ..mirror.snapshots import MirrorSnapshot
from ..placement import Rank, Replica
from ..spec import Model, Node, NodeGroup, Pool, SiteSpec
from ..spec.gateway.section import Gateway
from ..spec.monitoring import MonitoringServer
from ..spec.retrieval import Retrieval
from .resource import CREATED_BY_APPLY
from .software.tree import UNRECORDED, TreeRecord

ROLES = package_folder("roles")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Baseline:
    """Record of the baseline of a node.

    Args:
        sha256: digest of the file on the node.
        differing: kinds and names of what differed before an apply that did not record a new baseline; None otherwise.
    """

    sha256: str
    differing: frozenset[tuple[str, str]] | None = None


@dataclass(frozen=True)
class Context:
    """A site as input of the resource types.

    Args:
        platforms: by ID.
        models: of the catalogue, by ID.
        replicas: of all pools, with their nodes and GPUs.
        locks: paths of the locks of Python environments, by name ("gateway", "installer", engine).
        fingerprints: of credentials, by (node, file name); empty before the first apply.
        renewals: reasons why the certificate of a node is renewed, by node; without nodes whose certificate remains.
        clients_sha256: SHA-256 of the gateway's clients file; `CREATED_BY_APPLY` while a key of a client is absent.
        unavailable: nodes that must not serve, such as quarantined ones. A gateway there, and a replica with a rank
            there, stops; models, environments, vault and credentials stay, because the node may return.
        code_sha256: digest of this controller's code, which the gateway runs as a wheel.
        catalog_files: the site's catalogue entries and measurements, if it has any.
        trees: records of trees, by (node, `tree_id`); empty before the first apply.
        baselines: records of the baselines of nodes, by node; empty before the first apply.
        removed: nodes that sovctl manages and site.yaml no longer contains.
        snapshot: selected one of `mirror.store`; None without one.
        divided: devices of each node of the node groups with MIG, by group.
        access_key: public key of `access.key_file` as `type key`; empty if the file is absent or unreadable.
    """

    spec: SiteSpec
    platforms: Mapping[str, Platform]
    models: Mapping[str, ModelEntry]
    lock: DriverLock
    replicas: tuple[Replica, ...]
    locks: Mapping[str, Path]
    apt_key_sha256: str
    code_sha256: str
    fingerprints: Mapping[tuple[str, str], str] = field(default_factory=dict)
    renewals: Mapping[str, str] = field(default_factory=dict)
    catalog_files: tuple[Path, ...] = ()
    clients_sha256: str = CREATED_BY_APPLY
    unavailable: frozenset[str] = frozenset()
    trees: Mapping[tuple[str, str], TreeRecord] = field(default_factory=dict)
    baselines: Mapping[str, Baseline] = field(default_factory=dict)
    removed: tuple[Node, ...] = ()
    access_key: str = ""
    snapshot: MirrorSnapshot | None = None
    divided: Mapping[str, tuple[Device, ...]] = field(default_factory=dict)

    @property
    def engine(self) -> Engine:
        """Inference engine of the pools."""
        return ENGINES[self.spec.software.engine]

    @cached_property
    def gateway_nodes(self) -> tuple[Node, ...]:
        """Nodes of the gateway in the order of site.yaml; empty without a gateway."""
        return tuple(self.spec.node(name) for name in self.spec.gateway.nodes) if self.spec.gateway else ()

    @property
    def gateway(self) -> Gateway:
        """The gateway. The site must have one."""
        assert self.spec.gateway is not None
        return self.spec.gateway

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """All nodes by name: those of site.yaml in its order, then the removed ones."""
        return {node.name: node for node in (*(node for _, node in self.spec.nodes()), *self.removed)}

    @property
    def removed_names(self) -> frozenset[str]:
        """Names of the removed nodes."""
        return frozenset(node.name for node in self.removed)

    def group(self, node: Node) -> NodeGroup:
        """Return the group of a node."""
        return self._groups[node.name]

    def platform(self, node: Node) -> Platform:
        """Return the platform of a node."""
        return self.platforms[self.group(node).platform]

    def mig_devices(self, node: Node) -> tuple[Device, ...]:
        """Return the GPUs and MIG instances of a node; empty if its GPUs are whole."""
        return self.divided.get(self.group(node).name, ())

    def mig_instance(self, rank: Rank) -> Device | None:
        """Return the MIG instance of a rank; None for whole GPUs."""
        devices = self.mig_devices(self.nodes[rank.node])
        return devices[rank.gpus[0]] if devices and devices[rank.gpus[0]].profile is not None else None

    def gpu_indices(self, rank: Rank) -> list[int]:
        """Return the indices of the GPUs of a rank on its node."""
        devices = self.mig_devices(self.nodes[rank.node])
        return [devices[each].gpu for each in rank.gpus] if devices else list(rank.gpus)

    def pool(self, name: str) -> Pool:
        """Return a pool by name."""
        return self._pools[name]

    def model(self, name: str) -> Model:
        """Return a model of the site by name."""
        return next(model for model in self.spec.models if model.name == name)

    def replicas_on(self, node: Node) -> list[Replica]:
        """Return the replicas with at least one rank on a node."""
        return self._replicas.get(node.name, [])

    @cached_property
    def serving_replicas(self) -> tuple[Replica, ...]:
        """Replicas whose ranks are all on available nodes."""
        return tuple(each for each in self.replicas if self.unavailable.isdisjoint(rank.node for rank in each.ranks))

    def serving_on(self, node: Node) -> list[Replica]:
        """Return the serving replicas with at least one rank on a node."""
        return [
            each for each in self.replicas_on(node) if self.unavailable.isdisjoint(rank.node for rank in each.ranks)
        ]

    def once(self, make: Callable[..., _T], *values: Hashable) -> _T:
        """Return `make(context, *values)`, which runs once for this context and these values.

        Nodes with equal values share the result, so that a plan of many like nodes computes it once. It must not be
        changed.
        """
        key = (make, *values)
        if key not in self._made:
            self._made[key] = make(self, *values)
        return cast("_T", self._made[key])

    @cached_property
    def _made(self) -> dict[tuple[Hashable, ...], object]:
        return {}

    @cached_property
    def _pools(self) -> dict[str, Pool]:
        return {pool.name: pool for pool in self.spec.pools}

    @cached_property
    def _groups(self) -> dict[str, NodeGroup]:
        return {node.name: group for group, node in self.spec.nodes()}

    @cached_property
    def _replicas(self) -> dict[str, list[Replica]]:
        found: dict[str, list[Replica]] = {}
        for replica in self.replicas:
            for node in dict.fromkeys(rank.node for rank in replica.ranks):
                found.setdefault(node, []).append(replica)
        return found

    def is_gateway(self, node: Node) -> bool:
        """Return whether site.yaml has a gateway on the node."""
        return node in self.gateway_nodes

    def is_mirror(self, node: Node) -> bool:
        """Return whether site.yaml has a mirror on the node."""
        return self.spec.mirror is not None and node.name in self.spec.mirror.nodes

    @property
    def monitoring_server(self) -> MonitoringServer | None:
        """Settings of Prometheus and Alertmanager; None if the site only renders rules."""
        return self.spec.monitoring.server if self.spec.monitoring else None

    def is_monitoring_server(self, node: Node) -> bool:
        """Return whether Prometheus and Alertmanager are on the node."""
        return self.monitoring_server is not None and self.monitoring_server.node == node.name

    @property
    def retrieval(self) -> Retrieval:
        """The retrieval service. The site must have one."""
        assert self.spec.retrieval is not None
        return self.spec.retrieval

    def is_retrieval(self, node: Node) -> bool:
        """Return whether the retrieval service and its database are on the node."""
        return self.spec.retrieval is not None and self.spec.retrieval.node == node.name

    def serves_gateway(self, node: Node) -> bool:
        """Return whether the gateway runs on the node: it does not on a node that must not serve."""
        return self.is_gateway(node) and node.name not in self.unavailable

    def fingerprint(self, node: Node, file: str) -> str:
        """Return the fingerprint of a credential on a node; `CREATED_BY_APPLY` if it does not exist yet."""
        return self.fingerprints.get((node.name, file), CREATED_BY_APPLY)

    def tree(self, node: Node, tree: str) -> TreeRecord:
        """Return the record of a tree by its `tree_id`; `UNRECORDED` if no apply has built it."""
        return self.trees.get((node.name, tree), UNRECORDED)


def render(role: str, template: str, **values: object) -> str:
    """Return a rendered template of a role, with the same bytes as Ansible's template module writes.

    Ansible removes the newline after a block and keeps the one at the end. Undefined variables are errors. Equal values
    share the text.

    Args:
        values: plain values.
    """
    key = (role, template, repr(values))
    if key not in _RENDERED:
        _RENDERED[key] = _template(role, template).render(**values)
    return _RENDERED[key]


_RENDERED: dict[tuple[str, str, str], str] = {}


_ENVIRONMENT = Environment(  # noqa: S701 - configuration files for nodes, not HTML
    undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
)


@cache
def _template(role: str, template: str) -> Template:
    return _ENVIRONMENT.from_string((ROLES / role / "templates" / template).read_text())
