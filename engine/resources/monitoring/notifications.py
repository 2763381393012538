"""Configuration of Alertmanager: every receiver of site.yaml gets the alerts of its severities.

Source: prometheus.io/docs/alerting/0.25/configuration, the version of Debian 12, read 2026-11-28. Certificates of
receivers are always verified, and secrets are paths of files.
"""

from __future__ import annotations

from typing import Any

import yaml

from ...monitoring.rules import HEAD
from ...spec.monitoring import AlertReceiver, MonitoringServer
from ..credential import SECRETS, TLS, receiver_ca_file, receiver_secret_file

NOBODY = "none"
"""Receiver of alerts that no receiver of site.yaml wants. Its name cannot be one of site.yaml's, which begin with
`site-`."""
HEARTBEAT_MINUTES = 5


def alertmanager_yaml(server: MonitoringServer) -> str:
    """Return the configuration file."""
    values = {
        "route": {
            "receiver": NOBODY,
            "group_by": ["alertname", "node", "pool"],
            "group_wait": f"{server.group_wait_s}s",
            "group_interval": f"{server.group_interval_s}s",
            "repeat_interval": f"{server.repeat_hours}h",
            "routes": [route for each in server.receivers for route in _routes(each)],
        },
        "receivers": [{"name": NOBODY}, *map(_receiver, server.receivers)],
    }
    return HEAD + yaml.safe_dump(values, sort_keys=False, width=1000, allow_unicode=True)


def _routes(receiver: AlertReceiver) -> list[dict[str, Any]]:
    wanted = [each for each in receiver.severities if each != "none"]
    routes = []
    if wanted:
        routes.append({"receiver": _name(receiver), "matchers": [f'severity=~"{"|".join(wanted)}"'], "continue": True})
    if "none" in receiver.severities:
        routes.append({
            "receiver": _name(receiver),
            "matchers": ['severity="none"'],
            "repeat_interval": f"{HEARTBEAT_MINUTES}m",
            "continue": True,
        })  # fmt: skip
    return routes


def _receiver(receiver: AlertReceiver) -> dict[str, Any]:
    secret = f"{SECRETS}/{receiver_secret_file(receiver.name)}" if receiver.secret else None
    ca_file = f"{TLS}/{receiver_ca_file(receiver.name) if receiver.ca_file else 'ca.pem'}"
    if (webhook := receiver.webhook) is not None:
        authorization = {"authorization": {"credentials_file": secret}} if secret else {}
        http = {"tls_config": {"ca_file": ca_file}, "follow_redirects": False, **authorization}
        sent = {"webhook_configs": [{"url": str(webhook.url), "send_resolved": True, "http_config": http}]}
        return {"name": _name(receiver), **sent}
    mail = receiver.mail
    assert mail is not None
    login = {"auth_username": mail.user, "auth_password_file": secret} if mail.user else {}
    config = {
        "to": ", ".join(mail.to),
        "from": mail.sender,
        "smarthost": f"{mail.relay}:{mail.port}",
        "require_tls": True,
        "tls_config": {"ca_file": ca_file, "server_name": mail.server_name},
        "send_resolved": True,
        **login,
    }
    return {"name": _name(receiver), "email_configs": [config]}


def _name(receiver: AlertReceiver) -> str:
    return f"site-{receiver.name}"
