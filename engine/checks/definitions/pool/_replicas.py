"""Expectation of the checks of pools: the replicas with a rank on a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....catalog.engines.vllm import VLLM
from ....resources import pool as pool_resource
from ....resources.serving.engines import environment, flags
from ....resources.serving.flags import closed_media_of
from ....resources.serving.node_files import FOLDER
from ....resources.software.environment import folder
from ....spec import Node
from ...model.check import Expectation
from ...model.check_context import CheckContext


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """One rank of a replica on one node; the subject is the replica's name.

    Args:
        unit: systemd unit with `.service`.
        config: path of the flags file.
        flags: contents of the flags file, by the engine's names of flags.
        address, port: where the replica accepts connections: this rank, or the first one.
        serves_api: whether this rank has an API server.
        environment: variables that the unit sets, by name.
        engine: folder of the environment from which the process runs.
        engine_version: release of the engine.
        engine_name: value of `software.engine`.
        closed_media: kinds of media that the site does not permit; none of transcription pools.
    """

    unit: str
    config: str
    flags: Mapping[str, Any]
    address: str
    port: int
    serves_api: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    engine: str = ""
    engine_version: str = ""
    engine_name: str = VLLM.name
    closed_media: tuple[str, ...] = ()


def replicas_on(site: CheckContext, node: Node) -> Iterator[Expected]:
    """Yield every serving replica with a rank on the node."""
    context = site.context
    for replica in context.serving_on(node):
        rank = next(each for each in replica.ranks if each.node == node.name)
        name = pool_resource.instance(replica)
        yield Expected(
            subject=name,
            unit=f"{pool_resource.unit_name(replica)}.service",
            config=f"{FOLDER}/{name}.yaml",
            flags=flags(context, replica, rank),
            address=str(context.spec.node(pool_resource.api_node(replica, node)).address),
            port=replica.port,
            serves_api=node.name in replica.endpoints,
            environment=environment(context, replica, rank),
            engine=folder(context, node, context.engine.environment, None),
            engine_version=context.spec.software.engine_version,
            engine_name=context.engine.name,
            closed_media=closed_media_of(context, context.pool(replica.pool)),
        )


def heads_on(site: CheckContext, node: Node) -> Iterator[Expected]:
    """Yield every serving replica whose rank on the node accepts client connections."""
    yield from (each for each in replicas_on(site, node) if each.serves_api)
