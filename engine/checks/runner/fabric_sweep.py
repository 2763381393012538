"""Runs ibnetdiscover on the site's `fabric.probe_node`, over the connections of the checks."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

from sovctl.support.errors import InputError, NodeUnreachable

from ...fabric.reading import SIMULATED
from ...facts.node import SIMULATION_MARK
from ...facts.unreadable import Unreadable, excerpt
from ...site.site import Site
from ..probes.commands import FABRIC_SWEEP
from . import transport

LIMIT_S = 60


def sweep(site: Site) -> str:
    """Return the output of ibnetdiscover. That of a lab begins with the line `SIMULATED`.

    Raises:
        InputError: site.yaml has no section `fabric`.
        NodeUnreachable: the node does not answer.
        Unreadable: the tool failed on the node.
    """
    fabric = site.spec.fabric
    if fabric is None:
        hint = "name the node that runs ibnetdiscover in `fabric.probe_node`, or give the file of a capture"
        raise InputError("site.yaml has no section `fabric`", where=str(site.loaded.path), hint=hint)
    with tempfile.TemporaryDirectory(prefix="sovctl-") as folder:
        config = Path(folder) / "ssh_config"
        config.write_text(transport.ssh_config(site.spec, site.folder, Path(folder)))
        try:
            host = transport.node_host(fabric.probe_node, config)
            command = f"[ ! -e {SIMULATION_MARK} ] || printf %s {shlex.quote(SIMULATED)}; {FABRIC_SWEEP}"
            result = host.run(transport.as_root(command, LIMIT_S), timeout_s=LIMIT_S + transport.GRACE_S)
        finally:
            transport.close_connections(config, [fabric.probe_node])
    if result.rc == transport.SSH_LOST or result.rc == transport.ENDED_BY_US:
        raise NodeUnreachable(
            f"{fabric.probe_node} does not answer: {excerpt(result.stderr)}", where="fabric.probe_node"
        )
    if result.rc != 0:
        raise Unreadable(
            "exit code 0 of ibnetdiscover",
            f"{result.rc}: {excerpt(result.stderr)}",
            where=fabric.probe_node,
            is_description=True,
        )
    return str(result.stdout)
