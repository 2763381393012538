"""Rules about `monitoring`: objectives that Prometheus can count, and the server with its receivers."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from ...catalog.vllm_buckets import INTER_TOKEN_LATENCY_S, TIME_TO_FIRST_TOKEN_S, nearest_edges
from ...spec.monitoring import AlertReceiver, MonitoringServer
from .own_address import own_address
from .rule import SiteUnderValidation, duplicates, unknown_name

_EDGES = {"time_to_first_token_s": TIME_TO_FIRST_TOKEN_S, "inter_token_latency_s": INTER_TOKEN_LATENCY_S}


def check_objectives(site: SiteUnderValidation) -> Iterator[Problem]:
    objectives = site.spec.monitoring.pools if site.spec.monitoring else []
    named = [(f"monitoring.pools[{index}]", each) for index, each in enumerate(objectives)]
    yield from duplicates("pool of objectives", ((f"{where}.pool", each.pool) for where, each in named))
    for where, each in named:
        yield from unknown_name("pool", each.pool, (pool.name for pool in site.spec.pools), f"{where}.pool")
        for field, edges in _EDGES.items():
            if (value := getattr(each, field)) not in edges:
                near = " or ".join(f"{edge:g}" for edge in nearest_edges(value, edges))
                yield Problem(
                    f"expected a bucket edge of vLLM's histogram, got {value:g}",
                    where=f"{where}.{field}",
                    hint=f"use {near}: Prometheus counts requests at bucket edges only",
                )


def check_server(site: SiteUnderValidation) -> Iterator[Problem]:
    server = site.spec.monitoring.server if site.spec.monitoring else None
    if server is None:
        return
    yield from unknown_name("node", server.node, (node.name for _, node in site.spec.nodes()), "monitoring.server.node")
    yield from _gateway_metrics(site, server)
    named = [(f"monitoring.server.receivers[{index}]", each) for index, each in enumerate(server.receivers)]
    yield from duplicates("receiver", ((f"{where}.name", each.name) for where, each in named))
    for where, each in named:
        yield from _receiver(each, where)


def _gateway_metrics(site: SiteUnderValidation, server: MonitoringServer) -> Iterator[Problem]:
    where, gateway = "monitoring.server.gateway_client", site.spec.gateway
    clients = {each.name: each for each in gateway.clients} if gateway else {}
    if server.gateway_client is not None:
        yield from unknown_name("client", server.gateway_client, clients, where)
        client = clients.get(server.gateway_client)
        if client is not None and not client.is_monitor:
            hint = f"set `is_monitor: true` for client {client.name}"
            yield Problem(f"client {client.name} may not read metrics", where=where, hint=hint)
    elif gateway is not None and gateway.admin is None:
        hint = "add a client with `is_monitor: true` to gateway.clients, and name it here"
        yield Problem("the gateway gives metrics to monitors only", where=where, hint=hint)
    if gateway is None or gateway.admin is None:
        return
    is_elsewhere = gateway.admin.reach == "node" or gateway.admin.requires_client_certificate
    if is_elsewhere:
        hint = "use `reach: management` without `requires_client_certificate`"
        message = "the metrics of the gateway are on its admin surface, which the monitoring server cannot reach"
        yield Problem(message, where="gateway.admin", hint=hint)


def _receiver(receiver: AlertReceiver, where: str) -> Iterator[Problem]:
    if (receiver.webhook is None) == (receiver.mail is None):
        got = "both" if receiver.webhook else "neither"
        yield Problem(f"expected one of `webhook` and `mail`, got {got}", where=where, hint="write one of them")
        return
    if receiver.secret is not None and (receiver.secret.file is None) == (receiver.secret.env is None):
        got = "both" if receiver.secret.file else "neither"
        hint = "write {file: secrets/NAME} or {env: NAME}"
        place = f"{where}.{receiver.kind}.{receiver.secret_field}"
        yield Problem(f"expected one of `file` and `env`, got {got}", where=place, hint=hint)
    if receiver.webhook is not None:
        yield from own_address(receiver.webhook.url, f"{where}.webhook.url")
    if (mail := receiver.mail) is not None:
        if not mail.relay.is_private:
            hint = "use a relay of the site"
            yield Problem(f"expected a private address, got {mail.relay}", where=f"{where}.mail.relay", hint=hint)
        if (mail.user is None) != (mail.password is None):
            hint = "write both, or neither for a relay without authentication"
            yield Problem("expected `user` and `password` together", where=f"{where}.mail", hint=hint)
