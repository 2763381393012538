"""Section `monitoring`: service level objectives, and the node with Prometheus and Alertmanager."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints

from .types import FilePath, HostName, Name, Port, Secret, SpecModel, words

Percent = Annotated[float, Field(ge=50, le=99.99)]
_Seconds = Annotated[float, Field(gt=0, le=2560)]
MailAddress = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9._+-]{1,64}@[a-z0-9.-]{1,190}$"),
    words("an address such as operations@bank.example", kind="mail address"),
]


class PoolObjectives(SpecModel):
    """Latency objectives of one pool. A threshold must be a bucket edge of vLLM's histogram, because Prometheus counts
    requests at these edges only."""

    pool: Name
    """Name of one of `pools`."""
    time_to_first_token_s: _Seconds = 2.5
    """Seconds until the first token of an answer. The default is a guess."""
    inter_token_latency_s: _Seconds = 0.1
    """Seconds between two tokens of an answer. The default is a guess: 10 tokens a second."""
    objective_percent: Percent = 99.0
    """Percentage of requests, and of tokens, within these times. The default is a guess."""


class AlertWebhook(SpecModel):
    """Receiver with an HTTPS interface, such as an incident system. Format: webhook of Alertmanager, version 4."""

    url: AnyHttpUrl
    """https URL. The host is a private address; the firewall opens it for the node of the server."""
    ca_file: FilePath | None = None
    """CA of the receiver's certificate, on the controller, relative to site.yaml. Default: the site's CA."""
    token: Secret | None = None
    """Bearer token of at least 24 characters. Default: none."""


class AlertMail(SpecModel):
    """Receiver by e-mail over a relay of the site, with STARTTLS."""

    relay: IPv4Address
    """Address of the relay: private. The firewall opens it for the node of the server."""
    port: Port = 587
    """TCP port of the relay."""
    server_name: HostName
    """Name in the certificate of the relay."""
    ca_file: FilePath | None = None
    """CA of this certificate, on the controller, relative to site.yaml. Default: the site's CA."""
    sender: MailAddress
    """Address of the sender."""
    to: Annotated[list[MailAddress], Field(min_length=1, max_length=20)]
    """Addresses of the recipients."""
    user: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    """User at the relay; with `password`. Default: no authentication."""
    password: Secret | None = None
    """Password of at least 24 characters."""


class AlertReceiver(SpecModel):
    """Destination of alerts: either `webhook` or `mail`."""

    name: Name
    """Unique name."""
    severities: Annotated[list[Literal["critical", "warning", "none"]], Field(min_length=1)] = Field(
        default_factory=lambda: list[Literal["critical", "warning", "none"]](["critical", "warning", "none"])
    )
    """Severities that it receives. `none` is the heartbeat, repeated every 5 minutes."""
    webhook: AlertWebhook | None = None
    """HTTPS interface."""
    mail: AlertMail | None = None
    """Mailbox."""

    @property
    def kind(self) -> str:
        """Name of the key that describes the destination."""
        return "webhook" if self.webhook else "mail"

    @property
    def secret_field(self) -> str:
        """Name of the key of `secret`."""
        return "token" if self.webhook else "password"

    @property
    def secret(self) -> Secret | None:
        """Token of the webhook or password at the relay; None without authentication."""
        return self.webhook.token if self.webhook else self.mail.password if self.mail else None

    @property
    def ca_file(self) -> str | None:
        """Certificate authority of the receiver; None for the site's."""
        return self.webhook.ca_file if self.webhook else self.mail.ca_file if self.mail else None

    @property
    def endpoint(self) -> tuple[str, int] | None:
        """Address and TCP port; None without `webhook` and `mail`."""
        if self.webhook is not None:
            return str(self.webhook.url.host), self.webhook.url.port or 443
        return (str(self.mail.relay), self.mail.port) if self.mail else None


class MonitoringServer(SpecModel):
    """Prometheus and Alertmanager on one node, and a node exporter on every node, from packages of the distribution
    (Debian and Ubuntu). All targets are scraped over TLS with certificates of the site. The interfaces of Prometheus
    and Alertmanager are reachable on their node only."""

    node: Name
    """Name of the node."""
    gateway_client: Name | None = None
    """Client of the gateway with `is_monitor`, whose key reads `/metrics`. Required with a gateway without
    `gateway.admin`."""
    scrape_interval_s: Annotated[int, Field(ge=1, le=120)] = 15
    """Seconds between two scrapes of a target, and between two evaluations of rules."""
    retention_days: Annotated[int, Field(ge=1, le=3650)] = 30
    """Days after which samples are removed."""
    retention_gib: Annotated[int, Field(ge=1, le=100_000)] = 20
    """Disk space of samples, GiB; older ones are removed first."""
    group_wait_s: Annotated[int, Field(ge=0, le=3600)] = 30
    """Seconds until the first message about new alerts of one name and place."""
    group_interval_s: Annotated[int, Field(ge=1, le=86_400)] = 300
    """Seconds between two messages about changes of these alerts, such as their end."""
    repeat_hours: Annotated[int, Field(ge=1, le=168)] = 4
    """Hours after which a message about unchanged alerts is repeated."""
    receivers: Annotated[list[AlertReceiver], Field(min_length=1, max_length=16)]
    """Destinations of alerts."""


class Monitoring(SpecModel):
    """Objectives of the alert rules for Prometheus, written by `sovctl monitoring`, and the server that runs them."""

    pools: list[PoolObjectives] = Field(default_factory=list)
    """Latency objectives of pools. A pool without an entry has no latency alerts."""
    gateway_objective_percent: Percent = 99.5
    """Percentage of the gateway's requests without an error of the server (HTTP status 500 and above). The default is a
    guess."""
    warn_days: Annotated[int, Field(ge=1, le=365)] = 14
    """Days before the expiry of a certificate, an exception or a waiver from which a warning is sent. The default is a
    guess."""
    target_down_s: Annotated[int, Field(ge=0, le=3600)] = 120
    """Seconds without an answer of a target until its alert. The default is a guess."""
    server: MonitoringServer | None = None
    """Prometheus and Alertmanager. Default: none; the site uses its own."""
