"""Estimated duration of waves, from bytes and rates. Pure.

Weights and the engine are downloaded from the site's mirror, whose rate all nodes of a wave share. Other changes have
the estimate of their resource type. So have all changes of a lab, whose model has 1 MB.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from sovctl.support.errors import InputError

from ..resources.context import Context
from ..resources.resource import Change, Verb
from ..resources.software import environment, model
from ..sizing.memory.weights import Weights
from ..sizing.pool.server import precision_of

MIRROR_GB_S = 1.1
"""Rate of the mirror to all nodes together, GB/s: 10 Gbit/s Ethernet less 12 % for headers and HTTP (guess, 2026-11).
`rollout.mirror_gb_s` is the site's measurement."""
ENGINE_GB = 4.5
"""Wheels of vLLM with PyTorch and the CUDA libraries that it needs, GB (guess, 2026-11)."""


@dataclass(frozen=True)
class Duration:
    """Duration of the changes of one node.

    Args:
        minutes: without downloads.
        download_gb: from the mirror.
    """

    minutes: float
    download_gb: float


@dataclass(frozen=True)
class Durations:
    """Durations of the changes of a site."""

    context: Context

    def of(self, changes: Iterable[Change]) -> Duration:
        """Return the duration of the changes of one node."""
        minutes = download_gb = 0.0
        for change in changes:
            gb = self._download_gb(change)
            download_gb += gb
            minutes += 0.0 if gb else change.minutes
        return Duration(minutes, download_gb)

    def wave_minutes(self, durations: Iterable[Duration]) -> float:
        """Return the minutes of a wave whose nodes have these durations: the slowest node, after all downloads."""
        each = list(durations)
        rate_gb_s = self.context.spec.rollout.mirror_gb_s or MIRROR_GB_S
        return max(one.minutes for one in each) + sum(one.download_gb for one in each) / rate_gb_s / 60

    def _download_gb(self, change: Change) -> float:
        if change.verb is Verb.DELETE or not self._is_real:
            return 0.0
        if change.kind == environment.RESOURCE_TYPE.name and change.name in environment.ENGINE_NAMES:
            return ENGINE_GB
        return self._weights_gb.get(change.name, 0.0) if change.kind == model.RESOURCE_TYPE.name else 0.0

    @cached_property
    def _weights_gb(self) -> dict[str, float]:
        """Size of the weights in GB by model of the site; 0 if the catalogue lacks their shape."""
        found = {}
        for each in self.context.spec.pools:
            entry = self.context.models[self.context.model(each.model).catalog]
            try:
                found[each.model] = Weights(entry, precision_of(each, entry)).total_bytes() / 1e9
            except InputError:
                found[each.model] = 0.0
        return found

    @property
    def _is_real(self) -> bool:
        return not self.context.engine.lab_only
