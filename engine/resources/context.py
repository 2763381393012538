"""What the kinds look at when they say what a node should be: the spec, the catalogue and digests, all plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from sovctl.support.package_files import package_folder

from ..catalog.drivers import DriverLock
from ..catalog.models import ModelEntry
from ..catalog.platforms import Platform
from ..placement import Replica
from ..spec import Model, Node, NodeGroup, Pool, SiteSpec
from ..spec.gateway import Gateway
from .resource import CREATED_BY_APPLY

ROLES = package_folder("roles")

GATEWAY_USER, GATEWAY_UID = "sovctl-gateway", 964
ENGINE_USER, ENGINE_UID = "sovctl-vllm", 963
SECRETS_GROUP, SECRETS_GID = "sovctl", 962
"""Fixed numbers, below Debian's first dynamic system id (adduser takes from 999 downward), so that a firewall rule
can name the gateway's user before that user exists."""


@dataclass(frozen=True)
class Context:
    """A whole site, as the kinds see it.

    Args:
        platforms: by id.
        models: of the catalogue, by id.
        replicas: where every pool runs.
        locks: Python environment locks by name ("gateway", "installer", engine): path of the lock file.
        fingerprints: of credentials by (node, file name); absent before the first apply.
        code_sha256: digest of the sovctl wheel that the gateway runs: this controller's own code.
        catalog_files: the site's own entries of the catalogue and its own measurements, as far as it has them.
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
    catalog_files: tuple[Path, ...] = ()

    @cached_property
    def gateway_nodes(self) -> tuple[Node, ...]:
        """In the order of the file; empty without a gateway."""
        return tuple(self.spec.node(name) for name in self.spec.gateway.nodes) if self.spec.gateway else ()

    @property
    def gateway(self) -> Gateway:
        """The gateway of a site that has one."""
        assert self.spec.gateway is not None
        return self.spec.gateway

    def group(self, node: Node) -> NodeGroup:
        """The group a node is in."""
        return next(group for group, each in self.spec.nodes() if each.name == node.name)

    def platform(self, node: Node) -> Platform:
        """What kind of machine a node is."""
        return self.platforms[self.group(node).platform]

    def pool(self, name: str) -> Pool:
        """A pool by name."""
        return next(pool for pool in self.spec.pools if pool.name == name)

    def model(self, name: str) -> Model:
        """A model of the site by name."""
        return next(model for model in self.spec.models if model.name == name)

    def replicas_on(self, node: Node) -> list[Replica]:
        """Replicas with at least one rank on a node."""
        return [each for each in self.replicas if any(rank.node == node.name for rank in each.ranks)]

    def is_gateway(self, node: Node) -> bool:
        """True when the gateway runs there."""
        return node in self.gateway_nodes

    def fingerprint(self, node: Node, file: str) -> str:
        """Of a credential on a node, or the word for one that apply will make."""
        return self.fingerprints.get((node.name, file), CREATED_BY_APPLY)


def render(role: str, template: str, **values: object) -> str:
    """A role's template with values, byte for byte as Ansible's template module renders it.

    Ansible trims the newline after a block and keeps the one at the end; undefined variables are errors.
    """
    environment = Environment(  # noqa: S701 - configuration files for nodes, not HTML
        undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    source = (ROLES / role / "templates" / template).read_text()
    return environment.from_string(source).render(**values)
