"""Builds the inputs of active tests from an opened site: connections, planned services, power budget."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from pathlib import Path

from sovctl.support.errors import InputError

from ....resources.context import Context
from .idle import GATEWAY, NodeServices
from .jobs import PowerBudget
from .measurement import Measurement
from .node_process import Machines


def measurement_of(context: Context, config: Path, allowed: Collection[str]) -> Measurement:
    """Return the measurement of a run.

    Args:
        config: file written by `transport.ssh_config`.
        allowed: names of pools, and `gateway`, from `--allow-downtime`.

    Raises:
        InputError: a name is unknown.
    """
    known = [pool.name for pool in context.spec.pools] + [GATEWAY]
    if unknown := [name for name in allowed if name not in known]:
        raise InputError(f"expected one of {', '.join(known)}, got {unknown[0]!r}", where="--allow-downtime")
    return Measurement(Machines(config, secrets.token_hex(8)), NodeServices.of(context), allowed)


def power_of(context: Context) -> PowerBudget:
    """Return the power budget: the cap, and of each node `sizing.racks.node_kw`, else the figure of the catalogue."""
    racks = context.spec.sizing.racks
    stated = racks.node_kw if racks is not None else {}
    node_kw: dict[str, float | None] = {}
    for group, node in context.spec.nodes():
        platform = context.platforms[group.platform]
        share = platform.gpus / platform.system_gpus if platform.system_gpus else 1.0
        catalogue = None if platform.max_power_kw is None else platform.max_power_kw * share
        node_kw[node.name] = stated.get(group.name, catalogue)
    return PowerBudget(context.spec.verify.power_cap_kw, node_kw)
