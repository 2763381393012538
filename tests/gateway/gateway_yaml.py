"""A gateway.yaml of the loopback gateway, with everything that it names."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from clients_digests import with_digests
from echo_upstream import EchoUpstream
from loopback_ports import unused_port

API_KEY = "test-key-of-the-branch-application"
OTHER_KEY = "test-key-of-another-tenant"
MONITOR_KEY = "test-key-of-the-monitoring"


@dataclass(frozen=True)
class Pki:
    """A certificate authority, a server's certificate and a client's."""

    ca_file: Path
    certificate_file: Path
    key_file: Path
    client_certificate_file: Path
    client_key_file: Path


def write_config(
    folder: Path,
    pki: Pki,
    pool: EchoUpstream,
    cloud: EchoUpstream,
    *,
    port: int = 0,
    down_s: float = 0,
    patience_s: float = 40,
    **changes: Any,
) -> Path:
    """A gateway.yaml with everything it names, in `folder`; what `listen` has goes there.

    Args:
        patience_s: how long an upstream may say nothing; short only where that is what a test is about.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def secret(name: str, text: str) -> str:
        (folder / name).write_text(text + "\n")
        (folder / name).chmod(0o600)
        return str(folder / name)

    def client(name: str, tenant: str, key: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "tenant": tenant, "key_sha256": hashlib.sha256(key.encode()).hexdigest(), **more}

    clients = [client("branch", "retail", API_KEY), client("audit", "group", OTHER_KEY, routes=["inside"])]
    clients.append(client("monitoring", "retail", MONITOR_KEY, is_monitor=True))
    timeouts = {
        "connect_timeout_s": 20,
        "first_byte_timeout_s": patience_s,
        "read_timeout_s": patience_s,
        "answer_timeout_s": patience_s,
        "down_s": down_s,
    }
    settings = {
        "site": "lab",
        "listen": {
            "host": "127.0.0.1",
            "port": port or unused_port(),
            "certificate_file": str(pki.certificate_file),
            "key_file": str(pki.key_file),
            **{
                name: changes.pop(name) for name in ("client_ca_file", "requires_client_certificate") if name in changes
            },
        },
        "workers": 1,
        "clients_file": secret("clients.json", json.dumps(clients)),
        "token_key_file": secret("token.key", secrets.token_hex(32)),
        "vault": {"path": str(folder / "vault/vault.db"), "kek_file": secret("vault.kek", secrets.token_hex(32))},
        "ledger": {
            "directory": str(folder / "ledger"),
            "key_file": str(folder / "ledger.key"),
            "origin": "sovctl.lab/gateway",
        },
        "upstreams": [
            {
                "name": "chat",
                "kind": "pool",
                "base_urls": [pool.base_url],
                "model": "echo",
                "surfaces": list(pool.surfaces),
                "ca_file": str(pki.ca_file),
                "certificate_file": str(pki.client_certificate_file),
                "key_file": str(pki.client_key_file),
                "api_key_file": secret("pool.key", "pool-key"),
                "max_model_len": 512,
                **timeouts,
            },
            {
                "name": "sovereign-cloud",
                "kind": "cloud",
                "base_urls": [cloud.base_url],
                "model": "big",
                "surfaces": list(cloud.surfaces),
                "ca_file": str(pki.ca_file),
                "api_key_file": secret("cloud.key", "cloud-key"),
                "max_model_len": 8192,
                "jurisdiction": "AE",
                **timeouts,
            },
        ],
        "routes": [
            {"model": "assistant", "pool": "chat", "cloud": "sovereign-cloud", "prefer": "cloud"},
            {"model": "careful", "pool": "chat", "cloud": "sovereign-cloud"},
            {"model": "inside", "pool": "chat"},
        ],
        "policy": {
            "default": "tokenize",
            "entity_types": {"PERSON": "on-prem", "SECRET": "block"},
            "name_languages": ["en"],
        },
        **changes,
    }
    path = folder / "gateway.yaml"
    path.write_text(yaml.safe_dump(settings if "clients_sha256" in changes else with_digests(settings)))
    return path
