"""Rules about the workload, and about pools that cannot serve it. Pure functions of one site.

A pool is rejected only if it fails at the optimistic bound of the measurements. `sovctl size` reports the range between
both bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from sovctl.support.errors import InputError, Problem
from sovctl.support.suggestions import nearest_few

from ...sizing.demand.classes import ClassDemand
from ...sizing.demand.lengths import MAX_P95_RATIO
from ...sizing.demand.pool_demand import PoolDemand
from ...sizing.explain.step import both_units
from ...sizing.memory.gpu_memory import Edge, RankMemory
from ...sizing.pool.pool import PoolCase, pool_cases
from ...sizing.pool.server import Server
from ...spec import SiteSpec
from ...spec.workload import WorkloadClass
from .rule import SiteUnderValidation, unknown_name

READS = ("workload", "pools", "models", "node_groups", "software", "sizing")
"""Top-level keys that the rules of one pool read."""
_RATE_FIELDS = ("requests_per_user_hour", "think_time_s", "in_flight_percent", "rule_of_thumb")


def check_demand(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, each in enumerate(site.spec.workload):
        where = f"workload[{index}]"
        present = [name for name in _RATE_FIELDS if getattr(each, name) is not None]
        for name in present[1:]:
            yield Problem(
                f"expected one request-rate field, got `{name}` and `{present[0]}`",
                where=f"{where}.{name}",
                hint=f"remove one of the two; request-rate fields: {', '.join(_RATE_FIELDS)}",
            )
        yield from _limits(each, where)


def check_percentiles(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, each in enumerate(site.spec.workload):
        asked = ClassDemand.of(each)
        for name, lengths in (("input_tokens", asked.input_tokens), ("output_tokens", asked.output_tokens)):
            if not 1 <= lengths.p95 / lengths.mean <= MAX_P95_RATIO:
                yield Problem(
                    f"expected {lengths.mean:.0f} to {lengths.mean * MAX_P95_RATIO:.0f}, 1 to {MAX_P95_RATIO} times "
                    f"the average, got {lengths.p95:.0f}",
                    where=f"workload[{index}].{name}_p95",
                    hint="if a few requests are far longer than the others, split the class in two",
                )


def _limits(each: WorkloadClass, where: str) -> Iterator[Problem]:
    if each.e2e_p95_ms is not None and each.ttft_p95_ms is not None and each.e2e_p95_ms <= each.ttft_p95_ms:
        yield Problem(
            f"expected more than ttft_p95_ms, {each.ttft_p95_ms:g}, got {each.e2e_p95_ms:g}: the last token "
            "cannot come before the first one",
            where=f"{where}.e2e_p95_ms",
            hint="e2e_p95_ms is the time from the request to the last token",
        )


def check_percents(site: SiteUnderValidation) -> Iterator[Problem]:
    """Reject percentages below 1, which are fractions by mistake. For fewer people, lower `users`."""
    for where, value in _percents(site.spec):
        if 0 < value < 1:
            yield Problem(
                f"expected 0 or at least 1 percent, got {value:g}",
                where=where,
                hint=f"write {value * 100:g} for {value * 100:g} percent",
            )


def _percents(spec: SiteSpec) -> Iterator[tuple[str, float]]:
    sizing = spec.sizing
    for index, each in enumerate(spec.workload):
        yield f"workload[{index}].online_percent", each.online_percent
        yield f"workload[{index}].prefix_hit_percent", each.prefix_hit_percent
    yield "sizing.reserve.growth_percent_per_year", sizing.reserve.growth_percent_per_year
    yield "sizing.autoscaling.min_replicas_percent", sizing.autoscaling.min_replicas_percent
    for index, busy in enumerate(sizing.autoscaling.busy_hours):
        yield f"sizing.autoscaling.busy_hours[{index}].percent", busy.percent
    if sizing.costs is not None:
        yield "sizing.costs.support_percent_per_year", sizing.costs.support_percent_per_year


def check_prices(site: SiteUnderValidation) -> Iterator[Problem]:
    costs = site.spec.sizing.costs
    if costs is None:
        return
    prices = {name: getattr(costs, name) for name in ("input_price_per_million", "output_price_per_million")}
    missing = [name for name, price in prices.items() if price is None]
    if len(missing) == 1:
        yield Problem(
            f"expected both prices of an API, got none as `{missing[0]}`",
            where=f"sizing.costs.{missing[0]}",
            hint="write 0 for a free one; without both prices, the API is not compared",
        )


def check_timezone(site: SiteUnderValidation) -> Iterator[Problem]:
    """Check the time zone against the controller's database; without a database, every name is accepted."""
    name = site.spec.sizing.autoscaling.timezone
    with suppress(ZoneInfoNotFoundError, OSError, ValueError):  # "Europe" is a folder
        ZoneInfo(name)
        return
    known = available_timezones()
    if known:
        near = nearest_few(name, sorted(known))
        yield Problem(
            f"expected an IANA time zone, got `{name}`",
            where="sizing.autoscaling.timezone",
            hint=f"did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else "such as Europe/Berlin",
        )


def check_sizing_names(site: SiteUnderValidation) -> Iterator[Problem]:
    racks, costs = site.spec.sizing.racks, site.spec.sizing.costs
    groups = [group.name for group in site.spec.node_groups]
    for name in racks.node_kw if racks else ():
        yield from unknown_name("node group", name, groups, f"sizing.racks.node_kw.{name}")
    for name in costs.nodes if costs else ():
        yield from unknown_name("node group", name, groups, f"sizing.costs.nodes.{name}")
    pools = [pool.name for pool in site.spec.pools]
    for name in site.spec.sizing.tokens_per_step:
        yield from unknown_name("pool", name, pools, f"sizing.tokens_per_step.{name}")


def check_lengths(site: SiteUnderValidation) -> Iterator[Problem]:
    for each in pool_cases(site.spec, site.catalog):
        for index, workload in each.workload:
            asked = ClassDemand.of(workload)
            role = each.model.role  # audio input of a speech model has no prompt tokens
            tokens = asked.input_tokens.mean if role != "asr" else 0.0
            tokens += asked.output_tokens.mean if role not in ("embedding", "reranker") else 0.0
            if tokens > each.pool.max_model_len:
                place = "input_tokens" if workload.input_tokens else "kind"
                yield Problem(
                    f"expected at most {each.pool.max_model_len} tokens of prompt and answer, the max_model_len of "
                    f"{each.pool.name}, got {tokens:.0f} on average",
                    where=f"workload[{index}].{place}",
                    hint=f"raise pools[{each.pool.name}].max_model_len, or lower the tokens of the class",
                )


def check_memory(site: SiteUnderValidation) -> Iterator[Problem]:
    for each in pool_cases(site.spec, site.catalog):
        if not each.is_simulated:
            with suppress(InputError):  # the catalogue lacks the architecture: `sovctl size` reports UNKNOWN
                yield from _memory(each)


def _memory(each: PoolCase) -> Iterator[Problem]:
    server, pool = each.server(), each.pool
    memory = server.memory(Edge.OPTIMISTIC)
    taken = (
        f"weights {both_units(memory.weights_bytes)} and vLLM's own {both_units(memory.overhead_bytes)}"
        f" (TP {pool.tensor_parallel_size}, PP {pool.pipeline_parallel_size}"
        + (f", DP {pool.data_parallel_size})" if pool.data_parallel_size > 1 else ")")
        + (f", LoRA adapters {both_units(memory.adapters_bytes)}" if server.max_loras else "")
    )
    if pool.kv_cache_memory_bytes is not None:
        most = memory.usable_bytes - memory.weights_bytes - memory.overhead_bytes - memory.adapters_bytes
        if pool.kv_cache_memory_bytes > most:
            yield Problem(
                f"expected at most {both_units(max(0.0, most))}: {both_units(memory.usable_bytes)} of {each.gpu.id}, "
                f"less {taken}; got {both_units(pool.kv_cache_memory_bytes)}",
                where=f"pools[{each.index}].kv_cache_memory_bytes",
                hint="remove it: vLLM uses all remaining memory for the KV cache",
            )
    if server.max_concurrency(pool.max_model_len, Edge.OPTIMISTIC) < 1:
        limit = f"{both_units(memory.usable_bytes)} x gpu_memory_utilization {memory.utilization:g}, less {taken}"
        if pool.kv_cache_memory_bytes is not None:
            limit = "kv_cache_memory_bytes"
        left = _left(server, memory)
        got = both_units(left) if left > 0 else "none, because the weights alone do not fit"
        yield Problem(
            f"expected free memory on each {each.gpu.id} for one session of {pool.max_model_len} tokens, "
            f"{both_units(server.sequence_bytes(pool.max_model_len))}, got {got}: {limit}",
            where=f"pools[{each.index}]",
            hint="use more GPUs per replica (tensor_parallel_size: auto finds how many), a lower precision, an FP8 KV "
            "cache, or a shorter max_model_len",
        )


def _left(server: Server, memory: RankMemory) -> float:
    """Return the bytes for the KV cache; negative if the weights do not fit."""
    return memory.kv_bytes if server.kv_cache_memory_bytes is None else float(server.kv_cache_memory_bytes)


def check_reachable_limits(site: SiteUnderValidation) -> Iterator[Problem]:
    for each in pool_cases(site.spec, site.catalog):
        if not each.is_simulated and each.demand is not None:
            with suppress(InputError):  # the catalogue lacks the architecture
                yield from _limits_passed(each, each.demand)


def _limits_passed(each: PoolCase, demand: PoolDemand) -> Iterator[Problem]:
    """Yield limits that a single request exceeds at the optimistic bound."""
    server = each.server()
    if server.max_concurrency(each.pool.max_model_len) < 1:
        return  # reported by check_memory
    performance = server.performance(demand)
    one, average_s = performance.at(1.0, demand), performance.serving.prefill_s(demand.input_tokens)
    for index, workload in each.workload:
        asked = ClassDemand.of(workload)
        ttft_s = max(0.0, one.ttft.low + performance.serving.prefill_s(asked.input_tokens.mean) - average_s)
        least = [("ttft_p95_ms", asked.ttft_s, ttft_s)]
        if server.is_generative:
            least.append(("itl_p95_ms", asked.itl_s, one.itl.low))
            least.append(("e2e_p95_ms", asked.e2e_s, ttft_s + one.itl.low * (asked.output_tokens.mean - 1)))
        for name, limit_s, took_s in least:
            if limit_s is not None and limit_s < took_s:
                yield Problem(
                    f"expected at least {took_s * 1e3:.1f} ms, the time of a single request at the optimistic bound "
                    f"({asked.input_tokens.mean:.0f} tokens in, {asked.output_tokens.mean:.0f} out, {server.model.id} "
                    f"on {server.gpus} x {server.gpu.id}), got {limit_s * 1e3:g}",
                    where=f"workload[{index}].{name}",
                    hint="use more GPUs per replica, a lower precision, a smaller model or a looser limit",
                )
