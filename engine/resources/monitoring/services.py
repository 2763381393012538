"""Services of monitoring on a node: packages, files with their checks, and command lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from ...catalog.platforms import PlatformComponent
from ...monitoring.metrics import GPU_FIELDS
from ...monitoring.nodes import FACTS_FILE
from ...monitoring.rules import HEAD, rules_yaml
from ...spec import Node
from ...spec.monitoring import MonitoringServer
from ..context import Context
from ..credential import MONITORING_KEY, SECRETS, TLS
from ..gateway.service import DATA as GATEWAY_DATA
from ..host.log_forwarding import STATISTICS
from .notifications import alertmanager_yaml
from .places import (
    ALERTMANAGER_PORT,
    DCGM_EXPORTER_PORT,
    FOLDER,
    NODE_EXPORTER_PORT,
    PROMETHEUS_PORT,
    RULES,
    TEXTFILES,
)
from .scrape import prometheus_yaml

DATA = "/var/lib/sovctl"
FOLDERS = (f"{DATA}/prometheus", f"{DATA}/alertmanager", TEXTFILES)
"""Folders of data on nodes."""
COLLECTORS = (
    "cpu", "diskstats", "edac", "hwmon", "infiniband", "loadavg", "meminfo", "netdev", "netstat", "pressure", "stat",
    "textfile", "time", "timex", "uname", "vmstat",
)  # fmt: skip
"""Collectors of the node exporter. `filesystem` is omitted: a service in its own mount namespace would report it
read-only; the space of disks is in the textfile."""
PROGRAM = "/usr/local/lib/sovctl/metrics"
"""Program that writes the facts of a node."""
OWN_FILES = {
    "facts": (f"{FOLDER}/facts.json", f"{TEXTFILES}/{FACTS_FILE}", PROGRAM),
    "node-exporter": (f"{FOLDER}/node-exporter.yaml",),
    "dcgm-exporter": (f"{FOLDER}/dcgm-counters.csv", f"{FOLDER}/dcgm-exporter.yaml"),
    "alertmanager": (f"{FOLDER}/alertmanager.yaml",),
    "prometheus": (RULES, f"{FOLDER}/prometheus.yaml"),
}
"""Files to remove with a service, by its name."""
FACTS_EVERY_S = 60
STORES = ("/", "/var/log", "/var/lib/sovctl", "/srv/sovctl", "/opt/sovctl")
"""Folders whose disks are measured: system, logs, ledger and samples, models, environments."""
HOST_ENGINE = "127.0.0.1:5555"
"""Address of nvidia-dcgm. With an engine of its own, the exporter would compete with it for profiling."""
RETENTION_OF_ALERTS = "120h"  # default of Alertmanager


@dataclass(frozen=True)
class ConfigurationFile:
    """A file of a service.

    Args:
        check: command that must accept the new file before it replaces the old one, with `%s` for its path; empty for a
            program without such a command.
    """

    path: str
    text: str
    check: str = ""


@dataclass(frozen=True)
class MonitoringService:
    """A service with a unit of sovctl.

    Args:
        name: of the resource.
        argv: command line.
        package: with the program. Empty for a program of sovctl.
        package_unit: its unit, which is disabled; empty if it has the name of the package.
        is_of_lock: whether the driver lock contains the package; otherwise the distribution does.
        program: file of the role with the program of sovctl; empty for a program of the distribution.
        files: in the order in which they are written, because the check of a file reads the ones before.
        url: answers 200 if the service runs; empty for a service without HTTP.
        data: name of its folder below `DATA`; empty without one.
    """

    name: str
    argv: tuple[str, ...]
    files: tuple[ConfigurationFile, ...]
    package: str = ""
    package_unit: str = ""
    is_of_lock: bool = False
    program: str = ""
    url: str = ""
    data: str = ""

    @property
    def unit(self) -> str:
        """Systemd unit, without `.service`."""
        return f"sovctl-monitoring-{self.name}"


def packages(context: Context, node: Node) -> dict[str, str]:
    """Return the reasons of the packages of the distribution that a node needs, by name."""
    services = services_on(context, node)
    return {each.package: f"monitoring: {each.name}" for each in services if each.package and not each.is_of_lock}


def services_on(context: Context, node: Node) -> tuple[MonitoringService, ...]:
    """Return the services of a node; empty if site.yaml has no monitoring server."""
    if context.monitoring_server is None:
        return ()
    services = [_facts(context, node), _node_exporter(node)]
    services += [_dcgm_exporter(context.monitoring_server, node)] if has_gpus(context, node) else []
    return (*services, *(context.once(_server) if context.is_monitoring_server(node) else ()))


def has_gpus(context: Context, node: Node) -> bool:
    """Return whether the platform of a node has GPUs of NVIDIA."""
    return PlatformComponent.GPU in context.platforms[context.group(node).platform].parts


def gpu_nodes(context: Context) -> tuple[str, ...]:
    """Return the names of the nodes with GPUs."""
    return tuple(name for name, node in context.nodes.items() if has_gpus(context, node))


def _facts(context: Context, node: Node) -> MonitoringService:
    settings = {
        "file": f"{TEXTFILES}/{FACTS_FILE}",
        "every_s": FACTS_EVERY_S,
        "stores": list(STORES),
        "certificates": TLS,
        "ledger": f"{GATEWAY_DATA}/ledger" if context.serves_gateway(node) else "",
        "statistics": STATISTICS if context.spec.host.logs is not None else "",
        "statistics_wait_s": 12,  # rsyslog writes every 10 s
    }
    path = f"{FOLDER}/facts.json"
    return MonitoringService(
        name="facts",
        program="metrics",
        argv=(PROGRAM, f"--config={path}"),
        files=(ConfigurationFile(path, json.dumps(settings, indent=1) + "\n"),),
    )


def _node_exporter(node: Node) -> MonitoringService:
    web = f"{FOLDER}/node-exporter.yaml"
    address = f"{node.address}:{NODE_EXPORTER_PORT}"
    return MonitoringService(
        name="node-exporter",
        package="prometheus-node-exporter",
        argv=(
            "/usr/bin/prometheus-node-exporter",
            f"--web.listen-address={address}",
            f"--web.config.file={web}",
            "--collector.disable-defaults",
            *(f"--collector.{name}" for name in COLLECTORS),
            f"--collector.textfile.directory={TEXTFILES}",
        ),
        files=(_web_configuration(web),),
        url=f"https://{address}/metrics",
    )


def _dcgm_exporter(server: MonitoringServer, node: Node) -> MonitoringService:
    """NVIDIA/dcgm-exporter 4.8.1, pkg/cmd/app.go, read 2026-11-29. It needs no GPU: the host engine reads them."""
    counters, web = OWN_FILES["dcgm-exporter"]
    address = f"{node.address}:{DCGM_EXPORTER_PORT}"
    rows = "".join(f"{name}, {kind}, {text}\n" for name, kind, text in GPU_FIELDS)
    return MonitoringService(
        name="dcgm-exporter",
        package="datacenter-gpu-manager-exporter",
        package_unit="nvidia-dcgm-exporter",
        is_of_lock=True,
        argv=(
            "/usr/bin/dcgm-exporter",
            f"--collectors={counters}",
            f"--remote-hostengine-info={HOST_ENGINE}",
            f"--address={address}",
            f"--collect-interval={server.scrape_interval_s * 1000}",
            f"--web-config-file={web}",
        ),
        files=(ConfigurationFile(counters, HEAD + rows), _web_configuration(web)),
        url=f"https://{address}/metrics",
    )


def _web_configuration(path: str) -> ConfigurationFile:
    """Return a file of prometheus/exporter-toolkit: TLS, and clients with a certificate of the site only."""
    tls = {
        "cert_file": f"{TLS}/node.pem",
        "key_file": f"{TLS}/node.key",
        "client_auth_type": "RequireAndVerifyClientCert",
        "client_ca_file": f"{TLS}/ca.pem",
    }
    return ConfigurationFile(path, HEAD + yaml.safe_dump({"tls_server_config": tls}, sort_keys=False))


def _server(context: Context) -> tuple[MonitoringService, ...]:
    return tuple(_server_services(context))


def _server_services(context: Context) -> Iterator[MonitoringService]:
    server = context.monitoring_server
    assert server is not None
    gateway_key = f"{SECRETS}/{MONITORING_KEY}" if server.gateway_client else None
    prometheus, alertmanager = f"{FOLDER}/prometheus.yaml", f"{FOLDER}/alertmanager.yaml"
    yield MonitoringService(
        name="alertmanager",
        package="prometheus-alertmanager",
        argv=(
            "/usr/bin/prometheus-alertmanager",
            f"--config.file={alertmanager}",
            f"--storage.path={DATA}/alertmanager",
            f"--data.retention={RETENTION_OF_ALERTS}",
            f"--web.listen-address=127.0.0.1:{ALERTMANAGER_PORT}",
            "--cluster.listen-address=",
        ),
        files=(ConfigurationFile(alertmanager, alertmanager_yaml(server), "/usr/bin/amtool check-config %s"),),
        url=f"http://127.0.0.1:{ALERTMANAGER_PORT}/-/ready",
        data="alertmanager",
    )
    configuration = prometheus_yaml(
        context.spec, server, context.replicas, gpu_nodes=gpu_nodes(context), gateway_key=gateway_key
    )
    yield MonitoringService(
        name="prometheus",
        package="prometheus",
        argv=(
            "/usr/bin/prometheus",
            f"--config.file={prometheus}",
            f"--storage.tsdb.path={DATA}/prometheus",
            f"--storage.tsdb.retention.time={server.retention_days}d",
            f"--storage.tsdb.retention.size={server.retention_gib}GiB",
            f"--web.listen-address=127.0.0.1:{PROMETHEUS_PORT}",
        ),
        files=(
            ConfigurationFile(RULES, rules_yaml(context.spec), "/usr/bin/promtool check rules %s"),
            ConfigurationFile(prometheus, configuration, "/usr/bin/promtool check config %s"),
        ),
        url=f"http://127.0.0.1:{PROMETHEUS_PORT}/-/ready",
        data="prometheus",
    )
