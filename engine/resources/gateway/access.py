"""Access, quota and listeners of gateway.yaml, and the entries of its clients file."""

from __future__ import annotations

from typing import Any

from ...spec.gateway.access import CallerLimits
from ...spec.gateway.section import Client
from ..context import Context
from ..credential import SECRETS, TLS

LOCAL_CLIENTS_DIGEST = "/etc/sovctl/gateway-local-clients.sha256"
"""Written by `sovctl gateway keys` on the node, as root."""


def access(context: Context, *, data: str) -> dict[str, Any]:
    """Return `access` of gateway.yaml.

    Args:
        data: folder of the gateway's data on the node.
    """
    gateway = context.gateway
    made: dict[str, Any] = {
        "local_clients_file": f"{data}/clients.json",
        "local_clients_sha256_file": LOCAL_CLIENTS_DIGEST,
    }
    made |= gateway.access.model_dump(mode="json", exclude_defaults=True)
    if gateway.send_principal or context.spec.retrieval is not None:
        made["principal_key_files"] = [f"{SECRETS}/principal.key"]
    if gateway.teams:
        made["teams"] = [team.model_dump(mode="json", exclude_defaults=True) for team in gateway.teams]
    if gateway.identity_providers:
        made["identity_providers"] = [
            _issuer(each.model_dump(mode="json", exclude_defaults=True)) for each in gateway.identity_providers
        ]
    return made


def quota(context: Context, *, data: str) -> dict[str, Any]:
    """Return `quota` of gateway.yaml."""
    gateway = context.gateway
    made: dict[str, Any] = {}
    if gateway.vault.postgresql is None:  # with PostgreSQL all nodes share one count
        made["path"] = f"{data}/quota.db"
    if limits := limits_of(gateway.quota.default_limits):
        made["default_limits"] = limits
    if "usage_days" in gateway.quota.model_fields_set:
        made["usage_days"] = gateway.quota.usage_days
    if gateway.prices is not None:
        made["prices"] = {
            "currency": gateway.prices.currency,
            "upstreams": {
                each.upstream: each.model_dump(mode="json", exclude={"upstream"}) for each in gateway.prices.upstreams
            },
        }
    return made


def listen(context: Context) -> dict[str, Any]:
    """Return the keys of `listen` in gateway.yaml for client certificates."""
    gateway = context.gateway
    if gateway.client_ca_file is None:
        return {}
    return {
        "client_ca_file": f"{TLS}/clients-ca.pem",
        "requires_client_certificate": gateway.requires_client_certificate,
    }


def admin(context: Context) -> dict[str, Any]:
    """Return `admin` of gateway.yaml; empty without a listener for operators."""
    chosen = context.gateway.admin
    if chosen is None:
        return {}
    made: dict[str, Any] = {"port": chosen.port}
    if chosen.reach == "management":
        made["host"] = "0.0.0.0"  # noqa: S104 - the firewall limits access by network and port
    if chosen.reach == "management" or chosen.requires_client_certificate:
        made |= {"certificate_file": f"{TLS}/node.pem", "key_file": f"{TLS}/node.key"}
        made |= {key: value for key, value in listen(context).items() if key != "requires_client_certificate"}
    if chosen.requires_client_certificate:
        made["requires_client_certificate"] = True
    return {"admin": made}


def client_entry(client: Client, key_sha256: str) -> dict[str, Any]:
    """Return one entry of the gateway's clients file."""
    key = {"sha256": key_sha256}
    if client.api_key_expires is not None:
        key["expires_at"] = f"{client.api_key_expires}T23:59:59Z"
    rest = client.model_dump(mode="json", exclude_defaults=True, exclude={"api_key", "api_key_expires"})
    return {**rest, "keys": [key]}


def limits_of(limits: CallerLimits) -> dict[str, Any]:
    """Return limits as plain values; empty without limits."""
    return limits.model_dump(mode="json", exclude_none=True)


def _issuer(provider: dict[str, Any]) -> dict[str, Any]:
    name = provider["name"]
    files = {"jwks_file": f"{TLS}/oidc-{name}.jwks.json", "ca_file": f"{TLS}/oidc-{name}-ca.pem"}
    return {key: files.get(key, value) for key, value in provider.items()}
