"""State of pools and clouds for operators, combined from all workers. Pure.

Each worker has its own view of a server: requests in flight are added, and the worst state is shown. Queue
and KV cache are the server's own figures from the latest measurement; unknown values are None, not 0.

upstreams(settings.upstreams, board.workers(), failures={"chat": 3})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..settings import UpstreamSettings

_WORST = ("closed", "ejected", "busy", "half-open", "open", "drained")
"""States of a server, from best to worst: those of `upstream.breaker`, and in addition servers far slower than their
peers (`ejected`), overloaded (`busy`), or drained by an operator (`drained`)."""


def upstreams(
    settings: Sequence[UpstreamSettings], workers: Sequence[Mapping[str, Any]], failures: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Return a row for every pool and cloud, in the order of the settings.

    Args:
        workers: state of each worker: its upstreams, from `Upstream.as_record`.
        failures: failed attempts, by upstream.
    """
    told = [{each["name"]: each for each in worker.get("upstreams", ())} for worker in workers]
    return [
        _row(upstream, [each[upstream.name] for each in told if upstream.name in each], failures)
        for upstream in settings
    ]


def _row(
    upstream: UpstreamSettings, known: Sequence[Mapping[str, Any]], failures: Mapping[str, float]
) -> dict[str, Any]:
    down = sum(each["is_down"] for each in known)
    by_url: dict[str, list[Mapping[str, Any]]] = {}
    for server in (server for each in known for server in each["servers"]):
        by_url.setdefault(server["url"], []).append(server)
    servers = [_server(url, seen) for url, seen in by_url.items()]
    usages = [server["kv_usage"] for server in servers if server["kv_usage"] is not None]
    return {
        "name": upstream.name,
        "kind": upstream.kind.value,
        "model": upstream.model,
        "jurisdiction": upstream.jurisdiction,
        "state": "unknown" if not known else "up" if not down else "down" if down == len(known) else "partly",
        "in_flight": sum(server["in_flight"] for server in servers),
        "running": _sum(server["running"] for server in servers),
        "waiting": _sum(server["waiting"] for server in servers),
        "kv_usage": sum(usages) / len(usages) if usages else None,
        "failures": failures.get(upstream.name, 0),
        "servers": servers,
    }


def _server(url: str, seen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the state of one server from all workers."""
    loads = [each for each in seen if each["load_age_s"] is not None]
    latest: Mapping[str, Any] = min(loads, key=lambda each: each["load_age_s"], default={})
    return {
        "url": url,
        "in_flight": sum(each["in_flight"] for each in seen),
        "state": max((_state(each) for each in seen), key=_WORST.index),
        "running": latest.get("running"),
        "waiting": latest.get("waiting"),
        "kv_usage": latest.get("kv_usage"),
    }


def _state(server: Mapping[str, Any]) -> str:
    if server["is_drained"]:
        return "drained"
    if server["circuit"] != "closed":
        return str(server["circuit"])
    return "busy" if server["is_busy"] else "ejected" if server["is_ejected"] else "closed"


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
