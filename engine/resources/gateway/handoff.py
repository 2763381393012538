"""Hand-off of withheld answers, and tracing, in gateway.yaml."""

from __future__ import annotations

from typing import Any

from ..context import Context
from ..credential import SECRETS, TLS


def handoff(context: Context, *, data: str) -> dict[str, Any]:
    """Return `handoff` of gateway.yaml; empty without hand-offs.

    Args:
        data: folder of the gateway's data on the node.
    """
    wanted = context.gateway.handoff
    if wanted is None:
        return {}
    made = wanted.model_dump(mode="json", exclude={"webhook"})
    if context.gateway.vault.postgresql is None:  # with PostgreSQL all nodes share one queue
        made["path"] = f"{data}/handoffs.db"
    if wanted.webhook is not None:
        made["webhook"] = {
            "url": str(wanted.webhook.url),
            "secret_file": f"{SECRETS}/handoff-webhook.key",
            "ca_file": f"{TLS}/handoff-webhook-ca.pem" if wanted.webhook.ca_file else f"{TLS}/ca.pem",
            "timeout_s": wanted.webhook.timeout_s,
        }
    return {"handoff": made}


def tracing(context: Context) -> dict[str, Any]:
    """Return `tracing` of gateway.yaml; empty without a collector."""
    wanted = context.gateway.tracing
    if wanted is None:
        return {}
    ca_file = f"{TLS}/tracing-ca.pem" if wanted.ca_file else f"{TLS}/ca.pem"
    return {"tracing": {**wanted.model_dump(mode="json", exclude={"ca_file"}), "ca_file": ca_file}}
