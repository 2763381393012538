"""Rules about pools that share GPUs in turns (`pools[].swap_group`). Pure functions of one site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sovctl.support.errors import InputError, Problem

from ...catalog.overheads import load_overheads
from ...placement import try_assign_gpus
from ...sizing import GIB
from ...sizing.memory.gpu_memory import usable_bytes
from ...sizing.memory.quantization import named_precision
from ...sizing.memory.weights import Weights
from ...spec import NodeGroup, Pool
from .rule import SiteUnderValidation

HOST_RESERVE_GIB = 64
"""Main memory of a node that weights of sleeping pools do not use: processes of vLLM and the page cache (guess)."""
SAME_FIELDS = ("node_group", "nodes", "replicas", "gpus", "tensor_parallel_size", "data_parallel_size")
"""Fields that are equal in all pools of a swap group, because its pools share the same GPUs."""

Members = list[tuple[int, Pool]]


def check_swap_groups(site: SiteUnderValidation) -> Iterator[Problem]:
    for name, members in _groups(site).items():
        if len(members) == 1:
            yield Problem(
                f"expected at least two pools in swap group `{name}`, got one",
                where=f"pools[{members[0][0]}].swap_group",
                hint="remove it, or name the same swap group in another pool",
            )
        for index, pool in members:
            yield from _member(site, pool, f"pools[{index}]")
            yield from _differences(pool, members[0][1], f"pools[{index}]")
    for index, pool in enumerate(site.spec.pools):
        if pool.awake_hours and pool.swap_group is None:
            yield Problem(
                "expected a swap group with awake_hours, got none",
                where=f"pools[{index}].awake_hours",
                hint="remove it: a pool with its own GPUs is always awake",
            )


def _groups(site: SiteUnderValidation) -> dict[str, Members]:
    found: dict[str, Members] = {}
    for index, pool in enumerate(site.spec.pools):
        if pool.swap_group is not None:
            found.setdefault(pool.swap_group, []).append((index, pool))
    return found


def _member(site: SiteUnderValidation, pool: Pool, where: str) -> Iterator[Problem]:
    model = site.model_of(pool)
    for name in ("pipeline_parallel_size", "nodes_per_stage"):
        if getattr(pool, name) > 1:
            yield Problem(
                f"expected 1 in a swap group, got {getattr(pool, name)}",
                where=f"{where}.{name}",
                hint="use tensor_parallel_size: the agent of a swap group controls the servers of one node",
            )
    if pool.prefill is not None or any(each.prefill and each.prefill.pool == pool.name for each in site.spec.pools):
        yield Problem(
            "expected no pair for prefill in a swap group, got one",
            where=f"{where}.swap_group",
            hint="remove it, or the pair: a sleeping pool drops its KV cache",
        )
    if pool.kv_cache_memory_bytes is not None:
        yield Problem(
            "expected gpu_memory_utilization in a swap group, got kv_cache_memory_bytes",
            where=f"{where}.kv_cache_memory_bytes",
            hint="remove it: the agent compares gpu_memory_utilization with the free memory before a pool wakes",
        )
    if model is not None and model.role == "asr":
        yield Problem(
            f"expected a model of text in a swap group, got {model.id}, whose role is asr",
            where=f"{where}.model",
            hint="remove `swap_group`: the proxy of a swap group passes no audio",
        )


def _differences(pool: Pool, first: Pool, where: str) -> Iterator[Problem]:
    for name in SAME_FIELDS:
        wanted, got = getattr(first, name), getattr(pool, name)
        if wanted != got:
            yield Problem(
                f"expected {_shown(wanted)} as in pool {first.name} of its swap group, got {_shown(got)}",
                where=f"{where}.{name}",
                hint="use the same value: the pools of a swap group share the same GPUs",
            )


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value)


def check_gpu_memory(site: SiteUnderValidation) -> Iterator[Problem]:
    """Check the memory that sleeping pools leave: vLLM refuses to start with less free memory than its share."""
    asleep_gib = load_overheads().asleep_gib.value
    assert isinstance(asleep_gib, int | float)
    for name, members in _groups(site).items():
        for index, pool in members:
            platform = site.platform_of(pool)
            gpu = site.catalog.gpu_of(platform) if platform else None
            if gpu is None:
                continue
            residues = (len(members) - 1) * asleep_gib * GIB
            most = 1 - residues / usable_bytes(gpu)
            if pool.gpu_memory_utilization > most:
                yield Problem(
                    f"expected at most {_floor(most):g} with {len(members) - 1} sleeping pools of swap group "
                    f"`{name}`, each with {asleep_gib:g} GiB of {gpu.id}, got {pool.gpu_memory_utilization:g}",
                    where=f"pools[{index}].gpu_memory_utilization",
                    hint=f"use {_floor(most):g}, or fewer pools in the group",
                )


def _floor(share: float) -> float:
    return max(0, int(share * 100)) / 100


def check_host_memory(site: SiteUnderValidation) -> Iterator[Problem]:
    """Check that the main memory of every node holds the weights of all pools of its swap groups at once.

    Between two turns, all of them sleep.
    """
    groups = _groups(site)
    pools = {pool.name: (index, pool) for members in groups.values() for index, pool in members}
    needed: Counter[str] = Counter()
    first: dict[str, int] = {}
    for replica in try_assign_gpus(site.spec, site.catalog)[0]:
        if replica.pool in pools:
            index, pool = pools[replica.pool]
            weights = _weights_bytes(site, pool)
            if weights is None:
                continue
            needed[replica.head] += round(weights)
            first.setdefault(replica.head, index)
    reported: set[int] = set()
    for node, total in needed.items():
        index = first[node]
        group = next(each for each in site.spec.node_groups if any(member.name == node for member in each.nodes))
        memory_gib = _memory_gib(site, group)
        where = f"pools[{index}].swap_group"
        if index in reported:
            continue
        if memory_gib is None:
            reported.add(index)
            yield Problem(
                f"expected the main memory of nodes of {group.name}, got none in site.yaml or in the catalogue",
                where=where,
                hint=f"set `hardware.memory_gib` of node group {group.name}: weights of sleeping pools are in it",
            )
        elif total > (memory_gib - HOST_RESERVE_GIB) * GIB:
            reported.add(index)
            yield Problem(
                f"expected weights of at most {max(0, memory_gib - HOST_RESERVE_GIB)} GiB in the swap groups of {node} "
                f"({memory_gib} GiB of main memory less {HOST_RESERVE_GIB}), got {total / GIB:.0f} GiB",
                where=where,
                hint="use fewer or smaller models in the group, or a lower precision",
            )


def _memory_gib(site: SiteUnderValidation, group: NodeGroup) -> int | None:
    platform = site.catalog.platforms.get(group.platform)
    planned = platform.memory_gib.value if platform is not None and platform.memory_gib is not None else None
    return group.hardware.memory_gib or (int(planned) if isinstance(planned, int | float) else None)


def _weights_bytes(site: SiteUnderValidation, pool: Pool) -> float | None:
    """Return the bytes of the weights on all GPUs of a server; by the published parameters if the format is unknown."""
    model = site.model_of(pool)
    if model is None:
        return None
    try:
        precision = named_precision(pool.quantization) if pool.quantization else None
        return Weights.of(model, precision).total_bytes(tensor_parallel_size=pool.tensor_parallel_size)
    except InputError:
        return model.params.published_total_b * 1e9 * 2
