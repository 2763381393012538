"""Names of a replica and of its server's unit on nodes."""

from __future__ import annotations

from ...placement import Replica


def instance(replica: Replica) -> str:
    """Return the name of a replica on its nodes: `chat` for the first, `chat.1` for the second.

    It cannot be the name of another pool, because names of pools have no dot.
    """
    return replica.pool if replica.index == 0 else f"{replica.pool}.{replica.index}"


def unit_name(replica: Replica) -> str:
    """Return the systemd unit of a replica's rank on a node, without `.service`."""
    return f"sovctl-pool-{instance(replica)}"
