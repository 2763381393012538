"""The lab's site with Prometheus and Alertmanager on s1, a webhook and a mailbox."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from example_sites import with_invented_files
from strategies import EXAMPLES

from sovctl.engine.site.site import Site

MONITOR = {
    "name": "monitor",
    "tenant": "operations",
    "api_key": {"file": "secrets/monitor-key"},
    "is_monitor": True,
}
RECEIVERS = [
    {
        "name": "incidents",
        "webhook": {"url": "https://10.77.0.1:9443/alerts", "token": {"file": "secrets/webhook-token"}},
    },
    {
        "name": "team",
        "severities": ["critical"],
        "mail": {
            "relay": "10.77.0.2",
            "server_name": "relay.bank.example",
            "ca_file": "access/relay-ca.pem",
            "sender": "sovctl@bank.example",
            "to": ["operations@bank.example", "night@bank.example"],
            "user": "sovctl",
            "password": {"file": "secrets/relay-password"},
        },
    },
]


def add_monitoring(values: dict[str, Any]) -> None:
    """Add the server to the values of the lab's site.yaml."""
    values["gateway"]["clients"].append(dict(MONITOR))
    server = {"node": "s1", "gateway_client": "monitor", "receivers": deepcopy(RECEIVERS)}
    values["monitoring"] = {"pools": [{"pool": "chat"}], "server": server}


def monitored_values() -> dict[str, Any]:
    """Return the values of its site.yaml."""
    values: dict[str, Any] = yaml.safe_load((EXAMPLES / "lab" / "site.yaml").read_text())
    add_monitoring(values)
    return values


def monitored_site(folder: Path) -> Site:
    """A site with invented files in a folder of its own."""
    folder.mkdir(parents=True)
    (folder / "site.yaml").write_text(yaml.safe_dump(monitored_values(), sort_keys=False))
    return with_invented_files(folder)
