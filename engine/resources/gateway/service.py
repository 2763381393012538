"""Gateway service: its settings file, generated from site.yaml, and its systemd unit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from sovctl.support.canonical_json import sha256_hex

from ...facts.node import NodeFacts
from ...spec import Node, Pool
from ...spec.gateway.routing import Route
from ...spec.gateway.section import CloudProxy
from ...spec.service_accounts import GATEWAY_USER
from ..context import Context, render
from ..credential import SECRETS, TLS, proxy_ca_file, proxy_password_file, recognizer_file
from ..orphan import orphan
from ..pool import START_TIMEOUT_S, api_urls
from ..resource import CREATED_BY_APPLY, Desired, Risk, State
from ..resource_type import Query, ResourceType
from ..services.daemon import started_after
from ..software.environment import GATEWAY, stamp
from . import access as gateway_access
from . import cloud_api as gateway_cloud_api
from . import handoff as gateway_handoff
from . import vault as gateway_vault
from .cloud_api import KEY_HEADERS

CONFIG = "/etc/sovctl/gateway.yaml"
UNIT = "sovctl-gateway"
UNIT_FILE = f"/etc/systemd/system/{UNIT}.service"
DATA = "/var/lib/sovctl/gateway"
LOCAL_CLIENTS = f"{DATA}/clients.json"
"""Clients of this node that `sovctl gateway keys` manages."""
DRAINED_SERVERS = f"{DATA}/drained-servers.json"
"""Servers of pools that receive no requests; `sovctl apply` drains a server before it changes."""
KNOWN, FOREIGN = "none, or written by sovctl gateway keys", "a file that sovctl gateway keys did not write"
CACHE = "/var/cache/sovctl/gateway"
"""Folder of the compiled patterns; `CacheDirectory=` of the unit."""


def configuration(context: Context) -> dict[str, Any]:
    """Return the contents of gateway.yaml, which `gateway/settings/` reads."""
    spec, gateway = context.spec, context.gateway
    return {
        "site": spec.site.name,
        "listen": {
            "host": "0.0.0.0",  # noqa: S104 - the firewall limits access by network and port
            "port": gateway.port,
            "certificate_file": f"{TLS}/node.pem",
            "key_file": f"{TLS}/node.key",
            **gateway_access.listen(context),
        },
        **gateway_access.admin(context),
        "workers": gateway.workers,
        "clients_file": f"{SECRETS}/gateway-clients.json",
        **({} if context.clients_sha256 == CREATED_BY_APPLY else {"clients_sha256": context.clients_sha256}),
        "access": gateway_access.access(context, data=DATA),
        "quota": gateway_access.quota(context, data=DATA),
        "token_keys": gateway_vault.token_keys(context),
        "vault": gateway_vault.vault(context, data=DATA),
        "ledger": {
            "directory": f"{DATA}/ledger",
            "key_file": f"{SECRETS}/gateway-ledger.key",
            "origin": f"sovctl.{spec.site.name}/gateway",
            "retention_days": spec.compliance.retention_days,
        },
        "upstreams": [*_pools(context), *_clouds(context)],
        "routes": [_route(context, route) for route in gateway.routes],
        **gateway_handoff.handoff(context, data=DATA),
        **gateway_handoff.tracing(context),
        "tokens": {"format_preserving": list(gateway.tokens.format_preserving)},
        "restore": {"link_hosts": list(gateway.restore.link_hosts)},
        **_retrieval(context),
        **_request_fields(context),
        "policy": gateway.policy.model_dump(mode="json"),
        "detect": _detect(context),
        "routing": {
            "max_queue": gateway.routing.max_queue,
            "max_kv_usage": gateway.routing.max_kv_usage,
            "hedge": gateway.routing.hedge,
            "resend_unanswered": gateway.routing.resend_unanswered,
            "drained_servers_file": DRAINED_SERVERS,
        },
        "limits": gateway.limits.model_dump(mode="json", exclude_defaults=True)
        | {"request_timeout_s": gateway.limits.request_timeout_s, "announce_s": gateway.limits.announce_s},
    }


def _route(context: Context, route: Route) -> dict[str, Any]:
    rendered = route.model_dump(mode="json", exclude_none=True)
    if owners := context.spec.owners_of((route.pool, *route.fallbacks)):
        rendered["tenants"] = owners
    for key in ("media_hosts", "tool_arguments", "groups", "fallback_routes"):
        if not rendered[key]:
            del rendered[key]
    if not route.fallback_routes:
        del rendered["fallback_on"]
    return rendered


def _retrieval(context: Context) -> dict[str, Any]:
    if (retrieval := context.spec.retrieval) is None:
        return {}
    url = f"https://{context.spec.node(retrieval.node).address}:{retrieval.port}"
    identity = {"ca_file": f"{TLS}/ca.pem", "certificate_file": f"{TLS}/node.pem", "key_file": f"{TLS}/node.key"}
    return {"retrieval": {"url": url, **identity}}


def _request_fields(context: Context) -> dict[str, Any]:
    rows = [row.model_dump(mode="json", exclude_defaults=True) for row in context.gateway.request_fields]
    return {"request_fields": rows} if rows else {}


def _detect(context: Context) -> dict[str, Any]:
    made = context.gateway.detect.model_dump(mode="json", exclude_none=True)
    if "exact_data_match" in made:
        made["exact_data_match"] = {"index_file": f"{SECRETS}/listed.edm", "key_file": f"{SECRETS}/listed.key"}
    made["recognizer_files"] = [
        f"{SECRETS}/{recognizer_file(index)}" for index, _ in enumerate(made["recognizer_files"])
    ]
    may_be_absent = ("recognizers", "recognizer_files", "screens")
    return {key: value for key, value in made.items() if value or key not in may_be_absent}


def _pools(context: Context) -> Iterator[dict[str, Any]]:
    pools = context.spec.served()
    named = [name for route in context.gateway.routes for name in (route.pool, *route.fallbacks) if name in pools]
    if look := context.gateway.detect.llm_review:
        named.append(look.upstream)
    named += [prefill.pool for name in named if (prefill := pools[name].prefill) is not None]
    for name in dict.fromkeys(named):
        pool = pools[name]
        replicas = [each for each in context.serving_replicas if each.pool == pool.name]
        yield {
            "name": name,
            "kind": "pool",
            "base_urls": [url for each in replicas for url in api_urls(context, each)],
            "model": pool.model if name == pool.name else name,  # vLLM serves an adapter under the name of the adapter
            "surfaces": [
                *context.engine.surfaces[context.models[context.model(pool.model).catalog].role],
                *(["realtime"] if pool.realtime else []),
            ],
            "ca_file": f"{TLS}/ca.pem",
            "certificate_file": f"{TLS}/node.pem",
            "key_file": f"{TLS}/node.key",
            "max_model_len": pool.max_model_len,
            **_prefill(pool),
            **({} if pool.capabilities is None else {"capabilities": list(pool.capabilities)}),
            **({"send_principal": True} if name in context.gateway.send_principal else {}),
        }


def _prefill(pool: Pool) -> dict[str, Any]:
    if (prefill := pool.prefill) is None:
        return {}
    settings = {"min_uncached_tokens": prefill.min_uncached_tokens, "kv_lease_s": prefill.kv_lease_s}
    return {"prefill": {"upstream": prefill.pool, **settings}}


def _clouds(context: Context) -> Iterator[dict[str, Any]]:
    for cloud in context.gateway.clouds:
        entry: dict[str, Any] = {
            "name": cloud.name,
            "kind": "cloud",
            "base_urls": [str(cloud.base_url)],
            "model": cloud.model,
            "surfaces": list(cloud.surfaces),
            "max_model_len": cloud.max_model_len,
            "jurisdiction": cloud.jurisdiction,
            **gateway_cloud_api.api_settings(cloud),
            **({} if cloud.capabilities is None else {"capabilities": list(cloud.capabilities)}),
        }
        if cloud.ca_file:
            entry["ca_file"] = f"{TLS}/cloud-{cloud.name}-ca.pem"
        if cloud.api_key:
            entry["api_key_file"] = f"{SECRETS}/cloud-{cloud.name}.key"
            entry["api_key_header"] = cloud.api_key_header or KEY_HEADERS.get(cloud.api, "authorization")
        if cloud.proxy:
            entry["proxy"] = _proxy(cloud.name, cloud.proxy)
        yield entry


def _proxy(cloud: str, proxy: CloudProxy) -> dict[str, Any]:
    made: dict[str, Any] = {"url": str(proxy.url)}
    if proxy.user is not None:
        made |= {"user": proxy.user, "password_file": f"{SECRETS}/{proxy_password_file(cloud)}"}
    if proxy.ca_file:
        made["ca_file"] = f"{TLS}/{proxy_ca_file(cloud)}"
    if proxy.allow_password_in_clear:
        made["allow_password_in_clear"] = True
    return made


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    if not context.serves_gateway(node):
        if facts and (files := [path for path in (CONFIG, UNIT_FILE) if path in facts.files]):
            cause = "this node must not serve" if context.is_gateway(node) else "site.yaml has no gateway on this node"
            why = f"{cause}; vault and ledger stay in {DATA}"
            yield orphan("gateway", "gateway", files, why=why, risk=Risk.SERVICE)
        return
    text = context.once(_configuration_text)
    config_text = render("gateway", "gateway.yaml.j2", configuration=text)
    unit_text = render("gateway", "unit.service.j2", user=GATEWAY_USER, data=DATA)
    yield Desired(
        kind="gateway",
        name="gateway",
        state={
            "config_sha256": (
                CREATED_BY_APPLY if context.clients_sha256 == CREATED_BY_APPLY else sha256_hex(config_text)
            ),
            "unit_sha256": sha256_hex(unit_text),
            "active": "active",
            "enabled": "enabled",
            "runs_what_is_written": True,
            "local_clients": KNOWN,
        },
        why=f"routes {', '.join(route.model for route in context.gateway.routes)}",
        variables={
            "configuration": text,
            "user": GATEWAY_USER,
            "data": DATA,
            # The gateway is ready when a pool is. On a new site the pools load their weights at the same time.
            "ready_timeout_s": START_TIMEOUT_S,
            "url": f"https://{node.address}:{context.gateway.port}",
        },
        risk=Risk.SERVICE,
        minutes=0.3,
    )


def _configuration_text(context: Context) -> str:
    return yaml.safe_dump(configuration(context), sort_keys=False, allow_unicode=True).rstrip()


def _observe(facts: NodeFacts, _desired: Desired) -> State | None:
    unit, config = facts.units.get(UNIT), facts.sha256(CONFIG)
    if config is None:
        return None
    inputs = (CONFIG, UNIT_FILE, stamp(GATEWAY), *(path for path in facts.files if path.startswith((TLS, SECRETS))))
    return {
        "config_sha256": config,
        "unit_sha256": facts.sha256(UNIT_FILE),
        "active": unit.active if unit else None,
        "enabled": unit.enabled if unit else None,
        "runs_what_is_written": started_after(facts, unit, inputs),
        "local_clients": _local_clients(facts),
    }


def _local_clients(facts: NodeFacts) -> str:
    """Return whether `sovctl gateway keys` wrote the clients file of the node: its digest is in the file of digests."""
    sha256 = facts.sha256(LOCAL_CLIENTS)
    digests = (facts.texts.get(gateway_access.LOCAL_CLIENTS_DIGEST) or "").split()
    return KNOWN if sha256 is None or sha256 in digests else FOREIGN


RESOURCE_TYPE = ResourceType(
    "gateway",
    _expect,
    _observe,
    lambda _context, _node: Query(
        hash=(CONFIG, UNIT_FILE, LOCAL_CLIENTS, stamp(GATEWAY), f"{TLS}/*", f"{SECRETS}/*"),
        read=(gateway_access.LOCAL_CLIENTS_DIGEST,),
        units=(UNIT,),
    ),
)
