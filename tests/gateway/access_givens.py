"""Settings and clients that the tests of who may call share."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from clients_digests import with_digests

from sovctl.gateway.settings import GatewaySettings


def entry(name: str = "branch", key: str = "k", **more: Any) -> dict[str, Any]:
    """A client of a clients file, with one key."""
    return {"name": name, "tenant": "retail", "key_sha256": hashlib.sha256(key.encode()).hexdigest(), **more}


MONITOR_KEY = "test-key-of-the-monitoring"


def settings_with(folder: Path, clients: Any, **access: Any) -> GatewaySettings:
    """Settings whose clients file holds `clients`; nothing else they name is there."""
    path = folder / "clients.json"
    path.write_text(clients if isinstance(clients, str) else json.dumps(clients))
    upstream = {"name": "chat", "kind": "pool", "base_urls": ["https://127.0.0.1:1/v1"], "model": "echo"}
    return GatewaySettings.model_validate(
        with_digests(
            {
                "site": "lab",
                "listen": {"certificate_file": "x", "key_file": "x"},
                "clients_file": path,
                "token_key_file": "x",
                "vault": {"path": "x", "kek_file": "x"},
                "ledger": {"directory": "x", "key_file": "x", "origin": "x"},
                "upstreams": [upstream],
                "routes": [{"model": "assistant", "pool": "chat"}],
                "access": access,
            }
        )
    )
