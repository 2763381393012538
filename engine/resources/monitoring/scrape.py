"""Configuration of Prometheus: targets of a site with the labels that the rules need, rules, and Alertmanager.

Source: prometheus.io/docs/prometheus/2.42/configuration/configuration, the version of Debian 12, read 2026-11-28.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import yaml

from ...monitoring.labels import GATEWAYS, GPUS, NODES, POOLS, RETRIEVAL
from ...monitoring.rules import HEAD
from ...placement import Replica
from ...spec import SiteSpec
from ...spec.monitoring import MonitoringServer
from ..credential import TLS
from .places import ALERTMANAGER_PORT, DCGM_EXPORTER_PORT, NODE_EXPORTER_PORT, PROMETHEUS_PORT, RULES

_TLS = {"ca_file": f"{TLS}/ca.pem", "cert_file": f"{TLS}/node.pem", "key_file": f"{TLS}/node.key"}


def scrape_port(spec: SiteSpec) -> int:
    """Return the port of a gateway node with its metrics: of the admin surface, or of clients without one."""
    assert spec.gateway is not None
    return spec.gateway.admin.port if spec.gateway.admin else spec.gateway.port


def prometheus_yaml(
    spec: SiteSpec,
    server: MonitoringServer,
    replicas: Iterable[Replica],
    *,
    gpu_nodes: Collection[str],
    gateway_key: str | None,
) -> str:
    """Return the configuration file.

    Args:
        replicas: of all pools.
        gpu_nodes: names of nodes with a DCGM exporter.
        gateway_key: path of the file with the API key for metrics of the gateway; None if they need no key.
    """
    interval, jobs = f"{server.scrape_interval_s}s", _jobs(spec, server, replicas, gpu_nodes, gateway_key)
    values = {
        "global": {
            "scrape_interval": interval,
            "scrape_timeout": f"{min(10, server.scrape_interval_s)}s",
            "evaluation_interval": interval,
            "external_labels": {"site": spec.site.name},
        },
        "rule_files": [RULES],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{ALERTMANAGER_PORT}"]}]}]},
        "scrape_configs": jobs,
    }
    return HEAD + yaml.safe_dump(values, sort_keys=False, width=1000)


def targets_of(
    spec: SiteSpec, server: MonitoringServer, replicas: Iterable[Replica], gpu_nodes: Collection[str]
) -> tuple[tuple[str, str], ...]:
    """Return job and address of every target, such as `("sovctl-nodes", "10.77.0.11:9100")`."""
    return tuple(
        (job["job_name"], address)
        for job in _jobs(spec, server, replicas, gpu_nodes, None)
        for config in job["static_configs"]
        for address in config["targets"]
    )


def _jobs(
    spec: SiteSpec,
    server: MonitoringServer,
    replicas: Iterable[Replica],
    gpu_nodes: Collection[str],
    gateway_key: str | None,
) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = [
        _job(NODES, _nodes(spec, NODE_EXPORTER_PORT)),
        _job(GPUS, (each for each in _nodes(spec, DCGM_EXPORTER_PORT) if each["labels"]["node"] in gpu_nodes)),
        _job(POOLS, _pools(spec, replicas)),
        _job(GATEWAYS, _gateways(spec), key=gateway_key),
        _job(RETRIEVAL, _retrieval(spec)),
        *(
            {"job_name": name, "static_configs": [_target("127.0.0.1", port, node=server.node)]}
            for name, port in (("prometheus", PROMETHEUS_PORT), ("alertmanager", ALERTMANAGER_PORT))
        ),
    ]
    return [each for each in jobs if each["static_configs"]]


def _job(name: str, targets: Iterable[dict[str, Any]], *, key: str | None = None) -> dict[str, Any]:
    authorization = {"authorization": {"credentials_file": key}} if key else {}
    return {
        "job_name": name,
        "scheme": "https",
        "tls_config": dict(_TLS),
        **authorization,
        "static_configs": list(targets),
    }


def _target(address: object, port: int, **labels: str) -> dict[str, Any]:
    return {"targets": [f"{address}:{port}"], "labels": labels}


def _nodes(spec: SiteSpec, port: int) -> Iterator[dict[str, Any]]:
    for _, node in spec.nodes():
        yield _target(node.address, port, node=node.name)


def _pools(spec: SiteSpec, replicas: Iterable[Replica]) -> Iterator[dict[str, Any]]:
    for each in replicas:
        labels = {"node": each.head, "pool": each.pool, "replica": str(each.index)}
        yield _target(spec.node(each.head).address, each.port, **labels)


def _retrieval(spec: SiteSpec) -> Iterator[dict[str, Any]]:
    if (retrieval := spec.retrieval) is not None:
        yield _target(spec.node(retrieval.node).address, retrieval.port, node=retrieval.node)


def _gateways(spec: SiteSpec) -> Iterator[dict[str, Any]]:
    for name in spec.gateway.nodes if spec.gateway else ():
        yield _target(spec.node(name).address, scrape_port(spec), node=name)
