"""Devices of a node that a replica can have: whole GPUs and MIG instances, in the order of their GPUs. Pure.

    place("H100-80GB-SXM", {"4g.40gb": 1, "1g.10gb": 3})
    # (("4g.40gb", 0), ("1g.10gb", 4), ("1g.10gb", 5), ("1g.10gb", 6))
    devices_of("H100-80GB-SXM", 8, group)[1].name      # "0/1g.10gb@4"

An instance occupies consecutive memory slices of its GPU. It starts at a multiple of its size; the number of possible
starts is the number of instances of the profile alone (NVIDIA MIG User Guide, `nvidia-smi mig -lgipp`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..spec import NodeGroup, Pool
from .mig import MigProfile, slices_of

Instance = tuple[str, int]
"""MIG profile, and index of the first memory slice."""


@dataclass(frozen=True)
class Device:
    """A whole GPU, or a MIG instance.

    Args:
        gpu: index on the node.
        profile: MIG profile; None for a whole GPU.
        start: first memory slice of the instance.
    """

    gpu: int
    profile: str | None = None
    start: int = 0

    @property
    def name(self) -> str:
        """Name that stays when instances are created again, unlike the UUID: `0`, or `0/3g.40gb@4`."""
        return str(self.gpu) if self.profile is None else f"{self.gpu}/{self.profile}@{self.start}"


def place(gpu: str, wanted: Mapping[str, int]) -> tuple[Instance, ...] | None:
    """Return the instances of one GPU with their places, by place; None if they do not fit or a profile is unknown.

    Args:
        gpu: id in the catalogue.
        wanted: number of instances by profile.
    """
    known = slices_of(gpu)
    if not wanted.keys() <= known.keys():
        return None
    profiles = [known[name] for name, count in wanted.items() for _ in range(count)]
    profiles.sort(key=lambda each: (-each.memory[0], -each.compute[0]))
    if sum(each.compute[0] for each in profiles) > max((each.compute[1] for each in profiles), default=0):
        return None
    found = _place(profiles, frozenset())
    return None if found is None else tuple(sorted(found, key=lambda each: each[1]))


def _place(profiles: list[MigProfile], taken: frozenset[int]) -> list[Instance] | None:
    """Return places of all profiles outside `taken`, largest first; tries every combination of at most 8 slices."""
    if not profiles:
        return []
    first, rest = profiles[0], profiles[1:]
    for start in range(0, first.instances * first.memory[0], first.memory[0]):
        slices = frozenset(range(start, start + first.memory[0]))
        if not slices & taken and (others := _place(rest, taken | slices)) is not None:
            return [(first.profile, start), *others]
    return None


def devices_of(gpu: str, count: int, group: NodeGroup) -> tuple[Device, ...] | None:
    """Return the devices of each node of a group; None if the layout is invalid (`check_slices` reports the reason).

    Args:
        gpu: id in the catalogue.
        count: GPUs of a node.
    """
    whole: dict[int, Mapping[str, int]] = {index: {} for index in range(count)}
    if group.mig is not None:
        known = slices_of(gpu).get(group.mig)
        if known is None:
            return None
        whole |= {index: {group.mig: known.instances} for index in range(count)}
    for entry in group.mig_layout:
        chosen = range(count) if entry.devices == "all" else entry.devices
        whole |= {index: entry.mig_devices if entry.mig_enabled else {} for index in chosen if index < count}
    found: list[Device] = []
    for index, wanted in whole.items():
        placed = place(gpu, wanted)
        if placed is None:
            return None
        found += [Device(index, *each) for each in placed] or [Device(index)]
    return tuple(found)


def profile_of(devices: Iterable[Device], pool: Pool | None) -> str | None:
    """Return the MIG profile of the instances of a pool; None for whole GPUs.

    Default: the only profile of the devices, if they have only one.
    """
    if pool is not None and pool.mig_profile is not None:
        return pool.mig_profile
    profiles = {each.profile for each in devices}
    return profiles.pop() if len(profiles) == 1 else None


def usable_by(devices: Sequence[Device], pool: Pool) -> list[int]:
    """Return the positions of the devices that a replica of a pool may have, ascending."""
    profile = profile_of(devices, pool)
    fitting = [index for index, each in enumerate(devices) if each.profile == profile]
    return sorted({*fitting} & {*pool.gpus}) if pool.gpus else fitting
