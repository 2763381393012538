"""Rules about `monitoring`: pools of objectives, and thresholds that Prometheus can count."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from ...catalog.vllm_buckets import INTER_TOKEN_LATENCY_S, TIME_TO_FIRST_TOKEN_S, nearest_edges
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
