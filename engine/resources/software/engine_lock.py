"""Name of the lock with the engine's wheels."""

from __future__ import annotations

from ...spec import SiteSpec


def engine_lock(spec: SiteSpec) -> str:
    """Return the name of the lock, without `.txt`: with NIXL, if a pool of the site leaves prefill to another one."""
    name = f"{spec.software.engine}-{spec.software.engine_version}"
    return f"nixl-{name}" if any(pool.prefill is not None for pool in spec.pools) else name
