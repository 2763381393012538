"""Name of the lock with the engine's wheels."""

from __future__ import annotations

from collections.abc import Mapping

from ...catalog import ModelEntry
from ...spec import SiteSpec


def engine_lock(spec: SiteSpec, models: Mapping[str, ModelEntry]) -> str:
    """Return the name of the lock, without `.txt`.

    With NIXL, if a pool of the site leaves prefill to another one. With decoders of audio, if a pool transcribes;
    `validate` refuses a site with both.

    Args:
        models: the catalogue.
    """
    name = f"{spec.software.engine}-{spec.software.engine_version}"
    if any(pool.prefill is not None for pool in spec.pools):
        return f"nixl-{name}"
    return f"speech-{name}" if speech_pools(spec, models) else name


def speech_pools(spec: SiteSpec, models: Mapping[str, ModelEntry]) -> list[str]:
    """Return the names of the pools whose model transcribes speech."""
    roles = {model.name: models[model.catalog].role for model in spec.models if model.catalog in models}
    return [pool.name for pool in spec.pools if roles.get(pool.model) == "asr"]
