"""Rules about `retrieval`: its node, pools with the right models, and an encrypted folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from sovctl.support.errors import Problem

from ...spec.retrieval import ADMINISTRATOR, Retrieval
from .rule import SiteUnderValidation, duplicates, unknown_name


def check_retrieval(site: SiteUnderValidation) -> Iterator[Problem]:
    retrieval = site.spec.retrieval
    if retrieval is None:
        return
    nodes = [node.name for _, node in site.spec.nodes()]
    yield from unknown_name("node", retrieval.node, nodes, "retrieval.node")
    if ADMINISTRATOR in nodes:
        message = f"expected another name of a node than `{ADMINISTRATOR}`"
        hint = "rename the node: a certificate with this name may write documents"
        yield Problem(message, where="node_groups", hint=hint)
    names = ((f"retrieval.collections[{index}].name", each.name) for index, each in enumerate(retrieval.collections))
    yield from duplicates("collection", names)
    yield from _pool(site, retrieval.embedding_pool, "embedding", "retrieval.embedding_pool")
    if retrieval.rerank_pool is not None:
        yield from _pool(site, retrieval.rerank_pool, "reranker", "retrieval.rerank_pool")
    if site.spec.gateway is None:
        hint = "add `gateway`, or remove `retrieval`"
        yield Problem("retrieval without a gateway has no callers", where="retrieval", hint=hint)
    for index, network in enumerate(retrieval.administrators):
        if not network.is_private:
            where, hint = f"retrieval.administrators[{index}]", "use a network of the site"
            yield Problem(f"expected a private network, got {network}", where=where, hint=hint)


def _pool(site: SiteUnderValidation, name: str, role: str, where: str) -> Iterator[Problem]:
    yield from unknown_name("pool", name, (pool.name for pool in site.spec.pools), where)
    for pool in site.spec.pools:
        if pool.name != name or (model := site.model_of(pool)) is None:
            continue
        if (served := pool.pooling.served_role(model.role)) != role:
            hint = f"name a pool with a model of role {role}, or with `pooling` that makes it one"
            yield Problem(f"expected a pool of role {role}, got role {served} of `{name}`", where=where, hint=hint)


def check_storage(site: SiteUnderValidation) -> Iterator[Problem]:
    retrieval = site.spec.retrieval
    if retrieval is None or site.spec.access.network_namespace is not None:
        return  # a lab has no disks of its own
    if not _is_encrypted(site, retrieval):
        message = f"expected an encrypted file system for {retrieval.data}, got none in `host.mounts`"
        hint = "add a mount with `is_encrypted: true` at this folder or above it, or move the folder there"
        yield Problem(message, where="retrieval.data", hint=hint)


def _is_encrypted(site: SiteUnderValidation, retrieval: Retrieval) -> bool:
    group = next((group.name for group, node in site.spec.nodes() if node.name == retrieval.node), None)
    folder = PurePosixPath(retrieval.data)
    above = [
        each
        for each in site.spec.host.mounts
        if folder.is_relative_to(each.path) and (not each.node_groups or group in each.node_groups)
    ]
    nearest = max(above, key=lambda each: len(PurePosixPath(each.path).parts), default=None)
    return nearest is not None and nearest.is_encrypted
