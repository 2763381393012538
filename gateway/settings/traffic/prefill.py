"""Settings of a pool whose prompts are prefilled by another pool (disaggregated prefill)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..base.model import Name, SettingsModel


class PrefillSettings(SettingsModel):
    """The pool that computes the KV cache of long prompts. Its servers transfer the cache to those of this pool."""

    upstream: Name
    """Pool that prefills. It serves the same model; no route may name it."""
    min_uncached_tokens: Annotated[int, Field(ge=1, le=16_777_216)]
    """Estimated prompt tokens, without those that this pool has cached, from which a prompt is prefilled by `upstream`.
    Shorter prompts go straight to this pool."""
    kv_lease_s: Annotated[int, Field(ge=4, le=3600)] = 300
    """Seconds for which the prefilling server keeps a cache; equals `kv_lease_duration` of its connector. A cache is
    used in the first half of its lease, and the first token must come within the lease."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    """Seconds until a prompt is prefilled; at most half of the lease, and half of the time left to the client's
    deadline. Afterwards the request is served without a transfer."""
