"""Location and keys of the vault, and token keys, in gateway.yaml."""

from __future__ import annotations

from typing import Any

from ...spec.gateway.vault import Kek
from ..context import Context
from ..credential import SECRETS, TLS, kek_file, token_key_file


def token_keys(context: Context) -> list[dict[str, Any]]:
    """Return `token_keys` of gateway.yaml."""
    versions = [key.version for key in context.gateway.token_keys]
    return [{"version": version, "file": f"{SECRETS}/{token_key_file(version)}"} for version in versions]


def vault(context: Context, *, data: str) -> dict[str, Any]:
    """Return `vault` of gateway.yaml.

    Args:
        data: folder of the gateway's data on the node.
    """
    gateway = context.gateway
    kek = [_kek(each) for each in gateway.vault.kek]
    rows = gateway.vault.model_dump(mode="json", include={"max_rows_per_tenant"}, exclude_defaults=True)
    return {**_place(context, data), "kek": kek, "ttl_s": gateway.vault.ttl_s, **rows}


def _place(context: Context, data: str) -> dict[str, Any]:
    database = context.gateway.vault.postgresql
    if database is None:
        return {"path": f"{data}/vault.db"}
    made = database.model_dump(mode="json", exclude={"password", "ca_file"})
    made["password_file"] = f"{SECRETS}/vault.password"
    made["ca_file"] = f"{TLS}/vault-ca.pem" if database.ca_file else f"{TLS}/ca.pem"
    return {"postgresql": made}


def _kek(kek: Kek) -> dict[str, Any]:
    path = f"{SECRETS}/{kek_file(kek)}"
    if kek.pkcs11 is None:
        return {"file": path}
    return {"pkcs11": {**kek.pkcs11.model_dump(mode="json", exclude={"pin"}), "pin_file": path}}
