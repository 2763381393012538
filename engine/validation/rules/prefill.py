"""Rules about pairs of pools for prefill and decode. Pure functions of one site.

A pair is refused without RDMA between its pools, and unless sizing shows a gain: transferred over TCP, or with few
output tokens, it is slower than one pool (vLLM docs/features/disagg_prefill: it does not improve throughput).
"""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from ...sizing.pool.disaggregated_prefill import disaggregate_prefill
from ...sizing.pool.pool import PoolCase, pool_cases, size_pool
from ...spec import Pool
from ...spec.serving.prefill import Prefill, Transport
from .demand import READS
from .rule import SiteUnderValidation, unknown_name

MIN_GAIN = 0.10
"""Gain in requests per GPU from which a pair is accepted (chosen; the estimate was not compared with measurements)."""
GAIN_READS = READS
_EQUAL = ("model", "kv_cache_dtype", "dtype", "quantization", "max_model_len")
_ONE = ("pipeline_parallel_size", "data_parallel_size", "nodes_per_stage")
_ABSENT = ("lora", "speculative_config")


def check_pairs(site: SiteUnderValidation) -> Iterator[Problem]:
    pools = {pool.name: pool for pool in reversed(site.spec.pools)}
    users: dict[str, str] = {}
    for index, pool in enumerate(site.spec.pools):
        if pool.prefill is None:
            continue
        where, name = f"pools[{index}].prefill.pool", pool.prefill.pool
        yield from unknown_name("pool", name, [each for each in pools if each != pool.name], where)
        other = pools.get(name)
        if other is None or other is pool:
            continue
        if other.prefill is not None:
            yield Problem(
                f"expected a pool without `prefill`, got `{name}`", where=where, hint="name a pool that only prefills"
            )
        if name in users:
            yield Problem(
                f"expected a prefilling pool of one pool, got `{name}`, which `{users[name]}` uses",
                where=where,
                hint="give each decoding pool a prefilling pool of its own",
            )
        users[name] = pool.name
        yield from _compatible(site, pool, other, f"pools[{index}]")


def _compatible(site: SiteUnderValidation, pool: Pool, other: Pool, where: str) -> Iterator[Problem]:
    for field in _EQUAL:
        if getattr(pool, field) != getattr(other, field):
            yield Problem(
                f"expected {field} of its prefilling pool `{other.name}`, {getattr(other, field)},"
                f" got {getattr(pool, field)}",
                where=f"{where}.{field}",
                hint="the KV caches of both pools must be equal",
            )
    if pool.cache.block_size != other.cache.block_size:
        yield Problem(
            f"expected cache.block_size of its prefilling pool `{other.name}`, got another",
            where=f"{where}.cache.block_size",
            hint="the KV caches of both pools must be equal",
        )
    if pool.tensor_parallel_size % other.tensor_parallel_size:
        yield Problem(
            f"expected a multiple of tensor_parallel_size of its prefilling pool `{other.name}`,"
            f" {other.tensor_parallel_size}, got {pool.tensor_parallel_size}",
            where=f"{where}.tensor_parallel_size",
            hint="each decoding rank reads from one prefilling rank",
        )
    for each in (pool, other):
        place = where if each is pool else f"pools[{site.spec.pools.index(other)}]"
        for field in _ONE:
            if getattr(each, field) != 1:
                yield Problem(
                    f"expected 1 in a pair of pools, got {getattr(each, field)}",
                    where=f"{place}.{field}",
                    hint="a server of a pair runs on one node, with tensor parallelism only",
                )
        for field in _ABSENT:
            if getattr(each, field) is not None:
                yield Problem(
                    f"expected no {field} in a pair of pools, got one",
                    where=f"{place}.{field}",
                    hint="remove it, or the pair",
                )
    if (model := site.model_of(pool)) is not None and model.role != "chat":
        yield Problem(
            f"expected a chat model with `prefill`, got {model.id}, whose role is {model.role}",
            where=f"{where}.prefill",
            hint="remove it",
        )


def check_routes(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    used = {pool.prefill.pool: pool.name for pool in site.spec.pools if pool.prefill is not None}
    if used and gateway is None:
        index = next(index for index, pool in enumerate(site.spec.pools) if pool.prefill is not None)
        yield Problem(
            "expected a gateway with `prefill`, because only a gateway may send transfer parameters, got none",
            where=f"pools[{index}].prefill",
            hint="add `gateway`, or remove it",
        )
    for index, route in enumerate(gateway.routes if gateway else []):
        for name in (route.pool, *route.fallbacks):
            if name in used:
                yield Problem(
                    f"expected a pool that serves clients, got `{name}`, which prefills for `{used[name]}`",
                    where=f"gateway.routes[{index}]",
                    hint=f"name `{used[name]}`",
                )


def check_transport(site: SiteUnderValidation) -> Iterator[Problem]:
    is_cpu = site.spec.software.engine == "vllm-cpu"
    has_network = site.spec.fabric is not None or site.spec.roce is not None
    pools = {pool.name: pool for pool in reversed(site.spec.pools)}
    for index, pool in enumerate(site.spec.pools):
        if (prefill := pool.prefill) is None:
            continue
        where = f"pools[{index}].prefill.transport"
        if prefill.transport is Transport.TCP:
            if not is_cpu:
                yield Problem(
                    f"expected rdma with {site.spec.software.engine}, got tcp: a prompt of 4,000 tokens of a 70B model"
                    " is 1.3 GB, 1 s over 10 Gbit/s",
                    where=where,
                    hint="remove it; tcp is an exception for vllm-cpu in a lab",
                )
            continue
        if is_cpu:
            yield Problem(
                "expected `transport: tcp` with vllm-cpu, whose nodes have no RDMA, got rdma",
                where=where,
                hint="write `transport: tcp`, the exception for a lab",
            )
            continue
        for each in (pool, pools.get(prefill.pool)):
            platform = site.platform_of(each) if each is not None else None
            if platform is not None and each is not None and not _has_rdma(platform.checks.compute_nics):
                yield Problem(
                    f"expected RDMA between the pools, got nodes of `{each.name}` ({platform.id})"
                    " without compute ports",
                    where=where,
                    hint="remove `prefill`: without RDMA the transfer is slower than the prefill",
                )
        if not has_network:
            yield Problem(
                "expected RDMA between the pools, got a site without `fabric` and `roce`",
                where=where,
                hint="describe the network of the compute ports, or remove `prefill`",
            )


def _has_rdma(figure: object) -> bool:
    value = getattr(figure, "value", None)
    return isinstance(value, int | float) and value > 0


def check_gain(site: SiteUnderValidation) -> Iterator[Problem]:
    for case in pool_cases(site.spec, site.catalog):
        prefill = case.pool.prefill
        if prefill is not None and prefill.transport is Transport.RDMA and not case.is_simulated:
            yield from _gain(case, prefill)


def _gain(case: PoolCase, prefill: Prefill) -> Iterator[Problem]:
    where = f"pools[{case.index}].prefill"
    sized, figure = size_pool(case), case.platform.checks.compute_nic_gbit_s
    hint = f"remove `prefill` and the pool `{prefill.pool}`, and give its GPUs to `{case.pool.name}`"
    if sized.server is None or sized.performance is None or sized.limit is None or case.demand is None:
        yield Problem(
            f"expected a sized pool with `prefill`, because its gain must be known, got: {sized.reason}",
            where=where,
            hint="describe the `workload` of the pool, or remove `prefill`",
        )
        return
    if figure is None or not isinstance(figure.value, int | float):
        yield Problem(
            f"expected a known bandwidth of compute ports, got none for {case.platform.id}", where=where, hint=hint
        )
        return
    found = disaggregate_prefill(sized.performance, sized.limit, sized.server, case.demand, link_gb_s=figure.value / 8)
    if found is None:
        yield Problem(
            "expected limits that separate servers can meet, got a time to first token or between tokens that exceeds"
            " those of `workload`",
            where=where,
            hint=hint,
        )
    elif found.gain < MIN_GAIN:
        yield Problem(
            f"expected a gain of at least {MIN_GAIN:.0%} in requests per GPU, got {found.gain:+.0%}:"
            f" {found.rate_per_gpu_s:.3g}/s apart and {found.shared_rate_per_gpu_s:.3g}/s together (estimate)",
            where=where,
            hint=hint,
        )
