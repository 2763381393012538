"""Retrieval service before the database: its settings file, generated from site.yaml, and its systemd unit.

The settings of `sovctl rag` are on the same node, for root: documents can be ingested there.
"""

from __future__ import annotations

from typing import Any

import yaml

from sovctl.support.canonical_json import sha256_hex

from ...facts.node import NodeFacts
from ...spec.retrieval import ADMINISTRATOR
from ...spec.service_accounts import RETRIEVAL_USER
from ..context import Context, render
from ..credential import ADMINISTRATOR_FILES, CERTIFICATES, CLAIM_KEY, JWKS, SECRETS, TLS
from ..orphan import UNITS
from ..pool import api_urls
from ..resource import Desired, Risk, State
from ..services.daemon import started_after
from ..software.environment import GATEWAY, stamp
from .database import KIND
from .places import DATABASE, DATABASE_UNIT, ROLE, SOCKETS
from .postgresql import HEAD

NAME, UNIT = "service", "sovctl-retrieval"
UNIT_FILE = f"{UNITS}{UNIT}.service"
CONFIG, DSN = "/etc/sovctl/retrieval.yaml", "/etc/sovctl/retrieval.dsn"
RAG = "/etc/sovctl/rag.yaml"
"""Settings of `sovctl rag` on the node. They contain no secret; only root can read the key that they name."""
FILES = (CONFIG, DSN, RAG, UNIT_FILE)
"""Files of the service on the node; the unit is the last one."""
INPUTS = (
    CONFIG,
    DSN,
    UNIT_FILE,
    stamp(GATEWAY),
    f"{SECRETS}/{CLAIM_KEY}",
    f"{TLS}/{JWKS}",
    *(each.path for each in CERTIFICATES),
)
"""Files that the process reads at its start."""
_TLS = {"ca": f"{TLS}/ca.pem", "certificate": f"{TLS}/node.pem", "key": f"{TLS}/node.key"}


def configuration(context: Context) -> dict[str, Any]:
    """Return the contents of retrieval.yaml, which `gateway/retrieval/settings.py` reads."""
    spec, retrieval = context.spec, context.retrieval
    return {
        "listen": {
            "address": str(spec.node(retrieval.node).address),
            "port": retrieval.port,
            "certificate": _TLS["certificate"],
            "key": _TLS["key"],
            "client_ca": _TLS["ca"],
        },
        "administrators": [ADMINISTRATOR],
        "gateways": [each.name for each in context.gateway_nodes],
        "principal": {"jwks_file": f"{TLS}/{JWKS}", "issuer": f"sovctl.{spec.site.name}/gateway"},
        "database": {"dsn_file": DSN},
        "claim_key_file": f"{SECRETS}/{CLAIM_KEY}",
        "embedding": {**_pool(context, retrieval.embedding_pool), "dimensions": _dimensions(context)},
        **({"rerank": _pool(context, retrieval.rerank_pool)} if retrieval.rerank_pool else {}),
        "collections": [{"name": each.name} for each in retrieval.collections],
        "exact_below_rows": retrieval.exact_below_rows,
    }


def ingestion(context: Context) -> dict[str, Any]:
    """Return the contents of rag.yaml, which `gateway/retrieval/ingest/settings.py` reads."""
    certificate, key = (f"{SECRETS}/{name}" for name in ADMINISTRATOR_FILES)
    return {"service": {"url": _url(context), "ca": _TLS["ca"], "certificate": certificate, "key": key}}


def _url(context: Context) -> str:
    return f"https://{context.spec.node(context.retrieval.node).address}:{context.retrieval.port}"


def _pool(context: Context, name: str) -> dict[str, Any]:
    """Return a pool with all its servers; the service balances requests."""
    pool = context.pool(name)
    return {
        "base_urls": [url for each in context.replicas if each.pool == name for url in api_urls(context, each)],
        "model": pool.model,
        "model_digest": f"sha256:{context.model(pool.model).manifest_sha256}",
        **_TLS,
    }


def _dimensions(context: Context) -> int:
    arch = context.models[context.model(context.pool(context.retrieval.embedding_pool).model).catalog].arch
    dimensions: int | None = arch.output_dim or arch.hidden
    assert dimensions is not None  # embedding models have it (catalogue)
    return dimensions


def allowed_addresses(context: Context) -> list[str]:
    """Return the addresses with which the service may exchange packets: callers, pools and Prometheus."""
    spec, retrieval = context.spec, context.retrieval
    pools = {retrieval.embedding_pool, retrieval.rerank_pool}
    names = [name for each in context.replicas if each.pool in pools for name in each.endpoints]
    names += [retrieval.node, *(each.name for each in context.gateway_nodes)]
    names += [context.monitoring_server.node] if context.monitoring_server else []
    networks = [str(each) for each in retrieval.administrators or spec.perimeter.management]
    return list(dict.fromkeys([*(str(spec.node(name).address) for name in names), *networks]))


def desired(context: Context) -> Desired:
    """Return the service."""
    retrieval = context.retrieval
    text = yaml.safe_dump(configuration(context), sort_keys=False, allow_unicode=True)
    rag = HEAD + yaml.safe_dump(ingestion(context), sort_keys=False, allow_unicode=True)
    dsn = f"postgresql://{ROLE}@/{DATABASE}?host={SOCKETS}\n"
    variables: dict[str, Any] = {
        "unit": UNIT,
        "user": RETRIEVAL_USER,
        "database_unit": DATABASE_UNIT,
        "allowed": allowed_addresses(context),
        "url": _url(context),
        "files": [{"path": CONFIG, "text": text}, {"path": DSN, "text": dsn}, {"path": RAG, "text": rag}],
    }
    unit = render(KIND, "service.service.j2", item=variables)
    return Desired(
        kind=KIND,
        name=NAME,
        state={
            "config_sha256": sha256_hex(text),
            "dsn_sha256": sha256_hex(dsn),
            "rag_sha256": sha256_hex(rag),
            "unit_sha256": sha256_hex(unit),
            "active": "active",
            "enabled": "enabled",
            "runs_what_is_written": True,
        },
        why=f"searches {', '.join(each.name for each in retrieval.collections)} for the gateway",
        variables=variables,
        risk=Risk.SERVICE,
        minutes=0.3,
    )


def observe(facts: NodeFacts, _desired: Desired) -> State | None:
    """Return the observed state of the service; None without its unit."""
    if facts.sha256(UNIT_FILE) is None:
        return None
    unit = facts.units.get(UNIT)
    return {
        "config_sha256": facts.sha256(CONFIG),
        "dsn_sha256": facts.sha256(DSN),
        "rag_sha256": facts.sha256(RAG),
        "unit_sha256": facts.sha256(UNIT_FILE),
        "active": unit.active if unit else None,
        "enabled": unit.enabled if unit else None,
        "runs_what_is_written": started_after(facts, unit, INPUTS),
    }
