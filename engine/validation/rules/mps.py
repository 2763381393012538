"""Rules over CUDA MPS: pools of one tenant on the same whole GPUs, each within its part of the memory.

A fault of one process on a GPU can end all of them, and a client of MPS has no memory of its own in hardware (NVIDIA,
Multi-Process Service, "Error Containment", read 2026-11-29). Therefore a group never has pools of two tenants.
"""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from ...sizing import GIB
from ...sizing.memory.gpu_memory import usable_bytes
from ...spec import Pool
from .rule import SiteUnderValidation

SAME_FIELDS = ("node_group", "nodes", "replicas", "gpus")
"""Fields that are equal in all pools of a group, because its pools share the same GPUs."""
CONTEXT_GIB = 1.0
"""Memory of a server in addition to `gpu_memory_utilization`: its CUDA context and libraries. Guess, 2026-11-29."""
_ONE = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "nodes_per_stage")

Members = list[tuple[int, Pool]]


def check_groups(site: SiteUnderValidation) -> Iterator[Problem]:
    """Yield pools of MPS groups with two tenants, with other ways to share or divide a GPU, or beyond its memory."""
    groups: dict[str, Members] = {}
    for index, pool in enumerate(site.spec.pools):
        if pool.mps is not None:
            groups.setdefault(pool.mps.group, []).append((index, pool))
    for name, members in groups.items():
        if len(members) == 1:
            yield Problem(
                f"expected at least two pools in MPS group `{name}`, got one",
                where=f"pools[{members[0][0]}].mps.group",
                hint="remove `mps`, or name the same group in another pool",
            )
        for index, pool in members:
            yield from _tenant(pool, members[0][1], f"pools[{index}]")
            yield from _member(site, pool, f"pools[{index}]")
            yield from _differences(pool, members[0][1], f"pools[{index}]")
        yield from _memory(site, name, members)
    yield from _readers(site)


def _tenant(pool: Pool, first: Pool, where: str) -> Iterator[Problem]:
    assert pool.mps is not None
    assert first.mps is not None
    if pool.mps.tenant != first.mps.tenant:
        yield Problem(
            f"expected tenant `{first.mps.tenant}` as in pool {first.name} of its MPS group, got `{pool.mps.tenant}`",
            where=f"{where}.mps.tenant",
            hint="use another group, MIG instances, or GPUs of its own: MPS does not separate tenants",
        )
    for number, adapter in enumerate(pool.adapters):
        if adapter.tenant not in (None, pool.mps.tenant):
            yield Problem(
                f"expected tenant `{pool.mps.tenant}` of the pool, got `{adapter.tenant}`",
                where=f"{where}.lora.adapters[{number}].tenant",
                hint="move the adapter to a pool without `mps`: MPS does not separate tenants",
            )


def _member(site: SiteUnderValidation, pool: Pool, where: str) -> Iterator[Problem]:
    if site.spec.software.engine != "vllm":
        yield Problem(
            f"expected engine vllm, got {site.spec.software.engine}",
            where=f"{where}.mps",
            hint="remove `mps`: sovctl configures CUDA MPS for vLLM only",
        )
    for name in _ONE:
        if getattr(pool, name) > 1:
            yield Problem(
                f"expected 1 in an MPS group, got {getattr(pool, name)}",
                where=f"{where}.{name}",
                hint="use one GPU for each replica: a daemon of MPS has one GPU",
            )
    if pool.swap_group is not None:
        yield Problem(
            "expected no swap group in an MPS group, got one",
            where=f"{where}.swap_group",
            hint="remove one of them: a swap group gives the GPUs to one pool at a time",
        )
    group = site.groups().get(pool.node_group)
    if pool.mig_profile is not None or (group is not None and group.is_divided):
        yield Problem(
            f"expected a node group with whole GPUs, got {pool.node_group} with MIG",
            where=f"{where}.mps",
            hint="remove `mps`, or name a group without `mig`: sovctl does not run MPS on instances",
        )
    if pool.prefill is not None or any(each.prefill and each.prefill.pool == pool.name for each in site.spec.pools):
        yield Problem(
            "expected no pair for prefill in an MPS group, got one",
            where=f"{where}.mps",
            hint="remove it, or the pair: transfers of KV blocks between clients of MPS were never run",
        )
    if site.spec.scaling is not None and pool.name in {each.pool for each in site.spec.scaling.pools}:
        yield Problem(
            "expected a pool outside `scaling` in an MPS group, got one of it",
            where=f"{where}.mps",
            hint="remove it from one of them: pools of `scaling` have GPUs of their own",
        )
    if pool.kv_cache_memory_bytes is None:
        yield Problem(
            "expected kv_cache_memory_bytes in an MPS group, because vLLM otherwise measures free memory that "
            "the other pools change",
            where=f"{where}.kv_cache_memory_bytes",
            hint="`sovctl size` shows the memory that weights leave",
        )


def _differences(pool: Pool, first: Pool, where: str) -> Iterator[Problem]:
    for name in SAME_FIELDS:
        wanted, got = getattr(first, name), getattr(pool, name)
        if wanted != got:
            yield Problem(
                f"expected {_shown(wanted)} as in pool {first.name} of its MPS group, got {_shown(got)}",
                where=f"{where}.{name}",
                hint="use the same value: the pools of an MPS group share the same GPUs",
            )


def _shown(value: object) -> str:
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)


def _memory(site: SiteUnderValidation, name: str, members: Members) -> Iterator[Problem]:
    """Yield servers whose limit is below what vLLM requests, and a group whose limits exceed the GPU."""
    platform = site.platform_of(members[0][1])
    gpu = site.catalog.gpu_of(platform) if platform else None
    if gpu is None:
        return
    total_gib = usable_bytes(gpu) / GIB
    for index, pool in members:
        assert pool.mps is not None
        needed_gib = pool.gpu_memory_utilization * total_gib + CONTEXT_GIB
        if pool.mps.device_memory_gib < needed_gib:
            yield Problem(
                f"expected at least {needed_gib:.1f} GiB, gpu_memory_utilization of {gpu.id} and {CONTEXT_GIB:g} GiB, "
                f"got {pool.mps.device_memory_gib}",
                where=f"pools[{index}].mps.device_memory_gib",
                hint="raise it, or lower gpu_memory_utilization: vLLM does not start with less free memory",
            )
    limits_gib = sum(pool.mps.device_memory_gib for _, pool in members if pool.mps is not None)
    if limits_gib > total_gib:
        yield Problem(
            f"expected at most {total_gib:.1f} GiB of {gpu.id} in MPS group `{name}`, got {limits_gib}",
            where=f"pools[{members[0][0]}].mps.device_memory_gib",
            hint="lower device_memory_gib of its pools, or use fewer pools",
        )


def _readers(site: SiteUnderValidation) -> Iterator[Problem]:
    """Yield pools of one tenant that the retrieval service uses for the texts of all tenants."""
    retrieval = site.spec.retrieval
    if retrieval is None:
        return
    owned = {pool.name for pool in site.spec.pools if pool.mps is not None}
    for field in ("embedding_pool", "rerank_pool"):
        if (name := getattr(retrieval, field)) in owned:
            yield Problem(
                f"expected a pool without `mps`, got {name}",
                where=f"retrieval.{field}",
                hint="use a pool with its own GPUs: retrieval sends it the texts of all tenants",
            )
