"""Rules over MIG: layouts that fit the GPU, and pools that have one instance for each replica."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from ...catalog.mig import slices_of
from ...catalog.mig_layout import place
from ...spec import NodeGroup, Pool
from .rule import SiteUnderValidation

_PARALLEL = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")


def check_layouts(site: SiteUnderValidation) -> Iterator[Problem]:
    """Yield layouts with unknown profiles, or with instances that do not fit their GPU together."""
    for index, group in enumerate(site.spec.node_groups):
        where = f"node_groups[{index}]"
        platform = site.catalog.platforms.get(group.platform)
        if platform is None or (group.mig is None and not group.mig_layout):
            continue
        if group.mig is not None and group.mig_layout:
            yield Problem("expected mig or mig_layout, got both", where=f"{where}.mig", hint="remove one of them")
        known = list(slices_of(platform.gpu or ""))
        for path, profile in _named(group):
            if profile not in known:
                yield Problem(
                    f"expected a MIG profile of {platform.gpu or 'its GPU'} of platform {platform.id}, got {profile}",
                    where=f"{where}.{path}",
                    hint=f"use one of {', '.join(known)}"
                    if known
                    else "remove `mig`: the catalogue has no MIG profiles for this GPU",
                )
        yield from _layout_problems(group, where, platform.gpu or "", platform.gpus, known)


def _named(group: NodeGroup) -> Iterator[tuple[str, str]]:
    """Yield the path and the name of every MIG profile of a group."""
    if group.mig is not None:
        yield "mig", group.mig
    for number, entry in enumerate(group.mig_layout):
        yield from ((f"mig_layout[{number}].mig_devices", name) for name in entry.mig_devices)


def _layout_problems(group: NodeGroup, where: str, gpu: str, count: int, known: list[str]) -> Iterator[Problem]:
    named: dict[int, int] = {}
    for number, entry in enumerate(group.mig_layout):
        path = f"{where}.mig_layout[{number}]"
        if entry.mig_enabled != bool(entry.mig_devices):
            expected = "instances" if entry.mig_enabled else "no instances, because mig_enabled is false"
            yield Problem(f"expected {expected}", where=f"{path}.mig_devices", hint="change mig_enabled or mig_devices")
        elif known and entry.mig_devices.keys() <= set(known) and place(gpu, entry.mig_devices) is None:
            text = ", ".join(f"{each} x {name}" for name, each in entry.mig_devices.items())
            yield Problem(
                f"expected instances that fit one {gpu} together, got {text}",
                where=f"{path}.mig_devices",
                hint="use fewer or smaller instances: `sovctl catalog show` lists the slices of each profile",
            )
        for index in range(count) if entry.devices == "all" else sorted(set(entry.devices)):
            if index >= count:
                yield Problem(
                    f"expected GPU indices from 0 to {count - 1}, got {index}",
                    where=f"{path}.devices",
                    hint="remove the index",
                )
            elif index in named:
                yield Problem(
                    f"expected GPUs in one entry, got GPU {index} in mig_layout[{named[index]}] too",
                    where=f"{path}.devices",
                    hint="remove it from one entry",
                )
                break
            named.setdefault(index, number)


def check_slices(site: SiteUnderValidation) -> Iterator[Problem]:
    """Yield pools whose replicas are not one MIG instance each, or that name no profile of their group."""
    groups = site.groups()
    for index, pool in enumerate(site.spec.pools):
        group, where = groups.get(pool.node_group), f"pools[{index}]"
        devices = site.catalog.devices(group) if group else None
        if group is None or devices is None:
            continue
        profiles = tuple(dict.fromkeys(each.profile for each in devices if each.profile))
        has_whole = any(each.profile is None for each in devices)
        if pool.mig_profile is not None and pool.mig_profile not in profiles:
            yield Problem(
                f"expected a MIG profile of node group {group.name}, got {pool.mig_profile}",
                where=f"{where}.mig_profile",
                hint=f"use one of {', '.join(profiles)}" if profiles else "remove it, or add `mig` to the node group",
            )
        elif pool.mig_profile is None and len(profiles) > 1 and not has_whole:
            yield Problem(
                f"expected a MIG profile, because node group {group.name} has {' and '.join(profiles)}",
                where=f"{where}.mig_profile",
                hint="name the profile of the pool's instances",
            )
        if group.is_divided:
            yield from _pool_problems(pool, where, group, is_whole=has_whole and pool.mig_profile is None)


def _pool_problems(pool: Pool, where: str, group: NodeGroup, *, is_whole: bool) -> Iterator[Problem]:
    named = pool.mig_profile or " and ".join(group.mig_profiles)
    for name in () if is_whole else _PARALLEL:
        if getattr(pool, name) > 1:
            yield Problem(
                f"expected 1 on slices of {named}, got {getattr(pool, name)}: slices have no "
                "NVLink and no peer-to-peer access, so a replica has one slice",
                where=f"{where}.{name}",
                hint="use replicas, a larger profile, or whole GPUs",
            )
    if pool.gpus:
        yield Problem(
            f"expected no pinned GPUs on slices of {named}, got {len(pool.gpus)}",
            where=f"{where}.gpus",
            hint="remove it: slices are assigned in order",
        )
    tenants = sorted({each.tenant for each in pool.adapters if each.tenant is not None})
    if len(tenants) > 1 and not is_whole:
        yield Problem(
            f"expected adapters of one tenant on a slice, got those of {' and '.join(tenants)}",
            where=f"{where}.lora.adapters",
            hint="use one pool for each tenant: a slice separates tenants only if no other tenant uses it",
        )
    if pool.swap_group is not None and not is_whole:
        yield Problem(
            "expected no swap group on slices",
            where=f"{where}.swap_group",
            hint="use whole GPUs: sleeping on MIG slices was never run",
        )


def check_kv_cache(site: SiteUnderValidation) -> Iterator[Problem]:
    """Yield pools on MIG instances without a size of the KV cache in bytes.

    vLLM 0.32.0 reads the memory of a device by its index, which is that of the whole GPU (vllm/platforms/cuda.py).
    """
    groups = site.groups()
    for index, pool in enumerate(site.spec.pools):
        group = groups.get(pool.node_group)
        devices = site.catalog.devices(group) if group else None
        if group is None or devices is None or not group.is_divided or pool.kv_cache_memory_bytes is not None:
            continue
        if pool.mig_profile is not None or all(each.profile for each in devices):
            yield Problem(
                "expected kv_cache_memory_bytes on a MIG slice, because vLLM reads the memory of the whole GPU",
                where=f"pools[{index}].kv_cache_memory_bytes",
                hint="`sovctl size` shows the memory that weights leave",
            )
