"""A gateway with operators, and how to ask its admin surface."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml
from access_givens import MONITOR_KEY, entry
from loopback_ports import unused_port

ADMIN = "test-key-of-the-operator"
CALLER = "test-key-of-an-application"
PRICE = {"input_price_per_million": 100.0, "output_price_per_million": 1000.0}


def begin(start: Callable[..., Any], folder: Path, **changes: Any) -> Any:
    """A running gateway with an admin, a limited caller and a team."""
    clients = [
        entry("ops", ADMIN, is_admin=True),
        entry("monitoring", MONITOR_KEY, is_monitor=True),
        entry("branch", CALLER, team="cards", limits={"requests_per_minute": 1000, "tokens_per_day": 100_000}),
    ]
    (folder / "clients.json").write_text(json.dumps(clients))
    settings = {
        "clients_file": str(folder / "clients.json"),
        "access": {
            "reload_every_s": 0.05,
            "teams": [{"name": "cards", "tenant": "retail", "limits": {"tokens_per_month": 2000, "cost_per_day": 0.5}}],
        },
        "quota": {
            "path": str(folder / "quota.db"),
            "prices": {"currency": "EUR", "upstreams": {"chat": PRICE, "sovereign-cloud": PRICE}},
        },
        "admin": {"port": unused_port()},
        **changes,
    }
    return start(**settings)


def admin_port(gateway: Any) -> int:
    """Where its operators reach it."""
    port: int = yaml.safe_load(gateway.config.read_text())["admin"]["port"]
    return port


def ask(
    gateway: Any,
    method: str,
    path: str,
    *,
    form: dict[str, str] | None = None,
    body: Any = None,
    headers: dict[str, str] | None = None,
    key: str | None = None,
) -> tuple[int, dict[str, str], str]:
    """Status, headers and body of a request to the admin surface, without TLS."""
    sent = dict(headers or {})
    content: str | None = None
    if form is not None:
        sent["Content-Type"], content = "application/x-www-form-urlencoded", urlencode(form)
    elif body is not None:
        sent["Content-Type"], content = "application/json", body if isinstance(body, str) else json.dumps(body)
    if key is not None:
        sent["Authorization"] = f"Bearer {key}"
    with closing(http.client.HTTPConnection("127.0.0.1", admin_port(gateway), timeout=60)) as connection:
        connection.request(method, path, content, sent)
        response = connection.getresponse()
        return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read().decode()
